"""What a reduced format, its layers and the weights' own difference make of the gradients of a step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ascend_workbook.precision.state.judge import Conditions, Judge, Judged
from ascend_workbook.precision.state.judging import judge_rank
from ascend_workbook.precision.state.reading import Step
from tests.precision.ranks import states

NAMES = ("first", "second", "third", "fourth", "idle")
HF32 = 2.0**-12


def judge_pair(known: Conditions, gradient_off: float, weights_off: float = 0.0, idle_off: float = 0.0) -> Judged:
    """One step in which one gradient of several differs, and the weights that it was made with."""
    draw = np.random.default_rng(0)
    weights = {name: draw.normal(size=400) for name in NAMES}
    gradients = {name: draw.normal(size=400) * (1e-8 if name == "idle" else 1.0) for name in NAMES}
    others = {name: value * (1 + weights_off) for name, value in weights.items()}
    others["idle"] = weights["idle"] * (1 + idle_off)
    moved = {**gradients, "third": gradients["third"] + gradient_off * np.roll(gradients["third"], 1)}
    sides = [
        states.record(
            [{name: states.pack(value) for name, value in of.items()}], [dict(zip(by, map(states.pack, by.values())))]
        )
        for of, by in ((weights, gradients), (others, moved))
    ]
    return judge_rank(0, sides[0].ranks[0], sides[1].ranks[0], known)


@pytest.mark.parametrize(
    ("depth", "off", "told"),
    [(0, 0.03, True), (1, 0.05, False), (1, 0.3, True), (3, 0.2, True), (12, 0.2, False), (12, 0.5, True)],
)
def test_deeper_networks_are_allowed_more_under_a_reduced_format(depth: int, off: float, told: bool) -> None:
    judged = judge_pair(Conditions(reduced=HF32 if depth else 0.0, depth=depth), off)
    assert [event.kind for event in judged.events] == (["gradient"] if told else [])


@pytest.mark.parametrize(("weights_off", "idle_off"), [(0.0, 0.0), (1e-3, 0.0), (0.0, 0.1)])
def test_weights_carry_their_own_difference_but_not_those_without_a_gradient(
    weights_off: float, idle_off: float
) -> None:
    judged = judge_pair(Conditions(reduced=HF32, depth=2), 0.01, weights_off, idle_off)
    allowed = next(row.allowed for row in judged.rows if row.stage == "gradient")
    assert allowed == pytest.approx(5 * math.sqrt(2 * (HF32 + weights_off)), rel=0.05)


@pytest.mark.parametrize(
    ("depth", "unit", "weights_off"),
    [(20, HF32, 1e-3), (53, HF32, 0.0), (155, HF32, 1e-3), (53, 2 * HF32, 0.0), (74, 2 * HF32, 1e-3)],
)
def test_no_network_is_allowed_more_than_what_was_measured(depth: int, unit: float, weights_off: float) -> None:
    """Of 20 convolutions under HF32; deeper ones and TF32 were not measured."""
    for off, told in ((0.3, []), (0.5, ["gradient"])):
        judged = judge_pair(Conditions(reduced=unit, depth=depth), off, weights_off)
        assert [event.kind for event in judged.events if event.kind == "gradient"] == told


@pytest.mark.parametrize(
    ("depth", "middle", "allowed"),
    [(53, 0.0, 0.35), (53, 0.1, 0.5), (53, 0.3, 5 * math.sqrt(53) / 64), (999, 0.3, 0.9)],
)
def test_beyond_what_was_measured_all_gradients_must_be_noisy(depth: int, middle: float, allowed: float) -> None:
    """The kinks of a deep network move every gradient; a fault moves few."""
    judge = Judge(Conditions(reduced=HF32, depth=depth))
    assert judge.folded_floor(0.0, middle) == pytest.approx(allowed)


@pytest.mark.parametrize(
    ("baseline", "target", "detail", "factor"),
    [(0.5, 0.25, "read_factor", 0.5), (0.5, 0.5, "", 0.0), (0.5, 1.0, "factor", 0.5)],
)
def test_where_both_sides_scale_by_hand_one_factor_is_told(
    baseline: float, target: float, detail: str, factor: float
) -> None:
    """What one side alone does is told as its own."""
    draw = np.random.default_rng(0)
    gradients = {name: draw.normal(size=400) for name in NAMES}
    sides = []
    for scale in (baseline, target):
        read = [{name: states.pack(scale * value) for name, value in gradients.items()}]
        side = states.record([{name: states.pack(value) for name, value in gradients.items()}], read)
        raw = side.ranks[0][0].raw
        after = [{name: states.pack(value) for name, value in gradients.items()}]
        sides.append({0: Step({**raw, "gradients": after})})
    events = judge_rank(0, *sides, Conditions()).events
    assert [(event.detail, event.args.get("factor")) for event in events[:1]] == (
        [(detail, pytest.approx(factor))] if detail else []
    )
