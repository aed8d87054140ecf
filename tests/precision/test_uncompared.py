"""The optimizer's update, judged by what the next step reads and by how much its gradients differed already."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ascend_workbook.precision.comparison import Comparison
from ascend_workbook.precision.record import BACKWARD, FORWARD
from ascend_workbook.precision.rules.uncompared import check_update as check


def judged(direction: str, error_in: float, error_out: float | None) -> Any:
    target = SimpleNamespace(direction=direction)
    agreement = SimpleNamespace(pair=SimpleNamespace(target=target), error_in=error_in, error_out=error_out)
    return SimpleNamespace(agreement=agreement, name="Functional.conv2d.0.forward")


def facts(gradients: list[float | None], after: float) -> Comparison:
    steps = [
        SimpleNamespace(step=step, rank=0, judged=[judged(FORWARD, error, error), *backward])
        for step, error, backward in ((0, 0.0, [judged(BACKWARD, 0.0, one) for one in gradients]), (1, after, []))
    ]
    return cast(Comparison, SimpleNamespace(stopped=False, bare=False, first=None, steps=steps, states=()))


@pytest.mark.parametrize(
    ("gradients", "after", "key"),
    [
        ([1e-6, 2e-6, None], 5e-5, None),  # rounding
        ([1e-6, 2e-6, 3.0], 1e-3, "ACC235.parted"),  # one gradient of nothing excuses no update
        ([5e-2, 4e-2, 9e-2], 7e-3, "ACC235.explained"),  # HF32 through many layers
        ([5e-2, 4e-2, 9e-2], 6e-2, "ACC235.parted"),
        ([float("inf"), 1e-6], 1e-3, "ACC235.parted"),
        ([], 1e-3, "ACC235.parted"),
    ],
)
def test_weights_may_differ_as_their_gradients_do(gradients: list[float | None], after: float, key: str | None) -> None:
    told = list(check(facts(gradients, after)))
    assert [one.key for one in told] == ([key] if key else [])
    assert all("conv2d" in one.message("en") and one.hint("zh") for one in told)
