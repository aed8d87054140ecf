"""Gradients that part in a step in which the random streams part too: which came first nothing tells."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_workbook.precision.state.judge import Conditions
from ascend_workbook.precision.state.judging import judge_rank
from ascend_workbook.precision.state.reading import Step
from tests.precision.ranks import states


def judge_streams(streams: tuple[str, str, str, str], off: float, known: Conditions) -> list[tuple[int, str, str]]:
    """Two steps; gradients of the first differ by a share; baseline's streams at both, then the target's."""
    draw = np.random.default_rng(0)
    weight, gradient, other = (draw.normal(size=400) for _ in range(3))
    sides = []
    for at, moved in ((0, 0.0), (2, off)):
        values = [states.pack(gradient + moved * other), states.pack(gradient)]
        record = states.record([{"w": states.pack(weight)}] * 2, [{"w": value} for value in values])
        raws = [{**record.ranks[rank][0].raw, "step": rank, "random": {"torch": streams[at + rank]}} for rank in (0, 1)]
        sides.append({number: Step(raw) for number, raw in enumerate(raws)})
    return [(event.step, event.kind, event.detail) for event in judge_rank(0, sides[0], sides[1], known).events]


@pytest.mark.parametrize(
    ("streams", "off", "told"),
    [
        (("a", "b", "a", "c"), 0.5, [(0, "random", "within")]),  # a compiled dropout
        (("a", "b", "a", "b"), 0.5, [(0, "gradient", "wrong")]),
        (("a", "b", "a", "c"), 0.0, [(1, "random", "")]),  # drawn behind the gradients
        (("a", "b", "z", "c"), 0.5, [(0, "gradient", "wrong")]),  # they began otherwise: the experiment tells that
    ],
)
def test_gradients_are_not_judged_in_a_step_whose_draws_part(
    streams: tuple[str, str, str, str], off: float, told: list[tuple[int, str, str]]
) -> None:
    assert judge_streams(streams, off, Conditions(same_streams=True)) == told


def test_streams_of_two_kinds_of_devices_explain_nothing() -> None:
    assert judge_streams(("a", "b", "a", "c"), 0.5, Conditions(same_streams=False))[0][1] == "gradient"
