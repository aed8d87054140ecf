"""What a replay's answer means: limits at their edge, who handed a gradient, and why an operator was not run again."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.precision.divergence import DIVERGES, EXPLAINED, Judgement, judge_operators, replay
from ascend_workbook.precision.divergence.nonfinite import _describe_record
from ascend_workbook.precision.divergence.replay import (
    Own,
    Replay,
    Replays,
    _can_replay,
    _choose_maker,
    _is_wrong,
    _make_order,
    _read_answer,
    _read_handed,
    _scale_reduced,
    ask_child,
)
from ascend_workbook.precision.pairing import Pair, Pairing
from ascend_workbook.precision.record import Operator, Run
from tests.precision.divergence.test_divergence import agreement

SINGLE = ["float32"]
FLOOR = 32 / 2**24


def whole(name: str) -> Operator:
    """An operator whose tensors were all saved."""
    operator = agreement(name, 0.0, 0.0).pair.target
    return replace(operator, inputs=tuple(replace(t, file=operator.outputs[0].file) for t in operator.inputs))


def test_the_limits_of_an_output() -> None:
    own = Own(0.25, 0.5, rounding=0.125, reduced=0.375)
    assert own.worst == 0.5 and (own.explained_limit(0.0), own.explained_limit(0.25)) == (0.125, 0.25)
    assert (own.widest_limit(0.0), own.widest_limit(0.75)) == (0.375, 0.75)


@pytest.mark.parametrize(
    ("owns", "conclusive"),
    [
        ([], False),
        ([Own(0.1, 0.5)], True),
        ([Own(0.5, 0.1)], True),
        ([Own(0.2, 0.5)], False),
        ([Own(0.1, 0.1), Own(0.2, 0.2)], False),
    ],
)
def test_a_replay_is_believed_where_one_side_agrees_with_every_output(owns: list[Own], conclusive: bool) -> None:
    assert Replay(tuple(owns)).is_conclusive(0.1) is conclusive


def judge_bias(size_out: float, *own: float, shape: tuple[int, ...] = (4,)) -> Judgement:
    """The gradient of a bias, a sum over 4096 numbers, that a replay found so far off."""
    found = agreement(
        "Functional.conv2d.0.backward", 1e-7, 0.7, shape=shape, size_in=1e-2, size_out=size_out, incoming=(64, 4, 16)
    )
    (judged,) = judge_operators([found], {found.pair.target.name: Replay((Own(*own),))}, {}, reached=math.inf)
    return judged


def test_a_sum_that_cancels_to_nothing_is_rounding_however_lucky_the_shaking_was() -> None:
    assert judge_bias(3e-8, 0.8, 7.0, 1.8).outcome == EXPLAINED
    assert judge_bias(3e-8, 1e4, 0.5, 1.8).outcome == DIVERGES, "what is larger than rounding of its terms is not"
    assert judge_bias(1e-2, 0.02, 1e-7, 1e-6).outcome == DIVERGES, "a sum that does not cancel has no such room"
    assert judge_bias(3e-8, 0.02, 7e-7, 1e-6, shape=(2, 2)).outcome == DIVERGES, "nor has what is no plain sum"


def test_the_worst_output_is_that_which_exceeds_its_own_limit_most() -> None:
    near, far = Own(8.0, 0.0, rounding=4.0), Own(1.0, 0.0, rounding=0.25)
    assert Replay((near, far)).worst_output(0.0) is far and Replay((near, far)).worst_output(2.0) is near
    exact, wrong = Own(0.0, 0.0), Own(1e-9, 0.0)
    assert Replay((exact, far)).worst_output(0.0) is far and Replay((far, wrong)).worst_output(0.0) is wrong


def test_a_gradient_is_wrongly_handed_where_one_side_alone_is_off() -> None:
    both, one, right = Own(0.5, 0.5), Own(0.1, 0.5), Own(0.1, 0.1)
    assert Replay((), (right, one, both)).wrongly_handed(0.1) is one
    assert Replay((), (right, both)).wrongly_handed(0.1) is None


def test_the_childs_answer_in_the_dtypes_roundings() -> None:
    """float32: half of 32 roundings; float16: half of 4; a reduced format: 4."""
    rows = [[0.5, 0.25, 1e-3, 2e-3]]
    assert _read_answer(rows, SINGLE).outputs == (Own(0.5, 0.25, 16e-3, 8e-3),)
    assert _read_answer(rows, ["float16", "float32"]).outputs == (Own(0.5, 0.25, 2e-3, 8e-3),)


def test_a_measured_format_is_scaled_to_that_in_force() -> None:
    measured = Replay((Own(0.0, 0.0, 1.0, 3.0),), (Own(0.0, 0.0, 1.0, 5.0),))
    for numerics, times in (({"conv": "hf32"}, 1.0), ({"conv": "tf32"}, 2.0), ({}, 0.0)):
        scaled = _scale_reduced(measured, "conv2d", numerics)
        assert (scaled.outputs[0].reduced, scaled.handed[0].reduced) == (3.0 * times, 5.0 * times)
        assert scaled.outputs[0].rounding == 1.0


def handing(makers: list[str], rests: list[float], errors: tuple[float, float] = (0.5, 0.0)) -> dict[str, Any]:
    return {"makers": makers, "rests": rests, "errors": [*errors, 0.0, 0.0]}


def test_who_made_a_handed_gradient() -> None:
    """The one with whose gradient the error goes; else the only one known to be guilty; else the first."""
    order = ["a", "b", "c"]
    assert _choose_maker(handing(["b", "a"], [0.5, 0.09]), {"b"}, order) == ("a", ())
    assert _choose_maker(handing(["b", "a"], [0.5, 0.1]), {"b", "c"}, order) == ("b", ())
    assert _choose_maker(handing(["c", "b", "a"], [0.5] * 3), {"b", "a"}, order) == ("a", ("b", "c"))
    assert _choose_maker(handing(["c", "b"], [0.5] * 2), set(), order) == ("b", ("c",))


@pytest.mark.parametrize(
    ("errors", "wrong"),
    [((0.5, 0.0), True), ((0.5, 0.5), False), ((FLOOR, 0.0), False), ((0.0, 2 * FLOOR), True), ((1.0, FLOOR), True)],
)
def test_one_side_alone_beyond_rounding_is_wrong(errors: tuple[float, float], wrong: bool) -> None:
    assert _is_wrong(handing(["a"], [1.0], errors), SINGLE) is wrong


def test_who_hands_something_wrong_alone_is_guilty_of_what_it_shares() -> None:
    dtypes = dict.fromkeys(("a", "b"), SINGLE)
    alone, shared = handing(["b"], [1.0]), handing(["a", "b"], [1.0, 1.0])
    assert {name: others for name, (_, others) in _read_handed([alone, shared], dtypes).items()} == {"b": ()}
    assert len(_read_handed([alone, shared, {}], dtypes)["b"][0]) == 2
    (name,) = _read_handed([handing(["b"], [1.0], (0.0, 0.0)), shared], dtypes).keys() - {"b"}
    assert name == "a", "a maker whose gradient is right is not convicted"


def test_what_can_be_run_again() -> None:
    """An API with all its tensors saved, on both sides."""
    operator = whole("Functional.gelu.0.forward")
    assert _can_replay(Pair(operator, operator))
    lacking = replace(operator, inputs=(replace(operator.inputs[0], file=None),))
    for pair in (Pair(lacking, operator), Pair(operator, lacking)):
        assert not _can_replay(pair)
    for name in ("Module.fc.Linear.forward.0", "Module.fc.Linear.parameters_grad.0"):
        assert not _can_replay(Pair(whole(name), whole(name)))


def test_why_an_operator_was_not_run_again() -> None:
    operator = whole("Functional.gelu.0.forward")
    assert Replays({}).why_not(operator) == "off" and Replays({}, "died").why_not(operator) == "failed"
    assert Replays({}, "died", skipped={operator.name: "argument"}).why_not(operator) == "argument"
    assert Replays({operator.name: Replay(())}, "died").why_not(operator) == "unclear"
    assert Replays({}).why_not(agreement(operator.name, 0.0, 0.0).pair.target) == "not_saved"
    for name in ("Module.fc.Linear.forward.0", "Functional.gelu.0.parameters_grad"):
        assert (
            Replays({}).why_not(
                replace(
                    operator,
                    name=name,
                    head=name.rpartition(".")[0].rpartition(".")[0],
                    direction=name.rpartition(".")[2],
                )
            )
            == "module"
        )


def test_the_order_tells_how_coarse_the_operator_is() -> None:
    for api, unit in (("gelu", 0.0), ("conv2d", 2.0**-12)):
        operator = whole(f"Functional.{api}.0.forward")
        order = _make_order(Pair(operator, operator))
        assert (order["unit"], order["reduced_unit"]) == (2.0**-24, unit)
    halves = tuple(replace(t, dtype="float16") for t in operator.outputs)
    assert _make_order(Pair(operator, replace(operator, outputs=halves)))["unit"] == 2.0**-11
    numbers = replace(operator, inputs=(), outputs=tuple(replace(t, dtype="int64") for t in operator.outputs))
    assert _make_order(Pair(numbers, numbers))["unit"] == 0.0


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("echo first >&2; echo last >&2; exit 3", ({}, "last")),
        ("echo first; exit 3", ({}, "exit code 3")),
        ("exit 0", ({}, "exit code 0")),
        ('echo \'{"found": {}}\' > "$3"; echo beside >&2', ({"found": {}}, "")),
        ('echo \'{"found": {}}\' > "$3"; exit 4', ({}, "exit code 4")),
    ],
)
def test_what_stopped_the_child(tmp_path: Path, script: str, answer: tuple[object, str]) -> None:
    """Its last line of errors, or how it ended; an answer of one that failed counts for nothing."""
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    assert ask_child({}, str(path)) == answer


def test_only_a_saved_tensor_can_be_loaded() -> None:
    (record,) = whole("Functional.gelu.0.forward").inputs
    assert _describe_record((record,), "input.0") == {"data_name": "saved.pt", "shape": [4, 4]}
    assert _describe_record((replace(record, file=None),), "input.0") is None
    assert _describe_record((record,), "input.1") is None


@pytest.mark.parametrize("sides", [(True, True), (False, True), (True, False), (False, False)])
def test_operators_are_run_again_where_both_sides_told_their_arguments(
    monkeypatch: pytest.MonkeyPatch, sides: tuple[bool, bool]
) -> None:
    operator = whole("Functional.gelu.0.forward")
    runs = [Run(Path("x"), 0, 0, "tensor", "L1", (operator,), replayable=replayable) for replayable in sides]
    monkeypatch.setattr(replay, "ask_child", lambda job, python: ({}, "asked"))
    pairing = Pairing(runs[0], runs[1], (Pair(operator, operator),), (), ())
    found = replay.replay_pairs(pairing, {})
    assert (found.error, found.skipped) == (("asked", {}) if all(sides) else ("", {operator.name: "argument"}))
