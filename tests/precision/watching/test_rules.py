"""Updates are judged by their own size: a weight near zero makes any ratio of them."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_workbook.precision.child.watch_rules import Rules


def see_updates(sizes: list[float], weights: list[float], rate: float = 0.1) -> list[dict[str, Any]]:
    """Alarms of a parameter whose updates have these sizes while its weight has those."""
    rules = Rules(["bias"])
    records = [
        {"step": step, "lr": rate, "updates": [[0, size / weight, weight, True]]}
        for step, (size, weight) in enumerate(zip(sizes, weights), 1)
    ]
    return [alarm for record in records for alarm in rules.see(record)]


def test_a_weight_that_crosses_zero_is_no_alarm() -> None:
    weights = [0.5, 0.2, 0.01, 0.0005, 0.03, 0.004, 0.2]
    assert see_updates([0.05, 0.06, 0.05, 0.04, 0.05, 0.06, 0.05], weights) == []


@pytest.mark.parametrize(("factor", "weight"), [(25.0, 1.0), (4.0, 0.1)])
def test_an_update_far_above_its_usual_size_is_told_once(factor: float, weight: float) -> None:
    """20 times the usual size; or as large as its weight, and 3 times the usual."""
    (alarm,) = see_updates([0.05] * 6 + [0.05 * factor, 0.05], [weight] * 8)
    assert alarm["kind"] == "large" and alarm["step"] == 7 and alarm["names"] == ["bias"]
    assert alarm["value"] == pytest.approx(0.05 * factor / weight) and alarm["level"] == pytest.approx(0.05 / weight)


def see_gradients(missing: dict[str, set[int]], steps: int = 40) -> list[tuple[int, tuple[str, ...]]]:
    """Step and parameters of each alarm, where gradients of two layers and a scale are missing at these steps."""
    names = ["first.weight", "first.bias", "second.weight", "second.bias", "scale"]
    rules = Rules(names, [64, 8, 64, 8, 8])
    told = []
    for step in range(1, steps + 1):
        gradients = [None if step in missing.get(name, ()) else 1.0 for name in names]
        told += rules.see({"step": step, "loss": 1.0, "gradients": gradients})
    assert {alarm["key"] for alarm in told} <= {"gone"}
    return [(alarm["step"], tuple(alarm["names"])) for alarm in told]


def test_a_layer_that_is_left_out_now_and_then_is_not_gone() -> None:
    """Depth that is drawn leaves out a whole module; what stays away is gone, from its first step on."""
    layer = {name: {20, 21, 30} for name in ("first.weight", "first.bias")}
    assert see_gradients(layer) == []
    cut = {name: set(range(25, 99)) for name in ("second.weight", "second.bias")}
    assert see_gradients({**layer, **cut}) == [(25, ("second.weight", "second.bias"))]


@pytest.mark.parametrize("name", ["first.weight", "scale"])
def test_one_parameter_alone_is_gone_at_once(name: str) -> None:
    assert see_gradients({name: {22}}) == [(22, (name,))]


def see_llama(missing: dict[str, set[int]]) -> list[tuple[int, tuple[str, ...]]]:
    """Step and parameters of each alarm of blocks of modules that have one parameter each."""
    names = [f"layers.{layer}.{part}.weight" for layer in (0, 1) for part in ("q", "k", "norm")] + ["head.weight"]
    rules = Rules(names, [64] * len(names))
    told = []
    for step in range(1, 40):
        gradients = [None if step in missing.get(name, ()) else 1.0 for name in names]
        told += rules.see({"step": step, "loss": 1.0, "gradients": gradients})
    assert {alarm["key"] for alarm in told} <= {"gone"}
    return [(alarm["step"], tuple(alarm["names"])) for alarm in told]


def test_a_block_of_modules_with_one_parameter_each_is_left_out_too() -> None:
    block = [f"layers.0.{part}.weight" for part in ("q", "k", "norm")]
    assert see_llama({name: {22} for name in block}) == []
    assert see_llama({name: set(range(22, 99)) for name in block}) == [(22, tuple(block))]
    assert see_llama({block[0]: {22}}) == [(22, (block[0],))]
    assert see_llama({"head.weight": {22}}) == [(22, ("head.weight",))]


def test_what_is_gone_late_and_at_once_is_told_each_with_its_own_first_step() -> None:
    block = [f"layers.0.{part}.weight" for part in ("q", "k", "norm")]
    cut = {name: set(range(22, 99)) for name in block}
    assert see_llama({**cut, "layers.1.q.weight": {25}}) == [(22, tuple(block)), (25, ("layers.1.q.weight",))]
