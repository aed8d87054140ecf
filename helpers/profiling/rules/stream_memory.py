"""Was the reuse of memory between streams switched off? Then what collectives use is given back late."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.profiling.savings import environment, needs_npu
from helpers.words import Scalar

CODE = "PRF344"
SOURCE = "https://hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_021.html"


def check(profile: Profile) -> Iterator[Finding]:
    needs_npu(profile, CODE)
    args: dict[str, Scalar] = {"source": SOURCE, "topic": {"say": "PRF344.topic"}, "gain_ms": None, "share": None}
    if not profile.trace.count("communication"):
        yield Finding(CODE, Status.OK, "PRF344.alone", args)
        return
    off = environment(profile, "MULTI_STREAM_MEMORY_REUSE", CODE) == "0"
    yield Finding(CODE, Status.NOTE if off else Status.OK, "PRF344.change" if off else "PRF344.on", args)
