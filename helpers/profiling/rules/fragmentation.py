"""Is much of the reserved memory in pieces that nothing fits? Segments that grow keep it together.

expandable_segments does not go together with max_split_size_mb or garbage_collection_threshold.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.device.memory import peak_of, recorded
from helpers.profiling.facts import Profile
from helpers.profiling.savings import environment
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF343"
SOURCE = "https://www.hiascend.com/document/detail/zh/Pytorch/710/comref/Envvariables/Envir_011.html"
UNUSED, LEAST_MB = 0.2, 512.0
EXCLUDES = ("max_split_size_mb", "garbage_collection_threshold")


def check(profile: Profile) -> Iterator[Finding]:
    tables = None if profile.simulated else recorded(profile)
    if tables is None:
        raise CannotCheck("PRF343.absent")
    peak = peak_of(tables)
    mb = peak.reserved_mb - peak.allocated_mb
    args: dict[str, Scalar] = {"mb": round(mb), "unused": round(100 * peak.unused, 1), "source": SOURCE}
    args |= {"topic": {"say": "PRF343.topic"}, "gain_ms": None, "share": None}
    if peak.unused < UNUSED or mb < LEAST_MB:
        yield Finding(CODE, Status.OK, "PRF343.little", args)
        return
    told = environment(profile, "PYTORCH_NPU_ALLOC_CONF", CODE)
    args["told"] = told or None
    excluded = "excluded" if any(one in told for one in EXCLUDES) else "change"
    key = "on" if "expandable_segments:True" in told else excluded
    yield Finding(CODE, Status.NOTE, f"PRF343.{key}", args)
