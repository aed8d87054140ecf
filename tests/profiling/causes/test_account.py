"""Functions of the script that take a part of the step besides what a training must have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.causes.account import _is_regular
from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.counted import add_counted
from ascend_workbook.profiling.causes.lines import Lines
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.readers.lines import WATCHED
from ascend_workbook.profiling.trace import Event, build_trace

US = 1000
OWN, DEVICE = "Python 7", "Ascend Hardware 1"
MAIN, SCORE, RANK = "/a/train.py(50): main", "/a/train.py(20): score", "/a/train.py({line}): rank"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def recorded(
    *extra: tuple[str, str, int, int], lines: int = 10, lasts: int = 120, steps: int = 4, launches: bool = False
) -> Profile:
    """Four steps of 10 ms: a forward, a backward, and in `score` so many lines of `rank` that each take a little; in
    the first of `steps` alone. `launches`: the products are handed out to a device."""
    events: list[Event] = []
    for number in range(4):
        begin = 10_000 * number
        rows = [(f"ProfilerStep#{number}", "step", 0, 10_000), (MAIN, "python", 0, 9_999)]
        rows += [("module#0 own", "python", 200, 2_000), ("autograd.backward", "python", 2_500, 3_500)]
        rows += [("aten::mm", "host_op", 300, 1_800), ("aten::mm", "host_op", 2_600, 3_300)]
        if number < steps:
            rows.append((SCORE, "python", 7_000, lines * lasts))
            rows += [(RANK.format(line=at + 2), "python", 7_000 + lasts * at, lasts) for at in range(lines)]
        for name, kind, start, length in (*rows, *extra):
            events.append(Event(name, kind, OWN, (begin + start) * US, length * US))
            if launches and name == "aten::mm":
                moment = (begin + start + 1) * US
                events.append(Event("mm", "compute", DEVICE, moment, US, launched_by=len(events) - 1))
    profile = Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})
    return replace(profile, calm_step_ns=9_990 * US)


def told_of(profile: Profile) -> list[Cause]:
    return [cause for cause in add_counted(profile, ()) if cause.evidence.key != "PRF316.computes"]


def test_a_function_whose_lines_each_take_little_is_told_with_all_that_it_takes() -> None:
    (told,) = told_of(recorded())
    assert (told.kind, told.evidence.key) == ("python", "PRF316.function")
    assert told.where.startswith("a/train.py:") and told.where.endswith(" rank")
    assert told.spent_ns == pytest.approx(1_200 * US) and told.share == pytest.approx(0.12, abs=0.001)
    assert told.predicted is not None and told.predicted.most_ns == pytest.approx(1_200 * US)
    assert told.predicted.least_ns == pytest.approx(1_198.8 * US), "its part of a step of 9.99 ms"


@pytest.mark.parametrize(("lines", "steps"), [(7, 4), (10, 2)])
def test_one_that_takes_little_or_only_here_and_there_is_not(lines: int, steps: int) -> None:
    assert not told_of(recorded(lines=lines, steps=steps))


@pytest.mark.parametrize(
    ("at", "count", "regular"),
    [([1, 4, 7], 9, True), ([0, 3, 6], 9, True), ([1, 4, 7], 11, False), ([3, 5, 7], 9, False), ([1, 4, 8], 9, False)],
)
def test_what_comes_every_few_steps_is_regular(at: list[int], count: int, regular: bool) -> None:
    assert _is_regular(np.array(at), count) == regular
    assert not _is_regular(np.array(at[:2]), count), "twice may be by chance"


def test_a_function_within_a_loader_is_what_the_loop_waits_for() -> None:
    profile = recorded((LOADER, "loading", 6_990, 1_300))
    assert not told_of(profile), "one worker process hides what takes less than half of the step"
    (told,) = told_of(replace(profile, calm_step_ns=2_600 * US, calm_steps=5))
    assert (told.kind, told.evidence.key) == ("loading", "PRF316.samples") and told.where.endswith(" rank")


def test_a_step_that_is_not_recorded_has_its_part_of_what_comes_every_few_steps() -> None:
    """Its median has none of it, and the mean cost beside that would be nearly all of the step."""
    lasts = [10_000, 10_000, 40_000] * 3
    begins = np.cumsum([0, *lasts]).tolist()
    events = [
        Event(name, kind, OWN, begin * US, length * US)
        for number, (begin, length) in enumerate(zip(begins, lasts))
        for name, kind in ((f"ProfilerStep#{number}", "step"), (MAIN, "python"), ("aten::mm", "host_op"))
    ]
    profile = Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})
    lines = Lines(replace(profile, calm_step_ns=9_000 * US, calm_steps=5))
    assert lines.calm_step_ns == pytest.approx(0.9 * profile.breakdown.step_ns) and profile.breakdown.step_ns > 15e6


def test_a_function_that_sends_objects_communicates() -> None:
    (told,) = told_of(recorded(("distributed.all_gather_object", "python", 7_100, 900)))
    assert (told.kind, told.evidence.key) == ("communication", "PRF316.objects")


def test_one_that_works_on_the_hosts_own_tensors_prepares() -> None:
    sorts = ("aten::sort", "host_op", 7_100, 900)
    (told,) = told_of(recorded(sorts, launches=True))
    assert (told.kind, told.evidence.key) == ("preprocessing", "PRF316.on_host") and told.where.endswith(" rank")
    (other,) = told_of(recorded((*sorts[:3], 500), launches=True))
    assert (other.kind, other.evidence.key) == ("python", "PRF316.function"), "less than half of its time"
    assert not told_of(recorded(sorts)), "nothing tells which operators hand out: all may"


def test_what_watches_python_is_told_at_the_line_that_began_it() -> None:
    profile = recorded(lines=1)
    watched = [("tracemalloc", "/a/train.py(33): main")]
    trace = replace(profile.trace, about={**profile.trace.about, WATCHED: watched})
    (told,) = told_of(replace(profile, trace=trace))
    assert (told.kind, told.where) == ("profiler", "a/train.py:33 main")
    assert told.evidence.args["tool"] == "tracemalloc" and not told_of(profile)
    assert told.predicted == Range(0.0, told.spent_ns), "how much of it is due to this is not known"
    causes = told_of(with_about(recorded(), watched=watched))
    assert [cause.evidence.key for cause in causes] == ["PRF316.function", "PRF316.watched"], "the measured one first"
    assert causes[1].spent_ns > causes[0].spent_ns
    alone = with_about(recorded(("aten::add", "host_op", 0, 9_300), lines=1), watched=watched)
    assert "profiler" not in [cause.kind for cause in told_of(alone)], "the host hardly runs Python"


def with_about(profile: Profile, **about: object) -> Profile:
    return replace(profile, trace=replace(profile.trace, about={**profile.trace.about, **about}))


def test_a_mode_that_each_operator_goes_through_is_told_where_it_was_entered() -> None:
    below = ("/env/site-packages/torch/utils/flop_counter.py(9): __torch_dispatch__", "python", 6_200, 1_500)
    file = "/env/site-packages/torch/utils/flop_counter.py"
    modes = [("_FlopCounterMode", "/a/train.py(35): main", file), ("_FlopCounterMode", "/a/train.py(20): step", file)]
    profile = recorded(below, lines=1)
    (told,) = [cause for cause in told_of(with_about(profile, modes=modes)) if cause.evidence.key == "PRF316.watched"]
    assert (told.kind, told.where) == ("python", "a/train.py:35 main") and told.spent_ns == pytest.approx(1_500 * US)
    assert not [cause for cause in told_of(profile) if cause.evidence.key == "PRF316.watched"], "none was entered"
    few = with_about(recorded((*below[:3], 800), lines=1), modes=modes)
    assert not [cause for cause in told_of(few) if cause.evidence.key == "PRF316.watched"]


@pytest.mark.parametrize("of_class", [("/env/site-packages/torch/utils/flop_counter.py",), ("",), ()])
def test_a_tensor_class_that_operators_go_through_is_no_mode(of_class: tuple[str, ...]) -> None:
    below = ("/env/site-packages/torchao/float8/float8_tensor.py(9): __torch_dispatch__", "python", 6_200, 1_500)
    modes = [("_FlopCounterMode", "/a/train.py(35): main", *of_class)]
    causes = told_of(with_about(recorded(below, lines=1), modes=modes))
    assert not [cause for cause in causes if cause.evidence.key == "PRF316.watched"]


@pytest.mark.parametrize(("looks", "told"), [(45, True), (25, False)])
def test_a_thread_that_computes_beside_the_training_is_told(looks: int, told: bool) -> None:
    others = [("/a/count.py(21): count_pairs", looks - 5), ("/a/count.py(20): count_pairs", 5)]
    causes = told_of(with_about(recorded(lines=1), sampled_stacks=100, others=others))
    assert [(cause.kind, cause.where) for cause in causes] == [("contention", "a/count.py:21 count_pairs")] * told
    assert [cause.predicted.least_ns for cause in causes if cause.predicted] == [0.0] * told, "it may be in C"


def computing(own: str, product: int = 3_000, lines_seen: bool = True) -> list[Cause]:
    """Four steps with a module whose line calls a product itself, or lets one of torch's layers do so."""
    events: list[Event] = []
    for number in range(4):
        begin = 10_000 * number
        rows = [(f"ProfilerStep#{number}", "step", 0, 10_000), (MAIN, "python", 0, 9_999)]
        rows += [("/a/train.py(9): forward", "python", 1_000, 4_000), (f"module#0{own}", "python", 1_000, 4_000)]
        seen = 1_500 if lines_seen or number else 1_000 + product
        rows += [("/a/train.py(3): forward_inner", "python", seen, 5_000 - seen)] * bool(own)
        rows.append(("aten::mm", "host_op", 1_600, product))
        for name, kind, start, length in rows:
            events.append(Event(name, kind, OWN, (begin + start) * US, length * US))
    profile = Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})
    return [cause for cause in add_counted(profile, ()) if cause.evidence.key == "PRF316.line"]


def test_the_function_that_computes_most_itself_is_told() -> None:
    (told,) = computing(" own")
    assert (told.kind, told.where) == ("computing", "a/train.py:3 forward_inner")
    assert told.spent_ns == pytest.approx(3_000 * US) and told.predicted is not None and told.predicted.least_ns == 0
    assert [cause.where for cause in computing(" own", lines_seen=False)] == ["a/train.py:3 forward_inner"]


@pytest.mark.parametrize(("own", "product"), [("", 3_000), (" own", 2_000)])
def test_what_a_layer_of_torchs_computes_or_a_small_part_is_not(own: str, product: int) -> None:
    assert not computing(own, product)


def test_a_function_that_computes_most_by_those_that_it_calls_is_told_with_all_of_it() -> None:
    events: list[Event] = []
    for number in range(4):
        rows = [(f"ProfilerStep#{number}", "step", 0, 10_000), (MAIN, "python", 0, 9_999)]
        rows += [("module#0", "python", 100, 50), ("/a/train.py(9): loss", "python", 1_000, 6_000)]
        rows += [(f"/a/train.py({2 + at}): part{at}", "python", 1_000 + 1_500 * at, 1_500) for at in range(4)]
        rows += [("aten::mm", "host_op", 1_100 + 1_500 * at, 900) for at in range(4)]
        events += [Event(name, kind, OWN, (10_000 * number + at) * US, lasts * US) for name, kind, at, lasts in rows]
    profile = Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})
    (told,) = (cause for cause in add_counted(profile, ()) if cause.evidence.key == "PRF316.line")
    assert told.spent_ns == pytest.approx(3_600 * US), "each of the four parts takes less than a quarter of the step"
    assert told.where.startswith("a/train.py:") and told.where.endswith(("part0", "part1", "part2", "part3"))


def test_of_two_functions_beside_each_other_the_dearer_is_told() -> None:
    """Fewer operators make none an inner one of the other."""
    events: list[Event] = []
    for number in range(4):
        rows = [(f"ProfilerStep#{number}", "step", 0, 10_000), (MAIN, "python", 0, 9_999), ("module#0", "python", 9, 5)]
        rows += [("/a/train.py(2): first", "python", 1_000, 4_500), ("/a/train.py(3): second", "python", 6_000, 2_700)]
        rows += [("aten::mm", "host_op", 1_010 + 1_490 * at, 1_450) for at in range(3)]
        rows += [("aten::mm", "host_op", 6_010 + 1_340 * at, 1_300) for at in range(2)]
        events += [Event(name, kind, OWN, (10_000 * number + at) * US, lasts * US) for name, kind, at, lasts in rows]
    profile = Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})
    (told,) = (cause for cause in add_counted(profile, ()) if cause.evidence.key == "PRF316.line")
    assert (told.where, told.spent_ns) == ("a/train.py:2 first", pytest.approx(3 * 1_450 * US))


def test_objects_that_are_sent_are_counted_and_their_pickling_is_no_saving() -> None:
    saves = ("torch/serialization.py(9): _save", "python", 7_100, 900)
    profile = recorded(("distributed.all_gather_object", "python", 7_000, 1_300), saves, lines=1)
    (told,) = (cause for cause in add_counted(profile, ()) if cause.evidence.key == "PRF316.objects")
    assert (told.kind, told.where) == ("communication", "a/train.py:2 rank") and told.share == pytest.approx(0.13)
    args: dict[str, Scalar] = {"share": 9.0, "gain_ms": 0.9, "place": Sentence("profiling.cause_nowhere")}
    saving = Cause("checkpoint", 900.0 * US, 0.09, "a/train.py:2 rank", Sentence("PRF316.checkpoint", **args))
    assert saving.kind not in {cause.kind for cause in add_counted(profile, (saving,))}
    alone = add_counted(recorded(saves, lines=1), (saving,))
    assert saving.kind in {cause.kind for cause in alone}, "no object is sent there"


@pytest.mark.parametrize(("lasts", "told"), [(5_100, True), (4_900, False)])
def test_an_update_is_told_that_takes_most_of_the_step(lasts: int, told: bool) -> None:
    update = [("Optimizer.step#Adam.step", "host_op", 3_000, lasts), ("/a/train.py(60): main", "python", 2_900, 6_000)]
    causes = [cause for cause in add_counted(recorded(*update, lines=0), ()) if cause.evidence.key == "PRF316.update"]
    assert [(cause.kind, cause.where, cause.spent_ns) for cause in causes] == (
        [("computing", "a/train.py:60 main", 5_100 * US)] if told else []
    )
