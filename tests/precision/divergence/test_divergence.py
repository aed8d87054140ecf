"""Judging operators: the cases that tempt a comparison to blame the wrong one, or none."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.precision.divergence import (
    AGREES,
    ALLOWED,
    DIVERGES,
    EXPLAINED,
    JUMP,
    NOT_COMPARED,
    POSSIBLE,
    STRUCTURE,
    Judgement,
    find_makers,
    first_parting,
    formats,
    judge_operators,
)
from ascend_workbook.precision.divergence.replay import Own, Replay
from ascend_workbook.precision.layouts.entries import split_name
from ascend_workbook.precision.pairing import Pair
from ascend_workbook.precision.record import Operator, TensorRecord
from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.tensors.agreement import DTYPE, ONLY_BASELINE, Agreement, TensorAgreement

SHAPE = (4, 4)


def agreement(
    name: str,
    error_in: float,
    *errors: float | None,
    order: int = 0,
    dtype: str = "float32",
    problem: str = "",
    shape: tuple[int, ...] = SHAPE,
    size_in: float = 4.0,
    size_out: float = 4.0,
    incoming: tuple[int, ...] = SHAPE,
) -> Agreement:
    head, direction, call = split_name(name)
    file = Path("saved.pt")
    inputs = (TensorRecord("input.0", dtype, incoming, norm=size_in),)
    outputs = tuple(TensorRecord(f"output.{i}", dtype, shape, norm=size_out, file=file) for i, _ in enumerate(errors))
    operator = Operator(name, head, call, direction, order, inputs, outputs)
    found = tuple(TensorAgreement(t.slot, dtype, shape, e, problem=problem) for t, e in zip(outputs, errors))
    return Agreement(Pair(operator, operator), (TensorAgreement("input.0", dtype, SHAPE, error_in),), found)


def one(
    found: Agreement, replay: Replay | None = None, numerics: dict[str, str] | None = None, reached: float = math.inf
) -> Judgement:
    replays = {found.pair.target.name: replay} if replay else {}
    (judged,) = judge_operators([found], replays, numerics or {}, reached=reached)
    return judged


def replayed(*rows: tuple[float, ...]) -> Replay:
    return Replay(tuple(Own(*row) for row in rows))


@pytest.mark.parametrize(
    ("error_in", "error_out", "outcome"),
    [
        (0.0, 0.0, AGREES),
        (0.0, 1.8e-6, AGREES),
        (0.0, 1e-4, DIVERGES),
        (1e-3, 9e-3, EXPLAINED),
        (1e-3, 2e-2, DIVERGES),
        (1e-3, 1e-6, AGREES),
        (math.inf, math.inf, EXPLAINED),
        (1e-3, math.inf, DIVERGES),
    ],
)
def test_amplification(error_in: float, error_out: float, outcome: str) -> None:
    assert one(agreement("Functional.gelu.0.forward", error_in, error_out)).outcome == outcome


@pytest.mark.parametrize(
    ("name", "outcome"), [("Tensor.chunk.0.forward", EXPLAINED), ("Functional.linear.0.forward", DIVERGES)]
)
def test_statistics_of_the_whole_may_hide_what_a_part_is_off_by(name: str, outcome: str) -> None:
    """The keys' bias, whose gradient is but rounding, under Adam: seen in the keys, not in queries and values."""
    found = agreement(name, 6e-7, 2.4e-5)
    operator = replace(found.pair.target, outputs=tuple(replace(t, file=None) for t in found.pair.target.outputs))
    assert one(Agreement(Pair(operator, operator), found.inputs, found.outputs)).outcome == outcome


def batch_norm(name: str, errors: tuple[float, ...], error_out: float, training: bool) -> Agreement:
    """A batch norm whose inputs are so far off: x, running_mean, running_var, weight, bias."""
    found = agreement(name, errors[0], error_out)
    inputs = tuple(TensorRecord(f"input.{at}", "float32", SHAPE, norm=4.0) for at in range(5))
    operator = replace(found.pair.target, inputs=inputs, arguments=(("input.5", training), ("input.7", 1e-5)))
    slots = tuple(TensorAgreement(f"input.{at}", "float32", SHAPE, error) for at, error in enumerate(errors))
    return Agreement(Pair(operator, operator), slots, found.outputs)


@pytest.mark.parametrize(
    ("name", "errors", "training", "outcome"),
    [
        ("Functional.batch_norm.0.forward", (1e-6, 0.0, 0.5, 0.0, 0.0), True, DIVERGES),
        ("Functional.batch_norm.0.forward", (1e-6, 0.0, 0.5, 0.0, 0.0), False, EXPLAINED),
        ("Functional.batch_norm.0.forward", (1e-6, 0.0, 0.0, 0.5, 0.0), True, EXPLAINED),
        ("Torch.batch_norm.0.forward", (1e-6, 0.0, 0.0, 0.0, 0.5), True, DIVERGES),
        ("Functional.group_norm.0.forward", (1e-6, 0.0, 0.5, 0.0, 0.0), True, EXPLAINED),
    ],
)
def test_a_stale_statistic_that_is_only_updated_excuses_nothing(
    name: str, errors: tuple[float, ...], training: bool, outcome: str
) -> None:
    assert one(batch_norm(name, errors, 0.05, training)).outcome == outcome


def test_such_a_statistic_excuses_nothing_later_either() -> None:
    chain = [
        statistics(batch_norm("Functional.batch_norm.0.forward", (0.0, 0.0, 0.5, 0.0, 0.0), 0.0, True)),
        statistics(agreement("Functional.gelu.0.forward", 0.0, 0.05)),
    ]
    assert judge_operators(chain, {}, {}, reached=math.inf)[1].outcome == DIVERGES


@pytest.mark.parametrize(("error_out", "outcome"), [(1.9, EXPLAINED), (2.1, DIVERGES)])
def test_no_input_lifts_a_tolerance_beyond_twice_the_output(error_out: float, outcome: str) -> None:
    """Ten times an input's error of 0.5 were 500 %."""
    found = one(agreement("Functional.gelu.0.forward", 0.5, error_out))
    assert (found.outcome, found.allowed) == (outcome, 2.0)


def statistics(found: Agreement) -> Agreement:
    outputs = tuple(replace(record, file=None) for record in found.pair.target.outputs)
    return replace(found, pair=replace(found.pair, target=replace(found.pair.target, outputs=outputs)))


def test_statistics_are_judged_more_coarsely_in_backward() -> None:
    found = {way: agreement(f"Functional.gelu.0.{way}", 1e-3, 5e-2) for way in ("forward", "backward")}
    assert [one(found[way]).outcome for way in found] == [DIVERGES, DIVERGES]
    assert [one(statistics(found[way])).outcome for way in found] == [DIVERGES, EXPLAINED]


def test_statistics_inherit_the_largest_error_so_far() -> None:
    """An input whose extremes and norm agree by luck is not exact."""
    chain = [agreement("Functional.gelu.0.forward", 1e-3, 1e-3), agreement("Functional.gelu.1.forward", 1e-6, 5e-4)]
    assert judge_operators(chain, {}, {}, reached=math.inf)[1].outcome == DIVERGES
    assert judge_operators([*map(statistics, chain)], {}, {}, reached=math.inf)[1].outcome == EXPLAINED


@pytest.mark.parametrize(
    ("api", "error", "outcome"),
    [("conv2d", 3e-4, POSSIBLE), ("conv2d", 2e-2, DIVERGES), ("gelu", 3e-4, DIVERGES), ("linear", 3e-4, DIVERGES)],
)
def test_what_an_untold_format_may_explain_is_left_open(api: str, error: float, outcome: str) -> None:
    (judged,) = judge_operators(
        [agreement(f"Functional.{api}.0.forward", 0.0, error)], {}, {}, possible=frozenset({"conv"})
    )
    assert judged.outcome == outcome and (first_parting([judged]) is None) == (outcome == POSSIBLE)


def test_calls_that_agree_to_rounding_refute_an_untold_format() -> None:
    exact = [agreement(f"Functional.conv2d.{call}.forward", 0.0, 1e-7, order=call) for call in range(2)]
    assert formats.possible_kinds(exact[:1], {}, recorded=False) == {"conv", "matmul"}
    assert formats.possible_kinds(exact, {}, recorded=False) == {"matmul"}
    assert formats.possible_kinds(exact[:1], {"matmul": "hf32"}, recorded=False) == {"conv"}
    assert formats.possible_kinds(exact[:1], {}, recorded=True) == frozenset()


@pytest.mark.parametrize(("dtype", "outcome"), [("float32", DIVERGES), ("bfloat16", AGREES), ("float16", AGREES)])
def test_the_floor_follows_the_dtype(dtype: str, outcome: str) -> None:
    assert one(agreement("Functional.gelu.0.forward", 0.0, 1.5e-3, dtype=dtype)).outcome == outcome


@pytest.mark.parametrize(
    ("rows", "outcome", "side"),
    [
        ([(1e-7, 1e-7, 1e-7)], EXPLAINED, ""),
        ([(1e-2, 1e-7, 1e-7)], DIVERGES, "target"),
        ([(1e-7, 1e-2, 1e-7)], DIVERGES, "baseline"),
        ([(800.0, 700.0, 1600.0)], EXPLAINED, ""),  # a gradient that cancels to nothing
        ([(1e-2, 1e-7, 1e-7), (800.0, 700.0, 1600.0)], DIVERGES, "target"),  # and does not hide its neighbour
        ([(0.9, 0.9, 1e-7)], DIVERGES, ""),  # neither side agrees: the replay tells nothing, amplification does
    ],
)
def test_replay_decides(rows: list[tuple[float, ...]], outcome: str, side: str) -> None:
    judged = one(agreement("Functional.conv2d.0.forward", 1e-4, 1e-2, 1e-2), replayed(*rows))
    assert (judged.outcome, judged.side) == (outcome, side)


@pytest.mark.parametrize(
    ("api", "numerics", "outcome"),
    [
        ("conv2d", {"conv": "hf32"}, ALLOWED),
        ("conv2d", {}, DIVERGES),
        ("gelu", {"conv": "hf32"}, DIVERGES),
        ("linear", {"matmul": "tf32"}, ALLOWED),
        ("linear", {"conv": "hf32"}, DIVERGES),
    ],
)
def test_reduced_formats_explain_what_they_round_and_nothing_else(
    api: str, numerics: dict[str, str], outcome: str
) -> None:
    found = agreement(f"Functional.{api}.0.forward", 0.0, 3e-4)
    assert one(found, None, numerics).outcome == outcome
    reduced = 8e-4 if outcome == ALLOWED else 0.0
    assert one(found, replayed((3e-4, 1e-7, 1e-7, reduced)), numerics).outcome == outcome


def test_a_backward_inherits_what_its_forward_saved() -> None:
    forward = agreement("Functional.linear.0.forward", 1e-3, 1e-3)
    backward = agreement("Functional.linear.0.backward", 1e-8, 5e-3)
    assert [found.outcome for found in judge_operators([forward, backward], {}, {}, reached=math.inf)] == [
        EXPLAINED,
        EXPLAINED,
    ]
    assert one(backward).outcome == DIVERGES


def test_a_kink_turns_an_error_into_its_square_root() -> None:
    for api, outcome in (("relu", EXPLAINED), ("gelu", DIVERGES)):
        errors = {"forward": 1e-4, "backward": 0.02}
        both = [agreement(f"Functional.{api}.0.{way}", 1e-4, error) for way, error in errors.items()]
        assert judge_operators(both, {}, {}, reached=math.inf)[1].outcome == outcome


def test_a_sum_that_cancels_may_have_any_relative_error() -> None:
    """The gradient of a bias before a normalisation: zero but for rounding."""
    name = "Functional.conv2d.0.backward"
    cancelled = agreement(name, 1e-5, 50.0, shape=(6,), size_out=1e-8, size_in=4.0, incoming=(4, 6, 8, 8))
    assert one(cancelled).outcome == EXPLAINED
    solid = agreement(name, 1e-5, 50.0, shape=(6,), size_out=4.0, size_in=4.0, incoming=(4, 6, 8, 8))
    assert one(solid).outcome == DIVERGES


def test_other_shapes_part_forward_but_not_backward() -> None:
    for name, outcome in (("Functional.relu.0.forward", STRUCTURE), ("Functional.relu.0.backward", NOT_COMPARED)):
        assert one(agreement(name, 0.0, None, problem="shape")).outcome == outcome


@pytest.mark.parametrize(
    ("name", "error", "outcome"),
    [
        ("Functional.linear.0.backward", 2.0, DIVERGES),
        ("Functional.linear.0.backward", 0.0, AGREES),
        ("Functional.linear.0.backward", None, NOT_COMPARED),
        ("Module.fc.Linear.parameters_grad.0", 2.0, DIVERGES),
        ("Functional.linear.0.forward", 0.0, STRUCTURE),
    ],
)
def test_an_output_of_one_side_alone_does_not_hide_the_others(name: str, error: float | None, outcome: str) -> None:
    found = agreement(name, 0.0, error, error, None)
    lacking = replace(found.outputs[2], problem=ONLY_BASELINE)
    assert one(replace(found, outputs=(*found.outputs[:2], lacking)), reached=0.0).outcome == outcome


def test_a_backward_that_shows_another_node_is_not_compared() -> None:
    """Under autocast: the cast of its input on one side, the operator's three gradients on the other."""
    found = agreement("Functional.scaled_dot_product_attention.0.backward", 0.0, 0.98, None)
    node, more = found.outputs
    shown = (replace(node, problem=DTYPE), replace(more, problem=ONLY_BASELINE))
    assert one(replace(found, outputs=shown), reached=0.0).outcome == NOT_COMPARED


@pytest.mark.parametrize(
    ("extremes", "outcome"),
    [
        (((2.728515625, -2.404296875), (2.7265625, -2.404296875)), EXPLAINED),
        (((2.7285157, -2.404296875), (2.7265625, -2.404296875)), JUMP),
        (((1.0, 0.0), (0.5, 0.0)), JUMP),
    ],
)
def test_a_gradient_that_was_widened_has_the_coarse_rounding(
    extremes: tuple[tuple[float, float], tuple[float, float]], outcome: str
) -> None:
    """A float32 gradient whose numbers are float16's came through a cast that no dump records."""
    found = agreement("Functional.layer_norm.7.backward", 7e-4, 4e-5)
    sides = [
        replace(found.pair.target, inputs=(replace(found.pair.target.inputs[0], maximum=most, minimum=least),))
        for most, least in extremes
    ]
    judged = judge_operators([replace(found, pair=Pair(*sides))], {}, {}, reached=6e-6)
    assert judged[0].outcome == outcome


def test_an_error_from_nowhere_is_not_the_operators() -> None:
    chain = [
        agreement("Functional.gelu.0.forward", 0.0, 0.0),
        agreement("Functional.gelu.1.forward", 1e-2, 1e-2),
        agreement("Functional.gelu.2.forward", 1e-2, 1e-2),
    ]
    judged = judge_operators(chain, {}, {}, reached=0.0)
    assert [found.outcome for found in judged] == [AGREES, JUMP, EXPLAINED]
    found = first_parting(judged)
    assert found is not None and found.name == "Functional.gelu.1.forward"
    assert first_parting(judge_operators(chain, {}, {}, reached=math.inf)) is None, (
        "after updates weights differ by an unknown amount"
    )


@pytest.mark.parametrize(
    ("api", "turned", "outcome"),
    [("Torch._foreach_norm", True, EXPLAINED), ("Torch._foreach_norm", False, JUMP), ("Functional.gelu", True, JUMP)],
)
def test_what_clips_gradients_reads_what_nobody_recorded(api: str, turned: bool, outcome: str) -> None:
    """The parameters' gradients stand in no entry of level L1: their error comes from nowhere, and is nobody's fault
    where the norm is taken."""
    way = "backward" if turned else "forward"
    chain = [agreement(f"Functional.conv2d.0.{way}", 1e-6, 1e-6), agreement(f"{api}.0.forward", 1e-2, 1e-2)]
    assert judge_operators(chain, {}, {}, reached=1e-6)[1].outcome == outcome


def linked(
    name: str,
    error_in: float,
    error_out: float | None,
    order: int,
    took: float,
    gave: float,
    shape: tuple[int, ...] = SHAPE,
) -> Agreement:
    """An agreement whose tensors carry the given norms: equal norms say that a tensor is handed on."""
    return agreement(
        name,
        error_in,
        error_out,
        order=order,
        size_in=took,
        size_out=gave,
        shape=shape,
        problem="shape" if error_out is None else "",
    )


@pytest.mark.parametrize("partial", [True, False], ids=["partly recorded", "whole"])
def test_a_wrong_gradient_is_traced_to_who_made_it(partial: bool) -> None:
    """norm -> linear and add; the gradient handed back to norm is wrong. linear's entry shows another shape (its last
    node), add's the right one and in order: linear made it. Where both show it in order, both are named."""
    shape = (2, 8) if partial else SHAPE
    chain = [
        linked("F.norm.0.forward", 0.0, 0.0, 0, 1.0, 2.0),
        linked("F.linear.0.forward", 0.0, 0.0, 1, 2.0, 3.0),
        linked("F.add.0.forward", 0.0, 0.0, 2, 2.0, 4.0),
        linked("F.add.0.backward", 0.0, 0.0, 3, 1.0, 1.0),
        linked("F.linear.0.backward", 0.0, 0.0, 4, 1.0, 1.0, shape),
        linked("F.norm.0.backward", 1e-2, 1e-2, 5, 1.0, 1.0),
    ]
    judged = judge_operators(chain, {}, {})
    found = first_parting(judged)
    assert found is not None and found.name == "F.norm.0.backward" and found.outcome == JUMP
    expected = ["F.linear.0.backward"] if partial else ["F.linear.0.backward", "F.add.0.backward"]
    assert find_makers(judged, found) == expected


def test_one_of_a_calls_inputs_is_enough_to_have_taken_an_output() -> None:
    """linear takes norm's output and a weight of its own; nobody else takes it."""
    taker = linked("F.linear.0.forward", 0.0, 0.0, 1, 2.0, 3.0)
    weight = replace(taker.pair.baseline.inputs[0], slot="input.1", norm=9.0)
    baseline = taker.pair.baseline.add_tensor(weight)
    chain = [
        linked("F.norm.0.forward", 0.0, 0.0, 0, 1.0, 2.0),
        replace(taker, pair=replace(taker.pair, baseline=baseline)),
        linked("F.other.0.forward", 0.0, 0.0, 2, 5.0, 4.0),
        linked("F.norm.0.backward", 1e-2, 1e-2, 3, 1.0, 1.0),
    ]
    judged = judge_operators(chain, {}, {})
    assert find_makers(judged, judged[-1]) == ["F.linear.0.backward"]


def test_parameter_gradients_inherit_whatever_came_before() -> None:
    chain = [
        agreement("Functional.conv2d.0.backward", 1e-3, 1e-3),
        agreement("Module.conv.Conv2d.parameters_grad.0", 0.0, 5e-3),
    ]
    assert [found.outcome for found in judge_operators(chain, {}, {}, reached=1e-3)] == [EXPLAINED, EXPLAINED]
    assert judge_operators(chain[1:], {}, {}, reached=1e-6)[0].outcome == DIVERGES


@pytest.mark.parametrize(
    ("before", "error", "outcome"),
    [
        (0.0, 2.0, DIVERGES),
        (1e-3, 2.0, DIVERGES),
        (1e-3, 5e-3, EXPLAINED),
        (None, 2.0, NOT_COMPARED),
        (None, 0.0, AGREES),
    ],
)
def test_parameter_gradients_of_a_later_step_inherit_what_this_step_shows(
    before: float | None, error: float, outcome: str
) -> None:
    """Where updates have parted the weights by an unknown amount."""
    chain = [
        agreement("Functional.conv2d.0.backward", 0.0 if before is None else before, before),
        agreement("Module.conv.Conv2d.parameters_grad.0", 0.0, error),
    ]
    assert judge_operators(chain, {}, {}, reached=math.inf)[1].outcome == outcome


@pytest.mark.parametrize(
    ("reached", "size", "outcome"), [(math.inf, 1e-6, EXPLAINED), (0.0, 1e-6, EXPLAINED), (math.inf, 1.0, DIVERGES)]
)
def test_the_gradient_of_a_bias_that_cancels_may_be_any(reached: float, size: float, outcome: str) -> None:
    """A convolution's bias before a batch norm: its gradient is the rounding of a sum of zero. One that is no such sum
    is held to what came before."""
    chain = [
        agreement("Module.conv.Conv2d.backward.0", 1e-6, 1e-6, incoming=(8, 4, 16, 16), size_in=4.0),
        agreement("Module.conv.Conv2d.parameters_grad.0", 0.0, 0.9, shape=(4,), size_out=size),
    ]
    assert judge_operators(chain, {}, {}, reached=reached)[1].outcome == outcome


def test_containers_are_never_to_blame() -> None:
    chain = [agreement("Functional.gelu.0.forward", 0.0, 0.0), agreement("Module.block.Block.forward.0", 0.0, 0.5)]
    named = frozenset({"Module.block.Block.forward.0"})
    assert (
        first_parting(judge_operators(chain, {}, {}, named)) is None
        and first_parting(judge_operators(chain, {}, {})) is not None
    )


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_the_first_is_the_earliest_that_parts(errors: list[tuple[float, float]]) -> None:
    chain = [agreement(f"Functional.gelu.{i}.forward", *pair, order=i) for i, pair in enumerate(errors)]
    judged = judge_operators(chain, {}, {}, reached=math.inf)
    found = first_parting(judged)
    floor = tolerance.rounding_floor(["float32"])
    alone = [i for i, (error_in, error_out) in enumerate(errors) if error_out > 10 * max(error_in, floor)]
    assert (found.agreement.pair.order if found else None) == (alone[0] if alone else None)
