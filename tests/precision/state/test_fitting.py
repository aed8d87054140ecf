"""Which rule made an update: torch's own is known as such, and each departure by its name."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from ascend_workbook.precision.state.fitting import fit_update
from ascend_workbook.precision.state.reading import Update

SIZE = 32


def pack(values: Any) -> list[Any]:
    numbers = np.concatenate([values, values]).astype("<f4")
    norm, largest = float(np.linalg.norm(values)), float(np.abs(values).max())
    return ["float32", [SIZE], norm, largest, base64.b64encode(numbers.tobytes()).decode()]


def adam(change: str = "", step: int = 3) -> Update:
    """One update of AdamW from known moments, in float64."""
    draw = np.random.default_rng(0)
    weight, gradient, first = draw.normal(size=SIZE), 1e-3 * draw.normal(size=SIZE), 1e-3 * draw.normal(size=SIZE)
    second, rate, beta1, beta2, eps, decay = 1e-6 * draw.random(SIZE), 1e-2, 0.9, 0.99, 1e-8, 0.1
    new_first = beta1 * first + (1 - beta1) * (gradient + (decay * weight if change == "decay coupled" else 0))
    used = gradient + (decay * weight if change == "decay coupled" else 0)
    new_second = beta2 * second + (1 - beta2) * used**2
    corrections = (1.0, 1.0) if change == "no bias correction" else (1 - beta1**step, 1 - beta2**step)
    root = np.sqrt(new_second / corrections[1])
    divisor = np.sqrt(new_second / corrections[1] + eps) if change == "eps inside the root" else root + eps
    update = -rate * new_first / corrections[0] / divisor
    if change != "decay coupled":
        update = update - rate * decay * weight
    group = {"lr": rate, "betas": [beta1, beta2], "eps": eps, "weight_decay": decay, "names": ["w"]}
    states = {"exp_avg": (first, new_first), "exp_avg_sq": (second, new_second)}
    before, after = ({name: pack(pair[at]) for name, pair in states.items()} for at in (0, 1))
    raw: dict[str, Any] = {"class": "AdamW", "place": "train.py:1", "backwards": 1, "groups": [group]}
    raw.update(gradient={"w": pack(gradient)}, weight={"w": pack(weight)}, update={"w": pack(update)})
    return Update({**raw, "before": {"w": {**before, "step": step - 1}}, "state": {"w": {**after, "step": step}}})


@pytest.mark.parametrize("change", ["", "eps inside the root", "no bias correction", "decay coupled"])
def test_a_rule_is_known_by_what_it_made(change: str) -> None:
    fit = fit_update(adam(change), 0)
    assert fit.known and fit.rules[0] == (frozenset({change}) if change else frozenset())


def test_what_no_rule_made_is_not_named() -> None:
    update = adam()
    update.updates["w"].sample[:] = np.random.default_rng(1).normal(size=SIZE)
    assert not fit_update(update, 0).known
