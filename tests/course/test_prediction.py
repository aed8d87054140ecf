"""A prediction is told as made or not, as right or not; nothing is raised."""

from __future__ import annotations

import pytest

from course.lessons.prediction import predicted


@pytest.mark.parametrize("guess", ["", 0, None])
def test_no_prediction(guess: object) -> None:
    assert "not yet" in predicted("places", guess, 8, "en") and "未完成" in predicted("places", guess, 8, "zh")


@pytest.mark.parametrize(("guess", "seen"), [(8, 8), ("8", 8), (" CANN ", "cann")])
def test_a_prediction_that_holds(guess: object, seen: object) -> None:
    assert "right" in predicted("x", guess, seen, "en") and "正确" in predicted("x", guess, seen, "zh")


def test_a_prediction_that_fails_shows_both() -> None:
    told = predicted("places", 3, 8, "en")
    assert "right" not in told and "predicted 3" in told and "seen: 8" in told
