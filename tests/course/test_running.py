"""Losses are held against each other step by step; what is short, missing or NaN is never the same."""

from __future__ import annotations

import socket

import pytest

from course.exercises import running
from course.exercises.running import another_seed, same_losses
from course.tasks import loop, ranks

GOOD = [1.0, 0.5, 0.25]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (GOOD, "losses_same"),
        ([1.0, 0.5, 0.2500001], "losses_same"),
        ([1.0, 0.5], "steps"),
        ([], "steps"),
        ([1.0, 0.5, 0.25, 0.1], "steps"),
        ([1.0, 1.0, 1.0], "losses_part"),
        ([1.0, float("nan"), 0.25], "no_loss"),
        ([1.0, 0.5, None], "no_loss"),
        ([float("inf"), 0.5, 0.25], "no_loss"),
    ],
)
def test_losses(given: list[float | None], key: str) -> None:
    good, told = same_losses(GOOD, given, 1e-5)
    assert good is (key == "losses_same") and told["say"] == f"course.run.{key}"


def test_nan_is_not_the_same_as_nan() -> None:
    assert not same_losses([float("nan")], [float("nan")], 1.0)[0]


def test_a_seed_is_never_the_notebooks() -> None:
    assert 0 not in {another_seed() for _ in range(2000)}


def test_the_port_is_held_while_a_student_is_checked() -> None:
    with ranks.occupy_port(ranks.PORT), socket.socket() as other, pytest.raises(OSError):
        other.bind(("127.0.0.1", ranks.PORT))
    with ranks.occupy_port(ranks.PORT), ranks.occupy_port(ranks.PORT):
        pass  # two students at a time


@pytest.mark.parametrize(
    ("ratios", "turns", "fast"),
    [
        ([8, 7, 9], 3, True),
        ([1, 1.1, 1], 3, False),
        ([1.5, 3, 3, 3, 3, 1.9], 6, True),
        ([2.5, 1.2, 1.2, 1.2, 1.2, 1.2], 6, False),
    ],
)
def test_speed_is_the_median_and_doubt_takes_more_turns(
    monkeypatch: pytest.MonkeyPatch, ratios: list[float], turns: int, fast: bool
) -> None:
    left = [value for ratio in ratios[1:] for value in (ratio, 1.0)]
    monkeypatch.setattr(running, "side_by_side", lambda *trials: trials)
    monkeypatch.setattr(running, "require_whole", lambda result: result)
    monkeypatch.setattr(loop, "seconds", lambda result: left.pop(0))
    good, told = loop._judge_speed(None, None, [(ratios[0], 1.0)])  # type: ignore[arg-type]
    assert good is fast and isinstance(told["args"], dict) and told["args"]["count"] == turns
