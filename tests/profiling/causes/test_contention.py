"""Threads that fight for cores: calls alike are slow beside others, and not alone."""

from __future__ import annotations

import pytest

from ascend_workbook.profiling.causes import Cause, find_causes
from ascend_workbook.profiling.causes.contention import find_contended
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Event, Trace, build_trace
from tests.profiling.conftest import US, step

LENGTH = 100_000


def fought(slow: int = 8, beside: float = 1, alone: bool = True) -> Trace:
    """40 calls of 200 us, of which `slow` take 5 ms; another thread works in these alone, or in all, for a part of
    each."""
    events, at = [step(0, 0, LENGTH)._replace(lane="1/1")], 0
    for number in range(40):
        lasts = 5_000 if number < slow else 200
        events.append(Event("aten::add", "host_op", "1/1", at * US, lasts * US, "[64]"))
        if beside and (number < slow or not alone):
            events.append(Event("aten::stack", "host_op", "1/2", at * US, round(beside * lasts) * US))
        at += lasts + 100
    return build_trace(events, source="made", dialect="kineto")


def kinds(trace: Trace) -> dict[str, Cause]:
    return {cause.kind: cause for cause in find_causes(Profile.from_trace(trace, {"tier": "cpu"}))}


def test_slow_beside_another_thread() -> None:
    found = kinds(fought())["contention"]
    assert (found.where, found.confidence) == ("aten::add", "likely")
    assert found.share == pytest.approx(8 * 4.8 / 100, abs=0.05)
    assert find_contended(fought()).lost_ns.tolist() == [4_800 * US] * 8


@pytest.mark.parametrize(
    "trace",
    [fought(beside=0), fought(beside=0.6), fought(alone=False), fought(slow=0), fought(slow=30)],
    ids=["nobody beside", "beside half of it", "always beside", "none is slow", "most are slow"],
)
def test_near_misses(trace: Trace) -> None:
    assert "contention" not in kinds(trace)
    assert not find_contended(trace).rows.size


def test_a_wait_is_none() -> None:
    trace = fought()
    names = tuple("aten::item" if name == "aten::add" else name for name in trace.names)
    events = [
        Event(
            names[trace.name[at]],
            "host_op",
            trace.lanes[trace.lane[at]],
            int(trace.start_ns[at]),
            int(trace.duration_ns[at]),
            "[64]",
        )
        for at in range(1, len(trace))
    ]
    assert not find_contended(build_trace(events, source="made", dialect="kineto")).rows.size


def test_in_the_gaps_of_a_device() -> None:
    """A kernel each behind a slow call: what the device rests for it is the fight's."""
    events, at = [step(0, 0, LENGTH)._replace(lane="1/1")], 0
    for number in range(40):
        lasts = 5_000 if number < 8 else 200
        events.append(Event("aten::add", "host_op", "1/1", at * US, lasts * US, "[64]"))
        launch = (at + lasts - 10) * US
        events.append(Event("cudaLaunchKernel", "runtime", "1/1", launch, 5 * US))
        events.append(Event("add", "compute", "device 0 stream 7", launch + 5 * US, 50 * US, launch_ns=launch))
        if number < 8:
            events.append(Event("aten::stack", "host_op", "1/2", at * US, lasts * US))
        at += lasts + 100
    trace = build_trace(events, source="made", dialect="kineto")
    first = find_causes(Profile.from_trace(trace, {"tier": "cuda"}))[0]
    assert (first.kind, first.where) == ("contention", "aten::add")
