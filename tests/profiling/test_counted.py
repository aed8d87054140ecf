"""What a simulated NPU's profile tells by counts, structure and the host's own time at the script's lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.counted import add_counted
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
        [("python", SAVE, 1000, 1000)],
        [("python", SAVE, 1000, 4000), ("host_op", "aten::conv2d", 1000, 3900)],
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
