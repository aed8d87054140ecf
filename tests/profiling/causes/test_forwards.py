"""Forward passes of which no gradient is taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.counted import add_counted
from ascend_workbook.profiling.causes.forwards import AGAIN, SAME
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Event, build_trace

US = 1000
OWN, BACKWARD = "Python 7", "Python 8"
MAIN, TRAIN, SCORE = (f"/a/train.py({line}): {name}" for line, name in ((50, "main"), (30, "main"), (12, "score")))


def recorded(
    lasts: int = 1_500, module: str = "module#0 own", again: bool = True, graded: int = 4, same: bool = False
) -> Profile:
    """Four steps of 10 ms: a forward with its backward, and at 6 ms a second call of a module, `again` on the same
    tensor, with the `same` result; of so many steps' second calls a gradient is not taken."""
    events: list[Event] = []
    links: list[tuple[int, int]] = []
    for step in range(4):
        begin = 10_000 * step
        events.append(Event(f"ProfilerStep#{step}", "step", OWN, begin * US, 10_000 * US))
        events.append(Event(MAIN, "python", OWN, begin * US, 9_999 * US))
        for line, name, at, length in ((TRAIN, "module#0 own", 1_000, 1_000), (SCORE, module, 6_000, lasts)):
            names = [line, name] + [AGAIN] * (again and at == 6_000) + [SAME] * (same and at == 6_000)
            events += [Event(text, "python", OWN, (begin + at) * US, length * US) for text in names]
            events.append(Event("aten::mm", "host_op", OWN, (begin + at + 10) * US, (length - 20) * US))
            if at == 1_000 or step >= graded:
                links.append((len(events) - 1, len(events)))
                events.append(Event("MmBackward0", "host_op", BACKWARD, (begin + at + 2_000) * US, 900 * US))
    trace = build_trace(events, source="made", dialect="ascend")
    rows = [
        [int(np.flatnonzero((trace.start_ns == events[at].start_ns) & (trace.where(("host_op",))))[0]) for at in ends]
        for ends in links
    ]
    profile = Profile.from_trace(trace, {"tier": "npu-simulated"})
    return replace(profile, gradients=np.array(rows, np.int64))


def told_of(profile: Profile) -> list[Cause]:
    return [cause for cause in add_counted(profile, ()) if cause.evidence.key.startswith("PRF316.forward")]


def test_a_second_call_on_the_same_tensor_without_a_gradient_is_told_at_its_line() -> None:
    (told,) = told_of(recorded())
    assert (told.kind, told.where, told.evidence.key) == ("computing", "a/train.py:12 score", "PRF316.forward_again")
    assert told.share == pytest.approx(0.15, abs=0.001) and told.evidence.args["calls"] == 1
    assert told.predicted == Range(1_500 * US, 1_500 * US)


def test_one_of_which_a_gradient_is_taken_is_needed() -> None:
    assert not told_of(recorded(graded=0))


def test_one_within_an_operator_that_has_a_gradient_is_needed() -> None:
    """As of an activation checkpoint, which calls the module without recording for gradients."""
    profile = recorded()
    trace = profile.trace
    late = np.flatnonzero(trace.where(("host_op",)) & (trace.start_ns % (10_000 * US) == 6_010 * US))
    around = replace(trace, start_ns=trace.start_ns.copy(), duration_ns=trace.duration_ns.copy())
    around.start_ns[late] -= 20 * US
    around.duration_ns[late] += 40 * US
    links = np.stack([late, profile.gradients[: late.size, 1]], 1)
    assert not told_of(replace(profile, trace=around, gradients=np.concatenate([profile.gradients, links])))


@pytest.mark.parametrize(("module", "again"), [("module#1 own", True), ("module#0 own", False)])
def test_another_module_or_another_tensor_may_be_needed(module: str, again: bool) -> None:
    (told,) = told_of(recorded(2_000, module, again))
    assert (told.where, told.evidence.key) == ("a/train.py:12 score", "PRF316.forward_only")
    assert told.predicted == Range(2_000 * US, 2_000 * US) and told.weight < 10, "it may be for something"
    assert not told_of(recorded(1_300, module, again)), "less than a seventh of the step"


def test_without_links_of_gradients_nothing_is_told() -> None:
    assert not told_of(replace(recorded(), gradients=np.empty((0, 2), np.int64)))


def test_one_with_the_same_result_is_told_with_its_gradients_and_before_what_computes_otherwise() -> None:
    (told,) = told_of(recorded(graded=0, same=True))
    assert (told.where, told.evidence.key) == ("a/train.py:12 score", "PRF316.forward_same")
    assert told.spent_ns == pytest.approx(2_400 * US) and told.predicted == Range(2_400 * US, 2_400 * US)
    assert told.weight == pytest.approx(90 * 0.24), "work that is done for nothing counts as a rest does"
