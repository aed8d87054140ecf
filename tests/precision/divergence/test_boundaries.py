"""The judgement at its limits: what is still explained, what no longer is, and which word wins."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_workbook.precision.divergence import (
    AGREES,
    ALLOWED,
    ARGUMENT,
    CONTAINER,
    DIVERGES,
    DRAWN,
    EXPLAINED,
    JUMP,
    NOT_COMPARED,
    STRUCTURE,
    Judgement,
    cancellation_factor,
    effective_dtypes,
    find_makers,
    judge_operators,
)
from ascend_workbook.precision.divergence.arguments import different_arguments
from ascend_workbook.precision.divergence.drawn import other_numbers
from ascend_workbook.precision.divergence.nonfinite import _largest_expected, _odd_records, kind_of_record
from ascend_workbook.precision.divergence.replay import Own
from ascend_workbook.precision.pairing import Pair
from ascend_workbook.precision.record import Operator, TensorRecord
from ascend_workbook.precision.tensors.agreement import NONFINITE, ONLY_BASELINE, ONLY_TARGET, Agreement
from ascend_workbook.precision.views.suspects import Candidate, rank_candidates
from tests.precision.divergence.test_divergence import agreement, linked, one, replayed, statistics

#: What rounding explains in float32: 32 units of 2^-24.
FLOOR = 32 / 2**24


@pytest.mark.parametrize(
    ("error_in", "error_out", "outcome"),
    [
        (0.0, FLOOR, AGREES),
        (0.0, 10 * FLOOR, EXPLAINED),
        (0.0, 10.01 * FLOOR, DIVERGES),
        (1e-3, 1e-2, EXPLAINED),
        (1e-3, 1.01e-2, DIVERGES),
    ],
)
def test_ten_times_the_larger_of_input_error_and_rounding(error_in: float, error_out: float, outcome: str) -> None:
    assert one(agreement("Functional.gelu.0.forward", error_in, error_out)).outcome == outcome


@pytest.mark.parametrize(("error_out", "outcome"), [(0.1, EXPLAINED), (0.101, DIVERGES)])
def test_statistics_in_backward_may_amplify_a_hundredfold(error_out: float, outcome: str) -> None:
    assert one(statistics(agreement("Functional.gelu.0.backward", 1e-3, error_out))).outcome == outcome


def test_what_was_allowed_is_told_with_the_worst_output() -> None:
    judged = one(agreement("Functional.gelu.0.forward", 1e-3, 0.0, 9e-3, 1e-3))
    assert (judged.outcome, judged.allowed) == (EXPLAINED, pytest.approx(1e-2))
    judged = one(agreement("Functional.conv2d.0.forward", 0.0, 3e-4, 10 * FLOOR), None, {"conv": "tf32"})
    assert (judged.outcome, judged.allowed, judged.form) == (ALLOWED, 4 / 2**11, "tf32")
    assert one(agreement("Functional.gelu.0.forward", 0.0, 0.0)).allowed == FLOOR


@pytest.mark.parametrize(
    ("row", "outcome", "allowed"),
    [
        ((0.5, 0.0, 0.5), EXPLAINED, 0.5),
        ((0.5, 0.0, 0.25, 0.5), ALLOWED, 0.5),
        ((0.5, 0.0, 0.25, 0.4), DIVERGES, 0.4),
    ],
)
def test_a_replay_explains_up_to_its_limit(row: tuple[float, ...], outcome: str, allowed: float) -> None:
    judged = one(agreement("Functional.conv2d.0.forward", 0.0, 0.5), replayed(row))
    assert (judged.outcome, judged.allowed) == (outcome, allowed)


def test_the_side_that_is_further_off_is_to_blame() -> None:
    for row, side in (((0.5, 0.25), "target"), ((0.25, 0.5), "baseline")):
        found = agreement("Functional.conv2d.0.forward", 0.0, 0.5)
        assert one(found, replayed((*row, 0.3))).side == side
        handed = replace(replayed(), handed=(Own(*row, 0.3),), others=("b",))
        judged = one(found, handed)
        assert (judged.outcome, judged.side, judged.allowed) == (DIVERGES, side, 0.3)
        assert judged.handed_by == (found.pair.target.name, "b")


def test_an_operators_own_error() -> None:
    """By replay the worse side's, else what its output is off beyond its input."""
    found = agreement("Functional.gelu.0.forward", 0.25, 1.0)
    assert Judgement(found, DIVERGES, 0.0).own_error == 0.75
    assert Judgement(found, DIVERGES, 0.0, own=Own(0.1, 0.5)).own_error == 0.5
    assert Judgement(agreement("F.x.0.forward", 1.0, 0.25), EXPLAINED, 0.0).own_error == 0.0
    assert Judgement(agreement("F.x.0.forward", math.inf, math.inf), EXPLAINED, 0.0).own_error == 0.0
    assert Judgement(agreement("F.x.0.forward", 0.0, None), NOT_COMPARED, 0.0).own_error == 0.0


@pytest.mark.parametrize(("times", "outcome"), [(30.0, EXPLAINED), (30.1, JUMP)])
def test_an_input_thirty_times_off_all_before_came_from_elsewhere(times: float, outcome: str) -> None:
    for reached in (0.0, 1e-3):
        error = times * max(reached, FLOOR)
        (judged,) = judge_operators([agreement("Functional.gelu.0.forward", error, error)], {}, {}, reached=reached)
        assert judged.outcome == outcome and (outcome != JUMP or judged.allowed == reached)


def test_an_infinity_that_came_in_was_made_elsewhere() -> None:
    found = agreement("Functional.gelu.0.forward", math.inf, math.inf)
    odd = replace(found, inputs=(replace(found.inputs[0], problem=NONFINITE),))
    assert judge_operators([odd], {}, {})[0].outcome == JUMP
    assert judge_operators([odd], {}, {}, reached=math.inf)[0].outcome == EXPLAINED


def test_errors_of_outputs_count_as_reached_too() -> None:
    """29 times the largest error so far, whether that was an input's or an output's."""
    for error_in, error_out in ((1e-3, 1e-4), (1e-4, 1e-3)):
        chain = [
            agreement("Functional.gelu.0.forward", error_in, error_out),
            agreement("Functional.gelu.1.forward", 2.9e-2, 2.9e-2),
        ]
        assert judge_operators(chain, {}, {}, reached=1e-3)[1].outcome == EXPLAINED


def test_parameters_leave_what_was_reached_alone() -> None:
    """Nothing is computed from a gradient within the step."""
    chain = [
        agreement("Module.fc.Linear.parameters_grad.0", 0.0, 0.5),
        agreement("Functional.gelu.0.forward", 1e-2, 1e-2),
    ]
    assert judge_operators(chain, {}, {}, reached=1e-6)[1].outcome == JUMP


def test_a_container_with_another_shape_is_still_told() -> None:
    name = "Module.block.Block.forward.0"
    shaped, off = agreement(name, 0.0, None, problem="shape"), agreement(name, 0.0, 0.5)
    outcomes = [judge_operators([found], {}, {}, frozenset({name}))[0].outcome for found in (shaped, off)]
    assert outcomes == [STRUCTURE, CONTAINER]


def test_dropout_draws_again_in_its_backward() -> None:
    """With another mask its gradient differs as well, which is nobody's fault; that of another call still is."""
    errors = {"0.forward": 1.0, "0.backward": 20.0, "1.backward": 20.0}
    chain = [agreement(f"Functional.dropout.{call}", 0.0, error) for call, error in errors.items()]
    judged = judge_operators(chain, {}, {}, reached=0.0)
    assert [judgement.outcome for judgement in judged] == [DRAWN, DRAWN, DIVERGES]


@pytest.mark.parametrize(
    ("error_in", "error_out", "other"),
    [(0.0, 0.05, False), (0.0, 0.051, True), (0.01, 0.1, False), (0.01, 0.11, True), (0.0, None, False)],
)
def test_other_numbers_are_an_error_of_the_values_size(error_in: float, error_out: float | None, other: bool) -> None:
    assert other_numbers(agreement("Functional.dropout.0.forward", error_in, error_out)) is other


@pytest.mark.parametrize(
    ("name", "shape", "incoming", "size_in", "size_out", "factor"),
    [
        ("F.x.0.backward", (4,), (16,), 3.0, 0.5, 2 * 3.0 / 0.5),  # sqrt(16 / 4) * |in| / |out|
        ("F.x.0.backward", (16,), (16,), 3.0, 0.5, 1.0),  # no reduction
        ("F.x.0.backward", (4,), (16,), 0.1, 0.5, 1.0),  # never below 1
        ("F.x.0.backward", (4,), (16,), 3.0, 0.0, 1.0),
        ("F.x.0.backward", (0,), (16,), 3.0, 0.5, 1.0),
        ("F.x.0.backward", (4,), (16,), math.inf, 0.5, 1.0),
        ("F.x.0.forward", (4,), (16,), 3.0, 0.5, 1.0),
        ("Module.c.Conv.parameters_grad.0", (4,), (16,), 3.0, 0.5, 12.0),
        ("Module.c.Conv.parameters_grad.0", (2, 2), (16,), 3.0, 0.5, 1.0),  # a weight, not a bias
    ],
)
def test_what_a_sum_that_cancels_may_lose(
    name: str, shape: tuple[int, ...], incoming: tuple[int, ...], size_in: float, size_out: float, factor: float
) -> None:
    found = agreement(name, 0.0, 1.0, shape=shape, size_out=size_out, size_in=size_in, incoming=incoming)
    summed = found.pair.baseline.inputs
    assert cancellation_factor(found, found.outputs[0], summed) == factor
    assert cancellation_factor(found, replace(found.outputs[0], slot="output.9"), summed) == 1.0
    assert cancellation_factor(found, found.outputs[0], ()) == 1.0


def test_behind_views_the_entry_just_before_is_named_where_it_was_not_compared() -> None:
    for error, expected in ((None, ["F.view.0.backward"]), (0.0, [])):
        chain = [
            linked("F.norm.0.forward", 0.0, 0.0, 0, 1.0, 2.0),
            linked("F.linear.0.forward", 0.0, 0.0, 1, 9.0, 3.0),
            linked("F.view.0.backward", 0.0, error, 2, 1.0, 1.0),
            linked("F.norm.0.backward", 1e-2, 1e-2, 3, 1.0, 1.0),
        ]
        judged = judge_operators(chain, {}, {})
        assert find_makers(judged, judged[-1]) == expected
        assert find_makers(judged, judged[0]) == [] and find_makers(judged[1:], judged[-1]) == []


def test_numbers_among_arguments_follow_the_errors_before() -> None:
    """A millionth at least, ten times what was reached; five in a hundred where that is not known or dtypes differ."""

    def told(left: float, right: float, reached: float, dtype: str = "float32", head: str = "F.mul") -> list[str]:
        output = TensorRecord("output.0", "float32", (1,))
        target = Operator(f"{head}.0.forward", head, 0, "forward", 0, (), (output,), arguments=(("input.1", left),))
        baseline = replace(target, outputs=(replace(output, dtype=dtype),), arguments=(("input.1", right),))
        return different_arguments(Agreement(Pair(target, baseline), (), ()), reached)

    assert told(1.0, 1 + 0.9e-6, 0.0) == [] != told(1.0, 1 + 1.1e-6, 0.0)
    assert told(1.0, 1.009, 1e-3) == [] != told(1.0, 1.011, 1e-3) == ["input.1 1.0 / 1.011"]
    assert told(1.0, 1.04, math.inf) == [] != told(1.0, 1.06, math.inf)
    assert told(1.0, 1.04, 0.0, "float16") == [] != told(1.0, 1.04, 0.0)
    assert told(1.0, 2.0, 0.0, head="Module.m.Mul") == []


def test_a_tensor_that_one_side_alone_was_given_is_an_argument() -> None:
    found = agreement("Functional.gelu.0.forward", 0.0, 0.0)
    for problem, side in ((ONLY_TARGET, "target"), (ONLY_BASELINE, "baseline")):
        more = replace(found, inputs=(*found.inputs, replace(found.inputs[0], slot="input.1", problem=problem)))
        assert different_arguments(more, 0.0) == [f"input.1 only in {side}"]
        assert judge_operators([more], {}, {})[0].outcome == ARGUMENT
        assert (
            judge_operators([replace(more, pair=agreement("F.gelu.0.backward", 0.0, 0.0).pair)], {}, {})[0].outcome
            == AGREES
        )


def test_the_dtypes_that_inputs_numbers_are_of_come_behind_their_own() -> None:
    found = agreement("Functional.layer_norm.0.backward", 0.0, 0.0)
    assert effective_dtypes(found) == ("float32",) * 4
    coarse = replace(found.pair.target.inputs[0], maximum=1.5, minimum=-1.25)
    sides = replace(found.pair.target, inputs=(coarse,))
    assert effective_dtypes(replace(found, pair=Pair(sides, sides))) == ("float32",) * 4 + ("float16",)
    other = replace(sides, inputs=(replace(coarse, slot="input.7"),))
    assert effective_dtypes(replace(found, pair=Pair(other, sides))) == ("float32",) * 4


def record(slot: str, maximum: float | None, minimum: float | None) -> TensorRecord:
    return TensorRecord(slot, "float32", (2,), maximum=maximum, minimum=minimum)


def test_what_is_not_finite_and_what_was_expected_there() -> None:
    inf, nan = math.inf, math.nan
    kinds = {(1.0, -1.0): "", (inf, 0.0): "inf", (0.0, -inf): "inf", (nan, 0.0): "nan", (inf, nan): "nan"}
    for extremes, kind in kinds.items():
        assert kind_of_record(record("o", *extremes)) == kind
    assert kind_of_record(record("o", None, None)) == "" and kind_of_record(record("o", None, inf)) == "inf"
    odd, fine = record("a", inf, 0.0), record("b", 1.0, -3.0)
    assert _odd_records((odd, fine), (record("a", 1.0, 0.0), record("b", inf, 0.0))) == [odd]
    assert _odd_records((odd,), (odd,)) == [] and _odd_records((odd,), (record("a", nan, 0.0),)) == [odd]
    partner = Operator("F.x.0.forward", "F.x", 0, "forward", 0, (fine,), (record("c", None, -2.0), odd))
    assert [_largest_expected(record(slot, inf, inf), partner) for slot in "abcd"] == [None, 3.0, 2.0, None]
    assert _largest_expected(fine, None) is None


def ranked(*judged: Judgement, named: list[str]) -> tuple[list[tuple[str, str]], int]:
    step: Any = SimpleNamespace(judged=list(judged), step=0, rank=0)
    facts: Any = SimpleNamespace(first=(step, judged[0]) if judged else None, named=named, steps=[step])
    candidates, count = rank_candidates(facts)
    return [(candidate.name, candidate.why) for candidate in candidates], count


def judgement(call: int, outcome: str, error: float = 0.5, own: Own | None = None, api: str = "gelu") -> Judgement:
    return Judgement(agreement(f"F.{api}.{call}.forward", 0.0, error, order=call), outcome, 0.1, own=own)


def test_why_a_candidate_stands_where_it_does() -> None:
    own = Own(0.5, 0.0)
    first = judgement(0, DIVERGES, own=own)
    others = [
        judgement(1, DIVERGES),
        judgement(2, JUMP),
        judgement(3, DIVERGES, own=own, api="relu"),
        judgement(4, STRUCTURE, api="relu"),
        judgement(5, DIVERGES, own=own),
        judgement(6, ARGUMENT),
    ]
    expected = {5: "kind", 6: "kind", 3: "own", 4: "own", 2: "handed", 1: "amplified"}
    (top, *rest), count = ranked(first, *others, named=[first.name])
    assert top == (first.name, "first") and count == 7
    assert [(int(name.split(".")[2]), why) for name, why in rest] == list(expected.items())
    assert ranked(first, named=["F.maker.0.backward"])[0] == [("F.maker.0.backward", "maker")]


def test_twenty_are_told_and_of_the_explained_the_worst_three() -> None:
    first = judgement(0, DIVERGES)
    explained = [judgement(call, EXPLAINED, error) for call, error in ((1, 0.1), (2, 0.4), (3, 0.2), (4, 0.3))]
    endless = judgement(5, EXPLAINED, math.inf)
    told, _ = ranked(first, *explained, endless, named=[first.name])
    assert told[1:] == [(f"F.gelu.{call}.forward", "consequence") for call in (2, 4, 3)]
    told, count = ranked(first, *(judgement(call, DIVERGES) for call in range(1, 25)), named=[first.name])
    assert (len(told), count) == (20, 25)


def test_what_is_held_against_what_is_allowed() -> None:
    step: Any = None
    found = agreement("F.x.0.forward", 0.25, 0.5)
    cases = [
        (Judgement(found, DIVERGES, 0.125), 0.5, 4.0),
        (Judgement(found, JUMP, 0.125), 0.25, 2.0),
        (Judgement(found, DIVERGES, 0.125, own=Own(0.0, 1.0)), 1.0, 8.0),
        (Judgement(found, DIVERGES, 0.0), 0.5, math.inf),
        (Judgement(found, STRUCTURE, 0.125), 0.5, None),
        (Judgement(found, ARGUMENT, 0.125), 0.5, None),
    ]
    for judged, error, times in cases:
        candidate = Candidate("x", step, judged, "first")
        assert (candidate.error, candidate.times) == (error, times)
