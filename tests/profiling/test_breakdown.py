"""The parts of a step sum to it, in every dialect the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.profiling.breakdown import StepTime, break_down
from ascend_workbook.profiling.operators import rank_operators
from ascend_workbook.profiling.readers import read_trace
from ascend_workbook.profiling.trace import Event, build_trace
from tests.profiling.conftest import DATA, US, WITH_DEVICE, step

EXPECTED = {"computing": 400, "communication": 200, "copy": 50, "loading": 100, "free": 250}


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_the_same_breakdown_from_every_dialect(name: str) -> None:
    found = break_down(read_trace(DATA / name))
    assert found.on_device
    assert found.step_ns == 1_000_000
    assert [one.parts_ns for one in found.steady] == [{part: us * US for part, us in EXPECTED.items()}] * 2
    assert [one.overlapped_ns for one in found.steps] == [100_000] * 3
    assert [one.preparing_ns for one in found.steps] == [200_000, 350_000, 350_000]
    assert {part: found.per_step_ns(part) / US for part in EXPECTED} == EXPECTED


def test_on_a_cpu_the_operators_are_the_computing() -> None:
    found = break_down(read_trace(DATA / "cpu.pt.trace.json"))
    assert not found.on_device
    parts = {"loading": 100, "computing": 650, "free": 250, "communication": 0, "copy": 0}
    assert [one.parts_ns for one in found.steps] == [{part: us * US for part, us in parts.items()}] * 3


def test_operators_inside_the_loader_are_loading_on_a_cpu() -> None:
    events = [step(0, 0, 100), Event("x", "loading", "t", 0, 40 * US)]
    events.append(Event("aten::select", "host_op", "t", 10 * US, 20 * US))
    parts = break_down(build_trace(events, source="", dialect="kineto")).steps[0].parts_ns
    assert (parts["loading"], parts["computing"], parts["free"]) == (40_000, 0, 60_000)


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_operators_by_the_time_of_their_kernels(name: str) -> None:
    found = rank_operators(read_trace(DATA / name), [51, 52])
    assert [(one.kind, one.calls, one.self_ns) for one in found] == [
        ("compute", 4, 800_000),
        ("communication", 2, 600_000),
        ("copy", 2, 100_000),
    ]
    assert (found[0].name, found[2].name) == ("aten::convolution", "aten::item")
    assert found[1].name.startswith(("ncclDevKernel_AllReduce", "rcclDevKernel_AllReduce", "hcom_allReduce"))
    assert not found[1].name.endswith((")", "_1"))


def test_operators_by_their_own_time_on_a_cpu() -> None:
    found = rank_operators(read_trace(DATA / "cpu.pt.trace.json"), [51, 52])
    expected = [("aten::convolution", 4, 640_000), ("aten::item", 2, 520_000), ("aten::conv2d", 4, 140_000)]
    assert [(one.name, one.calls, one.self_ns) for one in found] == expected


KINDS = ["compute", "communication", "copy", "loading", "host_op"]
EVENTS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 399), st.integers(1, 90)), min_size=1, max_size=25)


@settings(max_examples=150, deadline=None)
@given(EVENTS, st.integers(1, 4))
def test_parts_sum_to_the_step_and_steps_to_the_whole(events: list[tuple[str, int, int]], steps: int) -> None:
    length = 400 // steps
    made = [step(number, number * length, length) for number in range(steps)]
    made += [Event("e", kind, kind, start * US, duration * US) for kind, start, duration in events]
    found = break_down(build_trace(made, source="", dialect="kineto"))
    assert all(part >= 0 for one in found.steps for part in one.parts_ns.values())
    assert all(one.end_ns == after.start_ns for one, after in zip(found.steps, found.steps[1:]))
    assert sum(sum(one.parts_ns.values()) for one in found.steps) == found.steps[-1].end_ns - found.steps[0].start_ns


def test_a_step_whose_parts_do_not_sum_is_refused() -> None:
    with pytest.raises(ValueError, match="do not sum"):
        StepTime(1, 0, 10, {"computing": 9}, 0, 0)
