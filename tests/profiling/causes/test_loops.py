"""Loops that call a module again and again, layers that are none, and what a step is shorter by without a place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.counted import add_counted
from ascend_workbook.profiling.causes.lines import Lines
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Event, build_trace

US = 1000
OWN, BACKWARD, DEVICE = "Python 7", "Python 8", "Ascend Hardware 1"
MAIN, LOOP, LAYER = (f"/a/train.py({line}): {name}" for line, name in ((9, "main"), (12, "generate"), (3, "forward")))


def called(modules: int, calls: int, alike: int, own: str = "", shape: str = "[8]") -> Profile:
    """Four steps in which so many modules are called in turn at a line, so many times in all, each with so many
    additions that are alike."""
    events: list[Event] = []
    for number in range(4):
        begin = 20_000 * number
        events.append(Event(f"ProfilerStep#{number}", "step", OWN, begin * US, 20_000 * US))
        events.append(Event(MAIN, "python", OWN, begin * US, 19_999 * US))
        for call in range(calls):
            at, lasts = (begin + 100 + 300 * call) * US, 290 * US
            events.append(Event(LOOP, "python", OWN, at, lasts))
            events.append(Event(f"module#{call % modules}{own}", "python", OWN, at, lasts))
            if not call:  # a line that was seen late
                events.append(Event(LAYER, "python", OWN, at, US))
            events.append(Event(LAYER, "python", OWN, at + US, lasts - 2 * US))
            for part in range(alike):
                start = at + (2 + 10 * part) * US
                events.append(Event("aten::add", "host_op", OWN, start, 9 * US, shape=shape))
                events.append(Event("add", "compute", DEVICE, start, 5 * US, launched_by=len(events) - 1))
    return Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})


def loops_in(profile: Profile) -> list[Cause]:
    return [cause for cause in add_counted(profile, ()) if cause.evidence.key == "PRF316.loops"]


@pytest.mark.parametrize("own", ["", " own"])
def test_a_module_that_is_called_again_and_again_is_told_at_the_line_that_does(own: str) -> None:
    (told,) = loops_in(called(modules=1, calls=40, alike=2, own=own))
    assert (told.where, told.kind) == ("a/train.py:12 generate", "tiny_kernels")
    assert told.share == pytest.approx(40 * 290 / 20_000, abs=0.01)


def test_a_loop_over_single_numbers_is_told_where_it_takes_a_part_of_the_step() -> None:
    assert not loops_in(called(modules=4, calls=4, alike=24, shape="")), "where no shape is recorded none is small"
    for calls, told in ((4, 0), (10, 1)):
        profile = called(modules=10, calls=calls, alike=24, shape="")
        profile = replace(profile, trace=replace(profile.trace, shapes=("", "[8]")))
        assert len(loops_in(profile)) == told


def test_a_model_that_is_called_once_for_what_is_looped_over_is_no_part_of_the_loop() -> None:
    events: list[Event] = []
    for number in range(4):
        begin = 20_000 * number
        rows = [(f"ProfilerStep#{number}", "step", 0, 20_000), (MAIN, "python", 0, 19_999)]
        rows += [(LOOP, "python", 1_000, 12_000), ("module#9", "python", 1_100, 4_900)]
        rows += [("aten::add", "host_op", 6_100 + 100 * at, 90) for at in range(30)]
        for name, kind, start, lasts in rows:
            events.append(Event(name, kind, OWN, (begin + start) * US, lasts * US, shape="[8]"))
            if kind == "host_op":
                events.append(Event("k", "compute", DEVICE, (begin + start) * US, US, launched_by=len(events) - 1))
    trace = build_trace(events, source="made", dialect="ascend")
    (told,) = loops_in(Profile.from_trace(trace, {"tier": "npu-simulated"}))
    assert (told.where, told.spent_ns) == ("a/train.py:12 generate", 7_100 * US)
    assert told.predicted == Range(7_100 * US, 7_100 * US)


def test_a_loop_within_a_module_is_told_where_it_is() -> None:
    (told,) = loops_in(called(modules=4, calls=4, alike=24))
    assert told.where == "a/train.py:3 forward"


@pytest.mark.parametrize(("modules", "calls", "alike"), [(40, 40, 2), (12, 24, 7), (1, 15, 2)])
def test_many_layers_are_no_loop(modules: int, calls: int, alike: int) -> None:
    assert not loops_in(called(modules, calls, alike))


def stepped() -> Profile:
    """Four steps of 10 ms: a part of forward of 2 ms whose gradients take 3 ms, another of 1 ms and 1 ms."""
    events: list[Event] = []
    for number in range(4):
        begin = 10_000 * number
        rows = [
            (f"ProfilerStep#{number}", "step", OWN, 0, 10_000),
            (MAIN, "python", OWN, 0, 9_999),
            (LAYER, "python", OWN, 1_000, 2_000),
            ("aten::mul", "host_op", OWN, 1_500, 100),
            ("aten::exp", "host_op", OWN, 3_500, 100),
            ("aten::view", "host_op", OWN, 3_700, 1),
            ("aten::view", "host_op", OWN, 3_800, 1),
            ("autograd::engine::evaluate_function: ExpBackward0", "host_op", BACKWARD, 5_000, 1_000),
            ("ExpBackward0", "host_op", BACKWARD, 5_100, 800),
            ("autograd::engine::evaluate_function: MulBackward0", "host_op", BACKWARD, 6_000, 3_000),
            ("MulBackward0", "host_op", BACKWARD, 6_100, 2_800),
        ]
        events += [Event(name, kind, lane, (begin + at) * US, lasts * US) for name, kind, lane, at, lasts in rows]
    trace = build_trace(events, source="made", dialect="ascend")
    forward, backward = (np.flatnonzero(trace.mask_of_names(name.__eq__)) for name in ("aten::mul", "MulBackward0"))
    profile = Profile.from_trace(trace, {"tier": "npu-simulated"})
    return replace(profile, gradients=np.stack([forward, backward], 1))


def test_a_place_is_taken_away_with_the_gradients_of_what_is_called_there() -> None:
    lines = Lines(stepped())
    assert lines.spent_with_gradients("a/train.py:3 forward") == pytest.approx(5_000 * US)
    assert lines.replay_without(lines.spans_at("a/train.py:3 forward")) == pytest.approx(5_000 * US)


def test_what_recording_adds_is_not_saved() -> None:
    lines = Lines(replace(stepped(), calm_step_ns=9_920 * US))
    assert lines.event_cost_ns == pytest.approx(10 * US), "eight operators a step"
    saved = lines.replay_without(lines.spans_at("a/train.py:3 forward"))
    assert saved == pytest.approx((5_000 - 3 * 10) * US), "of them one is there, two are its gradient's"
    cause = Cause("tiny_kernels", 5e6, 0.5, "a/train.py:3 forward", Sentence("PRF316.none"))
    predicted = lines.predict(cause).predicted
    assert predicted is not None, "as much for each moment, and as much for each operator"
    assert (predicted.least_ns, predicted.most_ns) == (pytest.approx(4_960 * US), pytest.approx(4_970 * US))


def test_recording_one_operator_adds_so_much_at_most() -> None:
    lines = Lines(replace(stepped(), calm_step_ns=4_000 * US))
    assert (lines.events, lines.event_cost_ns) == (8, pytest.approx(15 * US))
    assert lines.calm_step_ns == pytest.approx((10_000 - 8 * 15) * US), "what else was slower then is in both"


def heads(run: int, count: int, lasts: int = 400, shape: str = "[8,8] [8,8]") -> Profile:
    """Four steps in which a line calls so many modules, in runs of so many on one tensor."""
    events: list[Event] = []
    for number in range(4):
        begin = 10_000 * number
        events.append(Event(f"ProfilerStep#{number}", "step", OWN, begin * US, 10_000 * US))
        events.append(Event(MAIN, "python", OWN, begin * US, 9_999 * US))
        for call in range(count):
            at = (begin + 100 + 500 * call) * US
            names = [LOOP, f"module#{call} own", *(["module on the same input"] if call % run else [])]
            events += [Event(name, "python", OWN, at, lasts * US) for name in names]
            events.append(Event("aten::mm", "host_op", OWN, at + 10 * US, 20 * US, shape=shape))
    return Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})


def test_modules_of_one_class_on_the_same_tensor_are_told_at_the_line_that_calls_them() -> None:
    (told,) = [cause for cause in add_counted(heads(8, 16), ()) if cause.evidence.key == "PRF316.alike"]
    assert (told.where, told.evidence.args["calls"]) == ("a/train.py:12 generate", 16)
    assert told.spent_ns == pytest.approx(16 * 400 * US * 14 / 16), "one of each run is needed"
    assert told.predicted is not None and told.predicted.most_ns == pytest.approx(told.spent_ns)
    assert told.predicted.least_ns == 0, "nobody has computed them together"


@pytest.mark.parametrize("shape", ["[256,512,56,56] [512]", ""])
def test_modules_on_large_tensors_or_such_of_unknown_size_are_none(shape: str) -> None:
    assert not [cause for cause in add_counted(heads(8, 16, shape=shape), ()) if cause.evidence.key == "PRF316.alike"]


@pytest.mark.parametrize(("run", "count", "lasts"), [(1, 16, 400), (3, 15, 400), (4, 4, 400), (8, 16, 100)])
def test_layers_few_heads_or_cheap_ones_are_none(run: int, count: int, lasts: int) -> None:
    assert not [cause for cause in add_counted(heads(run, count, lasts), ()) if cause.evidence.key == "PRF316.alike"]


def test_the_same_place_is_told_once_as_sure_as_the_surest() -> None:
    profile = called(modules=1, calls=2, alike=1)
    python = {"gain_ms": 1.0, "share": 1.0, "place": Sentence("profiling.cause_nowhere")}
    causes = tuple(
        Cause("logging", 1e6, share, where, Sentence("PRF316.logging", **python), confidence)
        for share, where, confidence in (
            (0.5, "a/train.py:3 forward", "likely"),
            (0.4, "a/train.py:4 forward", "sure"),
            (0.3, "a/train.py:3 other", "likely"),
        )
    )
    told = [(cause.where, cause.confidence) for cause in add_counted(profile, causes) if cause.kind == "logging"]
    assert told == [("a/train.py:3 forward", "sure"), ("a/train.py:3 other", "likely")]


def test_what_a_module_of_the_scripts_own_does_before_it_is_seen_is_not_its_callers() -> None:
    events = [Event("ProfilerStep#0", "step", OWN, 0, 10_000 * US), Event(MAIN, "python", OWN, 0, 9_999 * US)]
    rows = [(LOOP, 1_000, 2_000), ("module#0 own", 1_000, 2_000), (LAYER, 2_500, 400)]
    events += [Event(name, "python", OWN, at * US, lasts * US) for name, at, lasts in rows]
    begins = (1_100, 1_300, 2_600)
    events += [Event("aten::mul", "host_op", OWN, at * US, 50 * US) for at in begins]
    lines = Lines(Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"}))
    products = np.flatnonzero(lines.trace.mask_of_names("aten::mul".__eq__))
    assert lines.dearest_line(products) == "a/train.py:3 forward"
    assert lines.dearest_line(products[:2]) == "a/train.py:12 generate", "nothing else is known"


def test_a_profile_without_lines_has_causes_all_the_same() -> None:
    events = [Event("ProfilerStep#0", "step", OWN, 0, 10_000 * US)]
    events += [Event("aten::mul", "host_op", OWN, at * US, 50 * US) for at in (1_000, 2_000)]
    profile = Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})
    causes = tuple(
        Cause(kind, 1e6, 0.5, "aten::mul", Sentence("PRF316.none"))
        for kind in ("tiny_kernels", "computing", "synchronisation", "python", "layout")
    )
    causes_told = {cause.kind: cause for cause in add_counted(profile, causes)}
    assert {"tiny_kernels", "computing", "synchronisation", "layout"} <= set(causes_told)
    predicted = causes_told["tiny_kernels"].predicted
    assert predicted is not None and predicted.most_ns == 1e6, "nothing more is known than what it takes"
