"""Gradients that a step works out twice, or for nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.counted import add_counted
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.readers.gradients import Numbers
from ascend_workbook.profiling.readers.lines import NEVER_USED
from ascend_workbook.profiling.trace import Event, Trace, build_trace

US = 1000
#: When what ran within the first pass is derived: in the second, in the first itself
LATER, THERE = 8_500, 4_500
OWN, BACKWARD = "Python 7", "Python 8"
LINES = [f"/a/train.py({line}): main" for line in (20, 30)]
#: (begin in microseconds, number, shape of the gradient that is stored behind it, else empty)
Node = tuple[int, int, str]


def recorded(
    first: list[Node], second: list[Node], call: str = "autograd.backward", derived_at: int = 0, told: str = ""
) -> Profile:
    """Four steps of 10 ms with two passes, at 1 and 5 ms, whose nodes take 300 us each; `derived_at`: an operator of
    the first has its own number, and is derived then; `told`: beside emptying the gradients at the end."""
    events: list[Event] = []
    numbers: list[tuple[int, int, int]] = []
    for step in range(4):
        begin = 10_000 * step
        events.append(Event(f"ProfilerStep#{step}", "step", OWN, begin * US, 10_000 * US))
        events.append(Event("/a/train.py(9): main", "python", OWN, begin * US, 9_999 * US))
        for line, at, name, nodes in zip(LINES, (1_000, 5_000), (call, "autograd.backward"), (first, second)):
            events += [Event(text, "python", OWN, (begin + at) * US, 3_900 * US) for text in (line, name)]
            for start, number, shape in nodes:
                moment = (begin + at + start) * US
                around = f"autograd::engine::evaluate_function: Mul{number}"
                events.append(Event(around, "host_op", BACKWARD, moment - US, 302 * US))
                numbers.append((len(events), 100 * step + number, 1))
                events.append(Event("MulBackward0", "host_op", BACKWARD, moment, 300 * US))
                if shape:
                    stored = ("torch::autograd::AccumulateGrad", "host_op", BACKWARD, moment + 310 * US, 20 * US)
                    events.append(Event(*stored, shape=shape))
        if derived_at:
            numbers.append((len(events), 100 * step + 3, 0))  # each thread counts from 0
            events.append(Event("aten::mul", "host_op", BACKWARD, (begin + 1_150) * US, 5 * US))
            numbers.append((len(events), 100 * step + 3, 2))
            events.append(Event("MulBackward0", "host_op", BACKWARD, (begin + derived_at) * US, 300 * US))
        if told:
            events.append(Event(f"unused gradients: {told}", "python", OWN, (begin + 9_500) * US, 10 * US))
    trace = build_trace(events, source="made", dialect="ascend")
    rows = np.array([_find_row(trace, events[at]) for at, _, _ in numbers], np.int64)
    columns = np.array([number for _, number, _ in numbers]), np.array([thread for _, _, thread in numbers])
    profile = Profile.from_trace(trace, {"tier": "npu-simulated"})
    return replace(profile, numbers=Numbers(rows, *columns))


def _find_row(trace: Trace, event: Event) -> int:
    at = np.flatnonzero((trace.start_ns == event.start_ns) & trace.mask_of_names(event.name.__eq__))
    return int(at[0])


def told_of(profile: Profile, key: str) -> list[Cause]:
    return [cause for cause in add_counted(profile, ()) if cause.evidence.key == f"PRF316.{key}"]


def nodes(numbers: range, shape: str = "") -> list[Node]:
    return [(100 + 350 * at, number, shape) for at, number in enumerate(numbers)]


def test_operators_that_a_later_pass_runs_again_are_told_at_the_line_of_the_first() -> None:
    (told,) = told_of(recorded(nodes(range(5)), nodes(range(2, 8))), "again")
    assert (told.where, told.evidence.args["calls"], told.kind) == ("a/train.py:20 main", 3, "computing")
    assert told.spent_ns == pytest.approx(3 * 302 * US), "three of five, and not their second time"
    assert told.predicted is not None and told.predicted.most_ns == pytest.approx(3 * 302 * US)


def test_a_pass_that_is_derived_itself_is_needed() -> None:
    assert not told_of(recorded(nodes(range(5)), nodes(range(5)), derived_at=LATER), "again")


@pytest.mark.parametrize(("common", "call"), [(2, "autograd.backward"), (5, "autograd.grad")])
def test_a_few_operators_again_or_such_as_return_their_gradients_once_are_none(common: int, call: str) -> None:
    assert not told_of(recorded(nodes(range(common)), nodes(range(5)), call), "again")


def test_gradients_that_are_emptied_unused_are_told_at_the_pass_that_stores_them_last() -> None:
    first = [
        *nodes(range(2), "[8,8]"),
        *((at + 700, number + 2, shape) for at, number, shape in nodes(range(4), "[4]")),
    ]
    (told,) = told_of(recorded(first, nodes(range(20, 22), "[8,8]"), told="[4] [4] [4] [4]"), "unused")
    assert (told.where, told.evidence.args["calls"]) == ("a/train.py:20 main", 4)
    assert told.confidence == "likely" and told.predicted == Range(1_208_000, 1_208_000)


def test_gradients_of_which_some_of_the_same_shape_are_used_are_not_told() -> None:
    first = [
        *nodes(range(4), "[4]"),
        *((at + 1_400, number + 4, shape) for at, number, shape in nodes(range(4), "[4]")),
    ]
    assert not told_of(recorded(first, nodes(range(20, 22), "[8,8]"), told="[4] [4] [4] [4]"), "unused")
    first = [
        *nodes(range(2), "[8,8]"),
        *((at + 700, number + 2, shape) for at, number, shape in nodes(range(4), "[4]")),
    ]
    second = nodes(range(20, 24), "[4]")
    assert not told_of(recorded(first, second, told="[4] [4] [4] [4]"), "unused"), "they may be the second's"


def test_gradients_that_are_stored_before_such_as_are_used_are_needed_for_them() -> None:
    first = [
        *nodes(range(4), "[4]"),
        *((at + 1_400, number + 4, shape) for at, number, shape in nodes(range(2), "[8,8]")),
    ]
    assert not told_of(recorded(first, nodes(range(20, 22), "[8,8]"), told="[4] [4] [4] [4]"), "unused")


def test_gradients_that_no_update_ever_uses_are_told() -> None:
    first = [
        *nodes(range(2), "[8,8]"),
        *((at + 700, number + 2, shape) for at, number, shape in nodes(range(4), "[4]")),
    ]
    profile = recorded(first, [])
    trace = replace(profile.trace, about={**profile.trace.about, NEVER_USED: "[4] [4] [4] [4]"})
    assert [cause.where for cause in told_of(replace(profile, trace=trace), "unused")] == ["a/train.py:20 main"]
    assert not told_of(profile, "unused")


def test_passes_that_are_derived_themselves_are_told_with_what_derives_them() -> None:
    (told,) = told_of(recorded(nodes(range(5)), nodes(range(5, 9)), derived_at=LATER), "derived")
    assert (told.kind, told.where, told.evidence.args["calls"]) == ("computing", "a/train.py:20 main", 1)
    assert told.spent_ns == pytest.approx((3_900 + 300) * US), "the pass, and the operator that derives it"
    assert not told_of(recorded(nodes(range(5)), nodes(range(5, 9))), "derived")


def test_what_a_checkpoint_computes_again_and_derives_in_the_same_pass_is_not_derived_for_itself() -> None:
    profile = recorded(nodes(range(5)), nodes(range(5, 9)), derived_at=THERE)
    assert not told_of(profile, "derived") and not told_of(profile, "again"), "3 is another operator of each thread"
