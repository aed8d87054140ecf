"""Hyper-parameters: optimizers and their groups at the first update, the course of the learning rate, the loss."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ascend_workbook.precision.experiment.discrepancy import Discrepancy
from ascend_workbook.precision.experiment.told import experiment_part, same_values

#: How an update is computed, not which; `initial_lr` is a scheduler's copy of lr.
IMPLEMENTATION = ("foreach", "fused", "capturable", "differentiable", "initial_lr")
FUSED = re.compile(r"^(Npu)?Fused")
LOSS = re.compile(r"Loss|CrossEntropy|KlDiv|Mse")
#: Its learning rates follow from losses, and so from what is to be compared.
FOLLOWS = "ReduceLROnPlateau"


def compare_hyperparameters(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    discrepancies = [
        *_compare_optimizers(experiment_part(left, "optimizers") or [], experiment_part(right, "optimizers") or [])
    ]
    yield from discrepancies
    schedulers = experiment_part(left, "schedulers") or [], experiment_part(right, "schedulers") or []
    yield from _compare_schedulers(*schedulers)
    if not discrepancies and not any(scheduler["class"] == FOLLOWS for scheduler in schedulers[0]):
        yield from _compare_rates(experiment_part(left, "rates") or {}, experiment_part(right, "rates") or {})
    scheduler, other = experiment_part(left, "loss"), experiment_part(right, "loss")
    if scheduler and other and scheduler != other:
        yield Discrepancy("loss", "-", scheduler, other, decides=bool(LOSS.search(scheduler) and LOSS.search(other)))


def _compare_optimizers(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Iterator[Discrepancy]:
    if left and right and len(left) != len(right):
        yield Discrepancy(
            "optimizer", "-", [optimizer["class"] for optimizer in left], [optimizer["class"] for optimizer in right]
        )
        return
    for at, (optimizer, other) in enumerate(zip(left, right)):
        name = f"{at} {optimizer['class']}"
        if FUSED.sub("", optimizer["class"]) != FUSED.sub("", other["class"]):
            yield Discrepancy("optimizer", name, optimizer["class"], other["class"])
        elif optimizer["class"] != other["class"]:
            yield Discrepancy("optimizer_form", name, optimizer["class"], other["class"], decides=False)
        yield from _compare_groups(name, optimizer["groups"], other["groups"])


def _compare_groups(name: str, left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Iterator[Discrepancy]:
    if len(left) != len(right):
        yield Discrepancy("hyper", f"{name}: groups", len(left), len(right))
        return
    for at, (group, other) in enumerate(zip(left, right)):
        for key in group:
            if key in other and not same_values(group[key], other[key]):
                decides = key not in IMPLEMENTATION
                fact = "hyper" if decides else "optimizer_form"
                yield Discrepancy(fact, f"{name}: group {at} {key}", group[key], other[key], decides=decides)


def _compare_schedulers(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Iterator[Discrepancy]:
    if len(left) != len(right) or any(scheduler["class"] != other["class"] for scheduler, other in zip(left, right)):
        names = [[scheduler["class"] for scheduler in side] or "-" for side in (left, right)]
        yield Discrepancy("schedule", "-", names[0], names[1])
        return
    for scheduler, other in zip(left, right):
        for key in scheduler:
            if key in other and not same_values(scheduler[key], other[key]):
                yield Discrepancy("schedule", f"{scheduler['class']}.{key}", scheduler[key], other[key])


def _compare_rates(left: dict[str, list[Any]], right: dict[str, list[Any]]) -> Iterator[Discrepancy]:
    steps = sorted((step for step in left.keys() & right.keys() if step.isdigit()), key=int)
    first = next((step for step in steps if not same_values(left[step], right[step])), None)
    if first is not None:
        yield Discrepancy("rate", first, left[first], right[first])
