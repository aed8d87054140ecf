"""The sequential test: how often it errs when one looks after every round, and how soon it decides."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ascend_workbook.profiling.benchmark.deciding import (
    ALIKE,
    FASTER,
    OPEN,
    SLOWER,
    confidence_interval,
    decide,
)

ROUNDS, TRIALS = 12, 1500
#: Of three values the t-test's own 95 % interval and so on: what one would use without thinking of looking often
T95 = (4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201)


def ever(values: np.ndarray, misses: object) -> float:
    """In what part of the trials the interval ever leaves out the truth, 0, while one looks after each round."""
    wrong = 0
    for trial in values.tolist():
        wrong += any(misses(trial[:count]) for count in range(3, ROUNDS + 1))  # type: ignore[operator]
    return wrong / len(values)


def leaves_out(values: list[float]) -> bool:
    interval = confidence_interval(values, 0.05)
    return interval is not None and not interval[0] <= 0 <= interval[1]


def naive(values: list[float]) -> bool:
    half = T95[len(values) - 3] * np.std(values, ddof=1) / math.sqrt(len(values))
    return bool(abs(np.mean(values)) > half)


@pytest.mark.parametrize("scale", [1e-4, 0.05, 3.0])
def test_looking_after_each_round_does_not_raise_the_error(scale: float) -> None:
    values = np.random.default_rng(7).normal(0, scale, (TRIALS, ROUNDS))
    assert ever(values, leaves_out) <= 0.05
    assert ever(values, naive) > 0.10, "this is what the check can see"


def test_it_is_not_merely_blind() -> None:
    """Of an effect of two standard deviations 80 of 100 are decided within twelve rounds; the error is shared out."""
    random = np.random.default_rng(8)
    values = random.normal(0.04, 0.02, (300, ROUNDS))
    found = [decide(np.exp(trial).tolist(), [1.0] * ROUNDS, settings=3).verdict for trial in values]
    assert found.count(FASTER) > 0.8 * len(found) and SLOWER not in found


def test_verdicts() -> None:
    jitter = [1.0, 1.002, 0.998, 1.001, 0.999]
    base = [10.0] * 5
    assert decide([12 * one for one in jitter], base).verdict == FASTER
    assert decide([8 * one for one in jitter], base).verdict == SLOWER
    assert decide([10 * one for one in jitter], base).verdict == ALIKE
    assert decide([10, 14, 8, 12, 9], base).verdict == OPEN
    few = decide([12, 12.1], base)
    assert (few.verdict, few.low, few.rounds) == (OPEN, None, 2)
    decided = decide([12 * one for one in jitter], base)
    assert decided.low is not None and decided.high is not None
    assert decided.low < decided.ratio < decided.high and decided.ratio == pytest.approx(1.2, rel=1e-3)


def test_more_settings_need_more_evidence() -> None:
    values = [0.03, 0.031, 0.029, 0.03]
    widths = []
    for error in (0.05, 0.005):
        low, high = confidence_interval(values, error) or (0.0, math.inf)
        widths.append(high - low)
    assert widths[1] > widths[0] > 0


def test_the_interval_is_where_the_wealth_reaches_its_limit() -> None:
    """By the formula itself: at either end the e-process has 1 / error."""
    values, error, prior = [0.1, 0.14, 0.08, 0.12, 0.11], 0.05, 0.1
    for end in confidence_interval(values, error) or ():
        moved = [value - end for value in values]
        total, squares, count = sum(moved), sum(value**2 for value in moved), len(moved)
        wealth = math.sqrt(prior / (count + prior)) * (squares / (squares - total**2 / (count + prior))) ** (count / 2)
        assert wealth == pytest.approx(1 / error, rel=1e-9)
