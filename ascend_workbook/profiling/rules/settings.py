"""The environment that the run had, and what takes time in it that a setting takes away: allocations in steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.savings import advise_change, needs_npu

VARIABLES = "https://www.hiascend.com/document/detail/zh/Pytorch/710/comref/Envvariables/Envir_011.html"
STREAMS = "https://hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_021.html"
QUEUE = "https://hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_019.html"
ADVISOR = "https://gitcode.com/Ascend/msprof-analyze"
#: What allocates or frees memory of a device, as CANN, CUDA and ROCm call it
ALLOCATING = ("aclrtMalloc", "aclMallocMem", "aclrtFree", "cudaMalloc", "cudaFree", "hipMalloc", "hipFree")
#: Calls of these that allocate no memory of a device
NOT_DEVICE = ("Host", "FreeArray", "Async")


@dataclass(frozen=True)
class Recommended:
    """A variable: `good` says whether a value is as recommended, an empty text where it was not set."""

    value: str
    good: Callable[[str], bool]
    source: str = ADVISOR


REVIEWED: dict[str, Recommended] = {
    "ASCEND_LAUNCH_BLOCKING": Recommended("0", lambda value: value in ("", "0")),
    "ASCEND_GLOBAL_LOG_LEVEL": Recommended("3", lambda value: value in ("", "3", "4")),
    "ASCEND_ENHANCE_ENABLE": Recommended("1", lambda value: value in ("", "1")),
    "ACLNN_CACHE_LIMIT": Recommended("100000", lambda value: not value or _at_least(value, 10_000)),
    "HOST_CACHE_CAPACITY": Recommended("20", lambda value: not value or _at_least(value, 1)),
    "TASK_QUEUE_ENABLE": Recommended("2", lambda value: value in ("", "1", "2"), QUEUE),
    "PYTORCH_NPU_ALLOC_CONF": Recommended("expandable_segments:True", lambda value: _grows(value), VARIABLES),
    "MULTI_STREAM_MEMORY_REUSE": Recommended("1", lambda value: value != "0", STREAMS),
    "PYTORCH_NO_NPU_MEMORY_CACHING": Recommended("0", lambda value: value in ("", "0")),
}


def _at_least(value: str, least: int) -> bool:
    return value.isdecimal() and int(value) >= least


def _grows(value: str) -> bool:
    """Return whether the allocator's setting is none, or one that lets segments grow and excludes nothing."""
    return not value or "expandable_segments:True" in value


def check_environment(profile: Profile) -> Iterator[Finding]:
    """Are the environment's variables as the documents recommend? Those that the profiler or `profile` noted: what
    makes every launch wait, logs at length, or lets memory fall into pieces."""
    needs_npu(profile, "PRF408")
    stated = (profile.record.get("environment"), profile.metadata.get("ENV_VARIABLES"))
    noted = {str(name): str(value) for part in stated if isinstance(part, dict) for name, value in part.items()}
    known = {name: noted[name] for name in REVIEWED if name in noted}
    if not known:
        raise CannotCheck("PRF408.untold", topic=Sentence("PRF408.topic"))
    others = {name: value for name, value in known.items() if not REVIEWED[name].good(value)}
    args: dict[str, Scalar] = {"topic": Sentence("PRF408.topic"), "gain_ms": None, "share": None}
    args |= {"looked": len(known), "source": next((REVIEWED[name].source for name in others), ADVISOR)}
    if not others:
        yield Finding("PRF408", Status.GOOD, "PRF408.fine", args)
        return
    args["set"] = [f"{name}={value}" for name, value in others.items()]
    args["wanted"] = [f"{name}={REVIEWED[name].value}" for name in others]
    yield Finding("PRF408", Status.NOTE, "PRF408.change", args)


def check_allocating(profile: Profile) -> Iterator[Finding]:
    """Is memory of the device allocated or freed within the steps? Each such call waits for the device; the allocator
    has what it needs after the first steps, unless shapes grow or its cache is emptied."""
    if profile.tier in ("cpu", "") or not profile.device_times:
        raise CannotCheck("advice.no_device", topic=Sentence("PRF409.topic"))
    trace, steady = profile.trace, profile.breakdown.steady
    if not trace.count_events("runtime"):
        raise CannotCheck("PRF409.untold", topic=Sentence("PRF409.topic"))
    names = trace.mask_of_names(_is_allocating)
    starts = np.array([step.start_ns for step in steady]), np.array([step.end_ns for step in steady])
    rows = np.flatnonzero(trace.where(("runtime",)) & names)
    inside = ((trace.start_ns[rows, None] >= starts[0]) & (trace.start_ns[rows, None] < starts[1])).any(axis=1)
    rows = rows[inside]
    spent = trace.intervals_of(np.isin(np.arange(len(trace)), rows))
    share = spent.common_ns(profile.gaps) / profile.breakdown.total_ns if rows.size else 0.0
    args: dict[str, Scalar] = {"calls": round(rows.size / len(steady), 1)}
    args["spent_ms"] = profile.to_ms(spent.length_ns / len(steady))
    yield advise_change(profile, "PRF409.change", share, VARIABLES, worth=0.01, **args)


def _is_allocating(name: str) -> bool:
    called = name.rpartition("@")[2]
    return called.startswith(ALLOCATING) and not any(word in called for word in NOT_DEVICE)


RULES = {"PRF408": check_environment, "PRF409": check_allocating}
