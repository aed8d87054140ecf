"""What is asked for more often than needed, or on more: orders, casts of weights, reductions, buffers."""

from __future__ import annotations

import pytest

from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.counted import add_counted
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Event, build_trace

US = 1000
MAIN, LAYER = "/a/train.py(9): main", "/a/train.py(3): forward"
#: (name, start, length in microseconds, shapes, types, whether it launches a kernel); of backward the lane is another
Call = tuple[str, int, int, str, str, bool]
OWN, BACKWARD, DEVICE = "Python 7", "Python 8", "Ascend Hardware 1"


def recorded(calls: list[Call], backward: list[Call] = [], collectives: int = 0) -> Profile:  # noqa: B006
    """Four steps of 10 ms with these calls, those of `forward` in its first 5 ms."""
    events: list[Event] = []
    for number in range(4):
        begin = 10_000 * number
        events.append(Event(f"ProfilerStep#{number}", "step", OWN, begin * US, 10_000 * US))
        events.append(Event(MAIN, "python", OWN, begin * US, 9_999 * US))
        events.append(Event(LAYER, "python", OWN, (begin + 100) * US, 5_000 * US))
        events.append(Event("Optimizer.step#SGD.step", "annotation", OWN, (begin + 9_000) * US, 500 * US))
        for lane, rows in ((OWN, calls), (BACKWARD, backward)):
            for name, start, length, shape, types, launches in rows:
                at = (begin + start) * US
                events.append(Event(name, "host_op", lane, at, length * US, shape=shape, dtype=types))
                if launches:
                    by = len(events) - 1
                    events.append(Event("k", "compute", DEVICE, at, 5 * US, launched_by=by))
        for at in range(collectives):
            events.append(Event("hcom_allReduce_", "communication", DEVICE, (begin + 6_000 + 200 * at) * US, 150 * US))
    return Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})


def told_of(profile: Profile, kind: str) -> list[Cause]:
    return [cause for cause in add_counted(profile, ()) if cause.kind == kind]


def spread(name: str, count: int, length: int = 90, shape: str = "[8,16]", types: str = "float32") -> list[Call]:
    return [(name, 200 + 100 * at, length, shape, types, True) for at in range(count)]


def test_tensors_that_are_written_in_another_order_are_told_with_what_their_gradients_need() -> None:
    calls = spread("aten::contiguous", 8)
    calls += [("aten::mm", 1_000 + 100 * at, 50, "[8,16]", "float32", True) for at in range(12)]
    gradients: list[Call] = [
        ("autograd::engine::evaluate_function: TransposeBackward0", 6_000 + 100 * at, 60, "", "", True)
        for at in range(8)
    ]
    (told,) = told_of(recorded(calls, gradients), "layout")
    assert (told.where, told.evidence.args["calls"]) == ("a/train.py:3 forward", 8)
    assert told.spent_ns == pytest.approx((8 * 90 + 8 * 60) * US)
    assert told.predicted is not None and told.predicted.most_ns == told.spent_ns


@pytest.mark.parametrize(
    ("count", "others", "length", "launches"),
    [(5, 0, 90, True), (8, 33, 90, True), (8, 0, 50, True), (8, 0, 90, False)],
)
def test_few_orders_or_short_ones_or_views_are_none(count: int, others: int, length: int, launches: bool) -> None:
    calls = [(*call[:5], launches) for call in spread("aten::contiguous", count, length)]
    calls += [("aten::mm", 1_100 + 50 * at, 20, "[8,16]", "float32", True) for at in range(max(others, 2))]
    assert not told_of(recorded(calls), "layout")


def cast(count: int, shape: str, types: str = "bfloat16 float32", begin: int = 200) -> list[Call]:
    return [
        call
        for at in range(count)
        for call in (
            ("aten::to", begin + 60 * at, 50, shape, "float32", True),
            ("aten::copy_", begin + 60 * at + 10, 30, f"{shape} {shape}", types, True),
        )
    ]


def gathered(count: int, shape: str) -> list[Call]:
    return [("torch::autograd::AccumulateGrad", 6_000 + 50 * at, 20, shape, "float32", False) for at in range(count)]


def test_weights_that_are_cast_again_and_again_are_told() -> None:
    (told,) = told_of(recorded(cast(24, "[96,32]"), gathered(2, "[96,32]")), "casting")
    assert (told.where, told.evidence.key) == ("a/train.py:3 forward", "PRF316.recast")
    assert (told.evidence.args["calls"], told.evidence.args["needed"]) == (24, 2)
    assert told.spent_ns == pytest.approx(24 * 50 * US * (1 - 2 / 24))


@pytest.mark.parametrize(
    ("shape", "types", "parameters"),
    [("[96,32]", "bfloat16 float32", 7), ("[16,32]", "bfloat16 float32", 2), ("[96,32]", "float32 int64", 2)],
)
def test_casts_of_other_tensors_or_as_often_as_weights_are_none(shape: str, types: str, parameters: int) -> None:
    assert not told_of(recorded(cast(24, shape, types), gathered(parameters, "[96,32]")), "casting")


def rounds(count: int, apart: bool = True) -> tuple[list[Call], list[Call]]:
    parts = [("aten::mm", 200 + (900 * at if apart else 0), 50, "[8,16]", "float32", True) for at in range(count)]
    reduces = [("c10d::allreduce_", 600 + 900 * at, 40, "", "", False) for at in range(count)]
    return parts, reduces


def test_gradients_that_are_reduced_for_each_part_are_told() -> None:
    (told,) = told_of(recorded(*rounds(8), collectives=8), "communication")
    assert (told.evidence.key, told.evidence.args["calls"], told.evidence.args["needed"]) == ("PRF316.reduced", 8, 1)
    assert told.spent_ns == pytest.approx(8 * 150 * US * 7 / 8, rel=0.01)
    assert told.where.startswith("a/train.py:")


@pytest.mark.parametrize(("apart", "collectives"), [(False, 8), (True, 2)])
def test_buckets_of_one_backward_pass_or_cheap_ones_are_none(apart: bool, collectives: int) -> None:
    assert not told_of(recorded(*rounds(8, apart), collectives=collectives), "communication")


def test_large_tensors_made_anew_for_a_few_values_are_told() -> None:
    calls = spread("aten::scatter", 10, shape="[16,40,1600] [16,40,1] [16,40,1]", types="float32 int64 float32")
    (told,) = told_of(recorded(calls), "computing")
    assert (told.where, told.evidence.key, told.evidence.args["calls"]) == (
        "a/train.py:3 forward",
        "PRF316.rebuilt",
        10,
    )
    assert told.evidence.args["of_all"] == 100


@pytest.mark.parametrize(
    ("count", "shape", "others"),
    [(7, "[16,40,1600] [16,40,1]", 0), (10, "[16,40,60] [16,40,1]", 0), (10, "[16,64] [16,1]", 20)],
)
def test_a_few_or_dense_or_small_ones_are_none(count: int, shape: str, others: int) -> None:
    calls = spread("aten::scatter", count, shape=shape, types="float32 int64")
    calls += [("aten::mm", 1_300 + 50 * at, 20, "[64,64]", "float32", True) for at in range(others)]
    assert not [cause for cause in told_of(recorded(calls), "computing") if cause.evidence.key == "PRF316.rebuilt"]


def built(count: int, noted: str = "module#0 own", fetched: bool = False, shape: str = "[4,8,8]") -> Profile:
    """Four steps in which a layer copies so many tensors to the device, each after 50 us of the host's own."""
    events: list[Event] = []
    for number in range(4):
        begin = 10_000 * number
        events.append(Event(f"ProfilerStep#{number}", "step", OWN, begin * US, 10_000 * US))
        events.append(Event(MAIN, "python", OWN, begin * US, 9_999 * US))
        events += [Event(name, "python", OWN, (begin + 100) * US, 5_000 * US) for name in (noted, LAYER)]
        for at in range(count):
            start = (begin + 200 + 200 * at) * US
            events.append(Event("aten::triu", "host_op", OWN, start, 50 * US, shape=shape))
            events += [Event("Tensor.cpu", "python", OWN, start + 55 * US, 60 * US)] * fetched
            events.append(Event("aten::copy_", "host_op", OWN, start + 60 * US, 40 * US, shape=shape))
            events.append(Event("M", "copy", DEVICE, start + 61 * US, 5 * US, launched_by=len(events) - 1))
    return Profile.from_trace(build_trace(events, source="made", dialect="ascend"), {"tier": "npu-simulated"})


def test_tensors_that_layers_make_on_the_host_are_told_with_what_makes_them() -> None:
    (told,) = [cause for cause in told_of(built(4), "blocked_copy") if cause.evidence.key == "PRF316.built"]
    assert (told.where, told.evidence.args["calls"]) == ("a/train.py:3 forward", 4)
    assert told.spent_ns == pytest.approx(4 * (50 + 40) * US)


@pytest.mark.parametrize(
    "profile",
    [built(3), built(4, noted="module#0"), built(4, fetched=True), built(4, shape="")],
    ids=["few", "not in a layer of the script's", "to the host", "values"],
)
def test_few_copies_or_outside_of_layers_or_to_the_host_are_none(profile: Profile) -> None:
    assert not [cause for cause in told_of(profile, "blocked_copy") if cause.evidence.key == "PRF316.built"]


def linear(count: int, begin: int) -> list[Call]:
    return [("aten::linear", begin + 100 * at, 80, "[8,16]", "float32", True) for at in range(count)]


def test_a_forward_pass_that_backward_computes_again_is_told() -> None:
    (told,) = [
        cause
        for cause in told_of(recorded(linear(8, 200), linear(6, 5_500)), "computing")
        if cause.evidence.key == "PRF316.recomputed"
    ]
    assert (told.evidence.args["calls"], told.spent_ns) == (6, pytest.approx(6 * 80 * US))
    assert told.predicted == Range(*2 * [pytest.approx(6 * 80 * US)]), "not all that its line takes"


@pytest.mark.parametrize(("first", "again"), [(8, 3), (20, 4)])
def test_a_few_of_forwards_operators_in_backward_are_none(first: int, again: int) -> None:
    causes = told_of(recorded(linear(first, 200), linear(again, 5_500)), "computing")
    assert "PRF316.recomputed" not in {cause.evidence.key for cause in causes}


def test_operators_in_float64_are_told_and_numbers_of_python_are_none() -> None:
    def doubles(types: str, count: int = 4, shape: str = "[8,16]") -> list[Cause]:
        profile = recorded([(name, *rest[:2], shape, types, True) for name, *rest in spread("aten::sin", count)])  # type: ignore[misc]
        return [cause for cause in told_of(profile, "casting") if cause.evidence.key == "PRF316.doubles"]

    (told,) = doubles("float64")
    assert (told.where, told.evidence.args["calls"]) == ("a/train.py:3 forward", 4)
    assert told.spent_ns == pytest.approx(4 * 90 * US)
    assert doubles("float32 float64", shape="[8,16] [16]") and not doubles("float32 float64")
    assert not doubles("float64", count=3)


@pytest.mark.parametrize(
    ("name", "length", "is_told"),
    [
        ("aten::linalg_svdvals", 900, True),
        ("aten::linalg_svdvals", 300, False),
        ("aten::linalg_vector_norm", 900, False),
    ],
)
def test_matrices_that_are_decomposed_are_told(name: str, length: int, is_told: bool) -> None:
    calls: list[Call] = [(name, 300 + 1_000 * at, length, "[64,64]", "float32", True) for at in range(2)]
    causes = told_of(recorded(calls), "computing")
    decomposed = [cause for cause in causes if cause.evidence.key == "PRF316.decomposed"]
    assert [(cause.where, cause.evidence.args["calls"], cause.spent_ns) for cause in decomposed] == (
        [("a/train.py:3 forward", 2, pytest.approx(2 * 900 * US))] if is_told else []
    )
