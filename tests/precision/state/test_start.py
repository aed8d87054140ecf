"""Which random streams tell that a script drew more on one side, by what draws on the devices."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_workbook.precision.state.judge import Conditions, Judge
from ascend_workbook.precision.state.reading import Step
from ascend_workbook.precision.state.start import judge_start
from tests.precision.ranks import states


def step(number: int, **streams: str) -> Step:
    return Step({"step": number, "random": streams, "updates": [], "scale": None})


@pytest.mark.parametrize(
    ("of_cpu", "of_npu", "same_streams", "told"),
    [
        (("a", "b"), ("a", "c"), False, True),
        (("a", "b"), ("a", "c"), True, True),
        (("a", "b"), ("a", "b"), True, False),
        (("a", "b"), ("z", "c"), False, False),
    ],
)
def test_the_hosts_stream_counts_where_no_device_draws(
    of_cpu: tuple[str, str], of_npu: tuple[str, str], same_streams: bool, told: bool
) -> None:
    for moves in (False, True):
        judge = Judge(Conditions(same_streams=same_streams))
        for at in (0, 1):
            judge_start(judge, step(at, torch=of_cpu[at]), step(at, torch=of_npu[at], npu="d" if at and moves else "n"))
            judge.left, judge.right = step(at, torch=of_cpu[at]), step(at, torch=of_npu[at], npu="n")
        drew = told and (same_streams or not moves)
        assert [(event.step, event.names) for event in judge.events] == ([(1, ("torch",))] if drew else [])


A, B, C = (states.pack(np.random.default_rng(seed).normal(size=64)) for seed in range(3))
ONE, TWO = {"norm.mean": A}, {"norm.mean": A, "1:norm.mean": B}
Buffers = dict[str, list[object]]


def with_buffers(number: int, **sides: Buffers) -> Step:
    return Step({"step": number, "random": {}, "updates": [], "scale": None, **sides})


@pytest.mark.parametrize(
    ("baseline", "target", "told"),
    [
        ((ONE, ONE), (ONE, ONE), None),
        ((TWO, TWO), (TWO, TWO), None),
        ((ONE, ONE), (TWO, TWO), None),  # the target has a network more
        ((TWO, TWO), (TWO, {**TWO, "norm.mean": C}), ("norm.mean", "target")),
        ((TWO, TWO), (TWO, {**TWO, "1:norm.mean": C}), ("1:norm.mean", "target")),
        ((TWO, {**TWO, "norm.mean": C}), (TWO, TWO), ("norm.mean", "baseline")),
        ((ONE, {"1:norm.mean": A}), (ONE, {"1:norm.mean": C}), ("1:norm.mean", "target")),  # the model made anew
        ((ONE, {"norm.mean": C}), (ONE, {"1:norm.mean": C}), None),
    ],
)
def test_the_buffers_of_each_network_are_held_against_their_own(
    baseline: tuple[Buffers, Buffers], target: tuple[Buffers, Buffers], told: tuple[str, str] | None
) -> None:
    judge = Judge(Conditions())
    judge.left, judge.right = with_buffers(0, buffer=baseline[0]), with_buffers(0, buffer=target[0])
    judge_start(judge, with_buffers(1, buffer_before=baseline[1]), with_buffers(1, buffer_before=target[1]))
    assert [(*event.names, event.side) for event in judge.events] == ([told] if told else [])


def train(number: int, *optimizers: dict[str, float]) -> Step:
    """A step of weights that are all of this size, each moved by 0.1."""
    updates = [
        {
            "class": "SGD",
            "place": "",
            "module": "",
            "groups": [{"lr": 0.1, "names": list(weights)}],
            "backwards": 1,
            "gradient": {},
            "before": {},
            "state": {},
            "weight": {name: states.pack(np.full(64, size)) for name, size in weights.items()},
            "update": {name: states.pack(np.full(64, 0.1)) for name in weights},
        }
        for weights in optimizers
    ]
    return Step({"step": number, "random": {}, "updates": updates, "scale": None})


@pytest.mark.parametrize("joined", [True, False], ids=["one optimizer", "an optimizer each"])
@pytest.mark.parametrize(("restored", "told"), [("w", True), ("1:w", True), ("", False)])
def test_the_weights_of_each_network_are_held_against_their_own(joined: bool, restored: str, told: bool) -> None:
    """Two networks of the same shapes, of which the target alone goes on from other weights."""

    def make(number: int, weights: dict[str, float]) -> Step:
        return train(number, weights) if joined else train(number, *({name: size} for name, size in weights.items()))

    judge = Judge(Conditions())
    judge.left = judge.right = make(0, {"w": 1.0, "1:w": 5.0})
    later = {"w": 1.1, "1:w": 5.1}
    judge_start(judge, make(1, later), make(1, {**later, **({restored: 3.0} if restored else {})}))
    found = [event.names for event in judge.events if event.detail == "weights"]
    assert found == ([(restored,)] if told else [])
