"""The device's memory: its peak, what nothing fits, what is given back late."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.device.memory import peak_of, read_memory
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import to_percent
from ascend_workbook.profiling.savings import needs_npu, read_environment

BASIS = {"PRF324": "facts"}
FRAGMENTATION_SOURCE = "https://www.hiascend.com/document/detail/zh/Pytorch/710/comref/Envvariables/Envir_011.html"
UNUSED, LEAST_MB = 0.2, 512.0
EXCLUDES = ("max_split_size_mb", "garbage_collection_threshold")
STREAM_MEMORY_SOURCE = "https://hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_021.html"


def check_memory_peak(profile: Profile) -> Iterator[Finding]:
    """How much memory did the step take at its peak, and how much more was reserved for it?"""
    tables = read_memory(profile)
    if tables is None:
        of_torch = "PRF324.no_table_npu" if profile.trace.about.get("npu") else "PRF324.no_table"
        raise CannotCheck("PRF324.absent" if profile.trace.dialect == "ascend" else of_torch)
    peak = peak_of(tables)
    first = next(iter(peak.holders), None)
    args: dict[str, Scalar] = {
        "mb": round(peak.allocated_mb),
        "at_ms": profile.to_ms(peak.at_ns - int(tables.at_ns[0])),
        "reserved": round(peak.reserved_mb),
        "unused": to_percent(peak.unused_share),
        "operator": first,
        "operator_mb": round(peak.holders[first][0]) if first else None,
    }
    yield Finding("PRF324", Status.GOOD, "PRF324.peak", args)


def check_fragmentation(profile: Profile) -> Iterator[Finding]:
    """Is much of the reserved memory in pieces that nothing fits? Segments that grow keep it together.
    expandable_segments does not go together with max_split_size_mb or garbage_collection_threshold."""
    tables = None if profile.simulated else read_memory(profile)
    if tables is None:
        raise CannotCheck("PRF343.absent")
    peak = peak_of(tables)
    mb = peak.reserved_mb - peak.allocated_mb
    args: dict[str, Scalar] = {"mb": round(mb), "unused": to_percent(peak.unused_share), "source": FRAGMENTATION_SOURCE}
    args |= {"topic": Sentence("PRF343.topic"), "gain_ms": None, "share": None}
    if peak.unused_share < UNUSED or mb < LEAST_MB:
        yield Finding("PRF343", Status.GOOD, "PRF343.little", args)
        return
    setting = read_environment(profile, "PYTORCH_NPU_ALLOC_CONF", "PRF343")
    args["told"] = setting or None
    excluded = "excluded" if any(option in setting for option in EXCLUDES) else "change"
    key = "on" if "expandable_segments:True" in setting else excluded
    yield Finding("PRF343", Status.NOTE, f"PRF343.{key}", args)


def check_stream_memory(profile: Profile) -> Iterator[Finding]:
    """Was the reuse of memory between streams switched off? Then what collectives use is given back late."""
    needs_npu(profile, "PRF344")
    args: dict[str, Scalar] = {"source": STREAM_MEMORY_SOURCE, "topic": Sentence("PRF344.topic")}
    args |= {"gain_ms": None, "share": None}
    if not profile.trace.count_events("communication"):
        yield Finding("PRF344", Status.GOOD, "PRF344.alone", args)
        return
    off = read_environment(profile, "MULTI_STREAM_MEMORY_REUSE", "PRF344") == "0"
    yield Finding("PRF344", Status.NOTE if off else Status.GOOD, "PRF344.change" if off else "PRF344.on", args)


RULES = {"PRF324": check_memory_peak, "PRF343": check_fragmentation, "PRF344": check_stream_memory}
