"""What a simulated NPU's profile tells by counts, structure and the host's own time at the script's lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.counted import add_counted, count_work, count_work_below
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Event, build_trace

US = 1000
Rows = list[tuple[str, str, int, int]]
MAIN, SAVE = "/a/train.py(9): main", "/a/train.py(3): measure"


def simulated(rows: Rows, tier: str = "npu-simulated") -> Profile:
    """Four steps of 10 ms, each with these events (kind, name, start, length in microseconds). A copy is launched by
    the operator before it."""
    events: list[Event] = []
    for number in range(4):
        begin = 10_000 * number
        events.append(Event(f"ProfilerStep#{number}", "step", "Python 7", begin * US, 10_000 * US))
        for kind, name, start, length in rows:
            lane = "Ascend Hardware 1" if kind in ("compute", "communication", "copy") else "Python 7"
            by = max(at for at, event in enumerate(events) if event.kind == "host_op") if kind == "copy" else -1
            events.append(Event(name, kind, lane, (begin + start) * US, length * US, launched_by=by))
    return Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": tier})


def counted(rows: Rows) -> dict[str, Cause]:
    return {cause.kind: cause for cause in add_counted(simulated(rows), ())}


WORK: Rows = [("compute", "k", 9000, 900), ("host_op", "aten::mm", 9000, 100), ("python", MAIN, 0, 9999)]


def test_a_function_that_computes_in_python_is_named_at_its_line() -> None:
    causes = counted([*WORK, ("python", SAVE, 1000, 4000)])
    assert list(causes) == ["python"]
    python = causes["python"]
    assert (python.where, python.share) == ("a/train.py:3 measure", pytest.approx(0.4, abs=0.02))
    assert python.predicted is not None
    assert python.predicted.least_ns <= python.predicted.most_ns == pytest.approx(4e6, rel=0.02)


@pytest.mark.parametrize(
    "rows",
    [
        [("python", SAVE, 1000, 800)],
        [("python", SAVE, 1000, 4000), ("host_op", "aten::conv2d", 1000, 3900), ("copy", "MEMCPY_ASYNC", 1200, 10)],
        [("python", SAVE, 1000, 4000), ("loading", "enumerate(DataLoader)#x.__next__", 1000, 3900)],
    ],
)
def test_a_function_that_is_short_or_calls_operators_or_loads_is_none(rows: Rows) -> None:
    assert "python" not in counted([*WORK, *rows])


def test_copies_are_named_at_the_line_that_makes_them() -> None:
    copy = [("python", SAVE, 1000, 3000), ("host_op", "aten::to", 1000, 3000), ("host_op", "aten::copy_", 1100, 2000)]
    copy.append(("copy", "MEMCPY_ASYNC", 1200, 10))
    causes = counted([*WORK, *copy])
    assert causes["blocked_copy"].where == "a/train.py:3 measure"
    assert causes["blocked_copy"].share == pytest.approx(0.3, abs=0.01), "a copy within a copy counts once"
    assert "blocked_copy" not in counted([*WORK, *copy[:-1]]), "no copy between host and device"
    short = [("python", SAVE, 1000, 3000), ("host_op", "aten::to", 1000, 900), ("copy", "MEMCPY_ASYNC", 1200, 10)]
    assert "blocked_copy" not in counted([*WORK, *short])


def test_an_operator_that_falls_back_is_named_with_all_its_time() -> None:
    fallback = [("host_op", "aten::svd", 1000, 2000), ("host_op", "aten::_to_cpu", 1100, 100)]
    causes = counted([*WORK, *fallback, ("python", SAVE, 1000, 2000)])
    assert causes["fallback"].share == pytest.approx(0.2, abs=0.01)
    assert causes["fallback"].where == "a/train.py:3 measure"
    assert "fallback" not in counted([*WORK, *fallback[:1]])


def test_many_collectives_are_counted_few_are_not() -> None:
    def collectives(count: int) -> Rows:
        return [("communication", "hcom_allReduce_", 1000 + 100 * at, 90) for at in range(count)]

    assert counted([*WORK, *collectives(20)])["communication"].share == pytest.approx(0.18, abs=0.01)
    assert "communication" not in counted([*WORK, *collectives(19)])


def test_a_real_device_and_causes_with_a_place_stay_as_they_are() -> None:
    cause = Cause("python", 1e6, 0.1, "train.py:1 f", Sentence("PRF316.none"))
    real = simulated([*WORK, ("python", SAVE, 1000, 4000)], tier="npu")
    assert add_counted(real, (cause,)) == (cause,)


def test_small_kernels_get_the_line_of_the_scripts_own_thread(profile_of: Callable[..., Profile]) -> None:
    profile = simulated([*WORK, ("python", SAVE, 1000, 4000), ("host_op", "aten::add", 1500, 20)])
    trace = profile.trace
    kernels, adds = trace.mask_of_names("k".__eq__), trace.mask_of_names("aten::add".__eq__)
    trace.launched_by[kernels] = adds.nonzero()[0]
    tiny = Cause("tiny_kernels", 1e6, 0.5, "aten::mul", Sentence("PRF316.none"))
    assert next(cause.where for cause in add_counted(profile, (tiny,)) if cause.kind == "tiny_kernels") == (
        "a/train.py:3 measure"
    )


def waits(name: str, count: int, copies: bool = True) -> Rows:
    """So many noted calls at the line of SAVE, each with a copy from the device where it brings something."""
    rows: Rows = [("python", SAVE, 1000, 4000)]
    for at in range(count):
        rows += [("python", name, 1000 + 100 * at, 80), ("host_op", "aten::copy_", 1010 + 100 * at, 60)]
        rows += [("copy", "MEMCPY_ASYNC", 1020 + 100 * at, 10)] if copies else []
    return rows


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Tensor.item", "synchronisation"), ("npu.synchronize", "synchronisation"), ("Tensor.cpu", "blocked_copy")],
)
def test_calls_that_would_wait_for_a_device_are_counted_at_their_line(name: str, kind: str) -> None:
    told = counted([*WORK, *waits(name, 4)])[kind]
    assert (told.where, told.evidence.args["calls"], told.confidence) == ("a/train.py:3 measure", 4, "likely")
    assert told.share == pytest.approx(0.032, abs=0.001)
    assert kind not in counted([*WORK, *waits(name, 3)]), "one or two are usual"


def test_a_value_of_the_host_waits_for_nothing_and_a_synchronize_needs_no_copy() -> None:
    assert "synchronisation" not in counted([*WORK, *waits("Tensor.item", 9, copies=False)])
    assert "synchronisation" in counted([*WORK, *waits("Stream.synchronize", 9, copies=False)])
    in_loader: Rows = [("loading", "enumerate(DataLoader)#x.__next__", 1000, 4000)]
    assert "synchronisation" not in counted([*WORK, *in_loader, *waits("Tensor.item", 9)])


def test_giving_memory_back_in_each_step_is_named() -> None:
    told = counted([*WORK, *waits("npu.empty_cache", 1, copies=False)])["allocation"]
    assert (told.where, told.evidence.args["calls"]) == ("a/train.py:3 measure", 1)


@pytest.mark.parametrize(("steps", "told"), [((0, 1, 3), True), ((0, 1), False)])
def test_collections_that_a_line_asks_for_are_named_however_short(steps: tuple[int, ...], told: bool) -> None:
    profile = simulated([*WORK, ("python", SAVE, 1000, 1500), ("python", "GC", 1200, 1100)])
    trace = profile.trace
    collections = trace.mask_of_names("GC".__eq__)
    trace.duration_ns[collections & ~np.isin(trace.step, steps)] = 500 * US
    garbage = {cause.kind: cause for cause in add_counted(profile, ())}.get("garbage")
    assert (garbage is not None) == told
    if garbage is not None:
        assert (garbage.where, garbage.spent_ns) == ("a/train.py:3 measure", 3 * 1100 * US / 4)


def casting(*types: str, shape: str = "[8,8] [8,8]") -> Profile:
    """Four steps of ten times these casts, each a copy (to from), one after the other."""
    events: list[Event] = []
    for number in range(4):
        begin = 10_000 * number
        events.append(Event(f"ProfilerStep#{number}", "step", "Python 7", begin * US, 10_000 * US))
        events += [Event(MAIN, "python", "Python 7", begin * US, 9_999 * US)]
        events += [Event(SAVE, "python", "Python 7", (begin + 1000) * US, 5_000 * US)]
        for at, pair in enumerate(types * 10):
            start = (begin + 1000 + 100 * at) * US
            events.append(Event("aten::to", "host_op", "Python 7", start, 80 * US))
            events.append(Event("aten::copy_", "host_op", "Python 7", start + US, 60 * US, shape=shape, dtype=pair))
            by = len(events) - 1
            events.append(Event("aten::copy_", "compute", "Ascend Hardware 1", start + 2 * US, 9 * US, launched_by=by))
    return Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})


def test_casts_that_are_undone_at_once_are_named_at_their_line() -> None:
    to_half, to_float = "float16 float32", "float32 float16"
    (told,) = [cause for cause in add_counted(casting(to_half, to_float), ()) if cause.kind == "casting"]
    assert (told.where, told.evidence.args["calls"]) == ("a/train.py:3 measure", 10)
    assert told.spent_ns == pytest.approx(20 * 80 * US) and told.predicted is not None
    assert told.predicted.most_ns == told.spent_ns
    for types in ((to_half,), ("int64 float32", "float32 int64"), ("float32 float32",), (to_half, "float32 bfloat16")):
        assert not [cause for cause in add_counted(casting(*types), ()) if cause.kind == "casting"], types


def calling(count: int, *shapes: str, between: str = "", launches: bool = True) -> Profile:
    """Four steps of so many additions of these shapes, one after the other, at the line of SAVE."""
    events: list[Event] = []
    for number in range(4):
        begin = 10_000 * number
        events.append(Event(f"ProfilerStep#{number}", "step", "Python 7", begin * US, 10_000 * US))
        events += [Event(MAIN, "python", "Python 7", begin * US, 9_999 * US)]
        events += [Event(SAVE, "python", "Python 7", (begin + 1000) * US, 5_000 * US)]
        if between:
            events += [Event(between, "python", "Python 7", (begin + 1000) * US, 5_000 * US)]
        for at in range(count):
            start, shape = (begin + 1000 + 100 * at) * US, shapes[at % len(shapes)]
            events.append(Event("aten::add", "host_op", "Python 7", start, 80 * US, shape=shape))
            by = len(events) - 1
            if launches or not at:
                events.append(Event("add", "compute", "Ascend Hardware 1", start, 9 * US, launched_by=by))
    return Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})


@pytest.mark.parametrize(("launches", "kind"), [(True, "tiny_kernels"), (False, "python")])
def test_a_line_that_calls_one_operator_again_and_again_is_a_loop(launches: bool, kind: str) -> None:
    (told,) = [cause for cause in add_counted(calling(24, "[8]", launches=launches), ()) if cause.kind == kind]
    assert (told.where, told.evidence.key, told.evidence.args["calls"]) == ("a/train.py:3 measure", "PRF316.loops", 24)
    assert told.predicted is not None and told.predicted.most_ns == pytest.approx(5e6)


@pytest.mark.parametrize(
    "profile",
    [
        calling(23, "[8]"),
        calling(40, "[8]", "[9]"),
        calling(40, "[256,256]"),
        calling(40, "[8]", between="/x/torch/nn/modules/linear.py(3): forward"),
        calling(40, "[8]", between="/x/site-packages/timm/layers.py(3): forward"),
    ],
    ids=["few", "other shapes", "large", "a module", "a library"],
)
def test_layers_and_large_tensors_are_no_loop(profile: Profile) -> None:
    assert "PRF316.loops" not in {cause.evidence.key for cause in add_counted(profile, ())}


def test_a_model_that_is_called_for_one_sample_after_the_other_is_a_loop() -> None:
    module = "/x/torch/nn/modules/linear.py(3): forward"
    told = {cause.evidence.key for cause in add_counted(calling(40, "[1,8]", between=module), ())}
    assert "PRF316.loops" in told


def test_a_loop_in_a_function_that_is_seen_late_is_not_its_callers() -> None:
    rows: Rows = [("python", SAVE, 1000, 8000), ("python", "/a/train.py(5): spread", 5000, 4000)]
    profile = simulated([*WORK, *rows, *(("host_op", "aten::select", 1000 + 100 * at, 80) for at in range(80))])
    profile.trace.shape[profile.trace.mask_of_names("aten::select".__eq__)] = 1
    profile = Profile.from_trace(replace(profile.trace, shapes=("", "[8]")), {"tier": "npu-simulated"})
    (told,) = [cause for cause in add_counted(profile, ()) if cause.evidence.key == "PRF316.loops"]
    assert told.where == "a/train.py:5 spread"


def test_what_operators_compute_on_the_host_prepares_samples_unless_it_was_fetched() -> None:
    on_host: Rows = [("host_op", "aten::fill_", 1500 + 200 * at, 190) for at in range(30)]
    told = counted([*BUSY, *on_host])["preprocessing"]
    assert (told.where, told.evidence.key) == ("a/train.py:12 main", "PRF316.on_host")
    fetch: Rows = [("python", "Tensor.cpu", 1500, 90), ("host_op", "aten::copy_", 1510, 50), ("copy", "M", 1511, 1)]
    causes = counted([*BUSY, *fetch, *on_host])
    assert "python" in causes and "preprocessing" not in causes, "what the device has made is no sample"


@pytest.mark.parametrize("name", ["aten::_unique2", "aten::bincount", "aten::nonzero"])
def test_operators_whose_result_has_as_many_elements_as_values_say_wait(name: str) -> None:
    rows: Rows = [("python", SAVE, 1000, 4000)]
    on_device = [
        row for at in range(6) for row in (("host_op", name, 1000 + 400 * at, 300), ("copy", "M", 1001 + 400 * at, 1))
    ]
    assert "synchronisation" in counted([*WORK, *rows, *on_device])
    on_host = [row for row in on_device if row[0] == "host_op"]
    assert "synchronisation" not in counted([*BUSY, *rows, *on_host]), "what lies on the host is known"


LOOP = "/a/train.py({}): main"
MODULE = "/a/train.py(50): <module>"


def loop(*lines: tuple[int, int, int]) -> Rows:
    """A script whose main is at these lines (line, start, length) of its loop."""
    return [*WORK[:2], ("python", MODULE, 0, 10_000), *(("python", LOOP.format(line), *at) for line, *at in lines)]  # type: ignore[list-item]


def test_a_line_of_the_loop_is_named_not_all_that_the_loop_does() -> None:
    lines = loop((9, 0, 1500), (12, 1500, 4000), (13, 5500, 3000), (14, 8500, 1500))
    ops: Rows = [("host_op", "aten::mm", 0, 1000), ("host_op", "aten::mm", 5600, 2900)]
    python = counted([*lines, *ops])["python"]
    assert (python.where, python.share) == ("a/train.py:12 main", pytest.approx(0.41, abs=0.02))
    spread = loop(*((9 + at, 1000 * at, 1000) for at in range(9)), (20, 9000, 1000))
    assert "python" not in counted([*spread, ("host_op", "aten::mm", 0, 20)]), "each line has a tenth"


def test_the_function_that_takes_most_of_a_line_is_the_place() -> None:
    lines = loop((9, 0, 1500), (12, 1500, 6000), (13, 7500, 2500))
    ops: Rows = [("host_op", "aten::mm", 0, 1400), ("host_op", "aten::mm", 7500, 1500)]
    inner: Rows = [("python", "/a/train.py(2): outer", 1500, 5800), ("python", SAVE, 1600, 4500)]
    assert counted([*lines, *ops, *inner])["python"].where == "a/train.py:3 measure"
    small: Rows = [("python", "/a/train.py(2): outer", 1500, 5800), ("python", SAVE, 1600, 1500)]
    assert counted([*lines, *ops, *small])["python"].where == "a/train.py:2 outer"


TOLD = Sentence("PRF316.loading", gain_ms=4.0, share=40.0, place=Sentence("profiling.cause_nowhere"))
LOADING = Cause("loading", 4e6, 0.4, "train.py:9 main", TOLD)


@pytest.mark.parametrize(
    ("name", "length", "spent_ms"),
    [("_SingleProcessDataLoaderIter", 5000, 5.0), ("_MultiProcessingDataLoaderIter", 5500, 4.8)],
)
def test_a_loader_is_weighed_by_its_own_events_without_its_queue(name: str, length: int, spent_ms: float) -> None:
    rows: Rows = [("loading", f"enumerate(DataLoader)#{name}.__next__", 1000, length)]
    (told,) = [cause for cause in add_counted(simulated([*WORK, *rows]), (LOADING,)) if cause.kind == "loading"]
    assert told.spent_ns == pytest.approx(spent_ms * 1e6) and told.evidence.args["gain_ms"] == spent_ms
    short: Rows = [("loading", f"enumerate(DataLoader)#{name}.__next__", 1000, 4400)]
    assert "loading" not in {cause.kind for cause in add_counted(simulated([*WORK, *short]), (LOADING,))}


@pytest.mark.parametrize(("length", "operators", "told"), [(2000, 5, True), (2000, 30, False), (900, 0, False)])
def test_a_loader_is_slow_that_takes_as_long_as_all_that_is_handed_out(length: int, operators: int, told: bool) -> None:
    rows: Rows = [("loading", "enumerate(DataLoader)#x.__next__", 0, length)]
    backward: Rows = [("python", "/x/torch/autograd/graph.py(9): _engine_run_backward", 3000, 6999)]
    for at in range(operators):
        rows += [("host_op", "aten::mm", 2000 + 30 * at, 25), ("copy", "M", 2001 + 30 * at, 1)]
    causes = add_counted(simulated([*WORK[:1], WORK[2], *rows, *backward]), (LOADING,))
    assert ("loading" in {cause.kind for cause in causes}) == told


def test_a_loader_that_starts_its_workers_is_weighed_with_that() -> None:
    start = ("python", "/x/torch/utils/data/dataloader.py(505): __iter__", 1000, 4500)
    rows: Rows = [start, ("loading", "enumerate(DataLoader)#x.__next__", 5500, 500)]
    (told,) = [cause for cause in add_counted(simulated([*WORK, *rows]), (LOADING,)) if cause.kind == "loading"]
    assert told.spent_ns == pytest.approx(5e6)


def test_work_is_counted_in_elements_by_line() -> None:
    events = [Event("ProfilerStep#1", "step", "Python 7", 0, 10_000 * US)]
    for at, (line, shape) in enumerate((("9", "[64,16] [16]"), ("9", "[16]"), ("3", "[8,8]"))):
        events.append(Event(f"/a/train.py({line}): main", "python", "Python 7", at * 1000 * US, 900 * US))
        events.append(Event("aten::mm", "host_op", "Python 7", (at * 1000 + 100) * US, 500 * US, shape=shape))
        events.append(Event("k", "compute", "Ascend Hardware 1", at * 1000 * US, 50 * US, launched_by=3 * at + 2))
    profile = Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})
    assert count_work(profile) == {"a/train.py:9 main": 64 * 16 + 16, "a/train.py:3 main": 64}


#: A loop whose lines 9 and 13 hand out work all the time
BUSY: Rows = loop((9, 0, 1500), (12, 1500, 6000), (13, 7500, 2500))
BUSY += [("host_op", "aten::mm", 0, 1400), ("copy", "M", 100, 10)]
BUSY += [("host_op", "aten::mm", 7500, 2400), ("copy", "M", 7600, 1)]


def test_operators_on_the_hosts_own_tensors_are_the_scripts_time() -> None:
    on_host: Rows = [("host_op", "aten::fill_", 1500 + 200 * at, 190) for at in range(30)]
    assert counted([*BUSY, *on_host])["preprocessing"].where == "a/train.py:12 main"
    of_device = [row for op in on_host for row in (op, ("copy", "MEMCPY_ASYNC", op[2] + 1, 1))]
    assert not {"python", "preprocessing"} & set(counted([*BUSY, *of_device])), "these hand out work"


def test_python_between_what_is_handed_out_is_told_where_it_is_most_of_a_line() -> None:
    def handing_out(length: int) -> Rows:
        return [
            row
            for at in range(30)
            for row in (("host_op", "aten::mm", 1500 + 200 * at, length), ("copy", "M", 1501 + 200 * at, 1))
        ]

    assert counted([*BUSY, *handing_out(100)])["python"].share == pytest.approx(0.3, abs=0.02)
    assert "python" not in counted([*BUSY, *handing_out(130)]), "a model needs Python between its operators too"


def test_waiting_for_backward_is_no_time_of_the_script() -> None:
    backward: Rows = [("python", "/x/torch/autograd/graph.py(9): _engine_run_backward", 1500, 6000)]
    assert "python" in counted(BUSY) and "python" not in counted([*BUSY, *backward])


@pytest.mark.parametrize(("between", "told"), [(6, True), (8, False)])
def test_waits_are_told_where_little_lies_between_them(between: int, told: bool) -> None:
    rows: Rows = [("python", SAVE, 1000, 4000)]
    for at in range(5):
        rows += [("python", "Tensor.item", 1000 + 400 * at, 40), ("host_op", "aten::copy_", 1010 + 400 * at, 20)]
        rows += [("copy", "MEMCPY_ASYNC", 1011 + 400 * at, 1)]
        for op in range(between):
            rows += [
                ("host_op", "aten::add", 1050 + 400 * at + 30 * op, 20),
                ("copy", "M", 1051 + 400 * at + 30 * op, 1),
            ]
    assert ("synchronisation" in counted([*WORK, *rows])) == told


def test_one_operator_of_many_kernels_is_no_loop_of_small_ones() -> None:
    told = Sentence("PRF316.kernels", kernels=900, small=90, where=None, gain_ms=1.0, share=50.0)
    tiny = Cause("tiny_kernels", 5e6, 0.5, "", told)
    gru: Rows = [("host_op", "aten::gru", 100, 800), ("host_op", "aten::mm", 110, 20), ("copy", "M", 111, 1)]
    assert "tiny_kernels" not in {cause.kind for cause in add_counted(simulated([*WORK, *gru]), (tiny,))}

    def many(count: int) -> Rows:
        return [
            row for at in range(count) for row in (("host_op", "aten::mm", 20 * at, 15), ("copy", "M", 20 * at + 1, 1))
        ]

    assert "tiny_kernels" not in {cause.kind for cause in add_counted(simulated([*WORK, *many(240)]), (tiny,))}
    assert "tiny_kernels" in {cause.kind for cause in add_counted(simulated([*WORK, *many(255)]), (tiny,))}


NUMPY = Sentence("PRF316.preprocessing", gain_ms=4.0, share=40.0, place=Sentence("profiling.cause_nowhere"))


def test_numpy_on_what_the_device_has_made_prepares_no_samples() -> None:
    cause = Cause("preprocessing", 4e6, 0.4, "a/train.py:3 measure", NUMPY)
    kinds = {told.kind for told in add_counted(simulated([*WORK, *waits("Tensor.cpu", 1)]), (cause,))}
    assert "python" in kinds and "preprocessing" not in kinds
    kept = add_counted(simulated([*WORK, *waits("Tensor.cpu", 1, copies=False)]), (cause,))
    assert "preprocessing" in {told.kind for told in kept}, "what lies on the host is not fetched"


def test_most_of_the_work_is_told_with_its_line_unless_it_is_the_backward() -> None:
    def computing(frames: Rows) -> dict[str, Cause]:
        events = [Event("ProfilerStep#1", "step", "Python 7", 0, 10_000 * US)]
        events += [Event(name, kind, "Python 7", start * US, ns * US) for kind, name, start, ns in frames]  # type: ignore[arg-type]
        for start, shape in ((1000, "[8]"), (3000, "[64,64]")):
            events.append(Event("aten::mm", "host_op", "Python 7", start * US, 500 * US, shape=shape))
            by = len(events) - 1
            events.append(Event("k", "compute", "Ascend Hardware 1", start * US, 50 * US, launched_by=by))
        profile = Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})
        return {cause.kind: cause for cause in add_counted(profile, ())}

    frames = loop((9, 0, 2000), (12, 2000, 5000), (13, 7000, 3000))[2:]
    told = computing(frames)["computing"]
    assert (told.where, told.spent_ns) == ("a/train.py:12 main", 5e6)
    assert told.predicted is not None and told.predicted.most_ns == 5e6
    backward = ("python", "/x/torch/autograd/graph.py(9): _engine_run_backward", 2000, 4900)
    assert "computing" not in computing([*frames, backward])


def test_without_a_cause_a_step_is_shorter_by_what_goes_on_in_its_function() -> None:
    frames: Rows = [("python", MODULE, 0, 10_000), ("python", LOOP.format(12), 0, 10_000), ("python", SAVE, 1000, 4000)]
    tiny = Cause("tiny_kernels", 9e6, 0.9, "a/train.py:3 measure", Sentence("PRF316.none"))
    (told,) = [cause for cause in add_counted(simulated([*WORK[:2], *frames]), (tiny,)) if cause.kind == "tiny_kernels"]
    assert told.predicted is not None and told.predicted.most_ns == pytest.approx(4e6)


def test_work_is_counted_at_every_line_that_the_host_is_in() -> None:
    events = [Event("ProfilerStep#1", "step", "Python 7", 0, 10_000 * US)]
    frames = [
        ("/a/train.py(9): main", 0, 9_999),
        ("/a/train.py(9): main", 900, 1_000),
        ("/a/net.py(3): forward", 1_000, 800),
    ]
    events += [Event(name, "python", "Python 7", start * US, ns * US) for name, start, ns in frames]
    for start, shape in ((1_200, "[8,8]"), (3_000, "[4]")):
        events.append(Event("aten::mm", "host_op", "Python 7", start * US, 50 * US, shape=shape))
        by = len(events) - 1
        events.append(Event("k", "compute", "Ascend Hardware 1", start * US, 50 * US, launched_by=by))
    profile = Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})
    assert count_work(profile) == {"a/net.py:3 forward": 64.0, "a/train.py:9 main": 4.0}
    assert count_work_below(profile) == {"a/net.py:3 forward": 64.0, "a/train.py:9 main": 68.0}, "each once"
