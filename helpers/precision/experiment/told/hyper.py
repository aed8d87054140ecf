"""Hyper-parameters: optimizers and their groups at the first update, the course of the learning rate, the loss."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from helpers.precision.experiment.discrepancy import Discrepancy
from helpers.precision.experiment.told import part, same

#: How an update is computed, not which; `initial_lr` is a scheduler's copy of lr.
IMPLEMENTATION = ("foreach", "fused", "capturable", "differentiable", "initial_lr")
FUSED = re.compile(r"^(Npu)?Fused")
LOSS = re.compile(r"Loss|CrossEntropy|KlDiv|Mse")
#: Its learning rates follow from losses, and so from what is to be compared.
FOLLOWS = "ReduceLROnPlateau"


def look(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    found = [*_optimizers(part(left, "optimizers") or [], part(right, "optimizers") or [])]
    yield from found
    schedulers = part(left, "schedulers") or [], part(right, "schedulers") or []
    yield from _schedulers(*schedulers)
    if not found and not any(one["class"] == FOLLOWS for one in schedulers[0]):
        yield from _rates(part(left, "rates") or {}, part(right, "rates") or {})
    one, other = part(left, "loss"), part(right, "loss")
    if one and other and one != other:
        yield Discrepancy("loss", "-", one, other, decides=bool(LOSS.search(one) and LOSS.search(other)))


def _optimizers(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Iterator[Discrepancy]:
    if left and right and len(left) != len(right):
        yield Discrepancy("optimizer", "-", [one["class"] for one in left], [one["class"] for one in right])
        return
    for at, (one, other) in enumerate(zip(left, right)):
        name = f"{at} {one['class']}"
        if FUSED.sub("", one["class"]) != FUSED.sub("", other["class"]):
            yield Discrepancy("optimizer", name, one["class"], other["class"])
        elif one["class"] != other["class"]:
            yield Discrepancy("optimizer_form", name, one["class"], other["class"], decides=False)
        yield from _groups(name, one["groups"], other["groups"])


def _groups(name: str, left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Iterator[Discrepancy]:
    if len(left) != len(right):
        yield Discrepancy("hyper", f"{name}: groups", len(left), len(right))
        return
    for at, (one, other) in enumerate(zip(left, right)):
        for key in one:
            if key in other and not same(one[key], other[key]):
                decides = key not in IMPLEMENTATION
                fact = "hyper" if decides else "optimizer_form"
                yield Discrepancy(fact, f"{name}: group {at} {key}", one[key], other[key], decides=decides)


def _schedulers(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Iterator[Discrepancy]:
    if len(left) != len(right) or any(one["class"] != other["class"] for one, other in zip(left, right)):
        names = [[one["class"] for one in side] or "-" for side in (left, right)]
        yield Discrepancy("schedule", "-", names[0], names[1])
        return
    for one, other in zip(left, right):
        for key in one:
            if key in other and not same(one[key], other[key]):
                yield Discrepancy("schedule", f"{one['class']}.{key}", one[key], other[key])


def _rates(left: dict[str, list[Any]], right: dict[str, list[Any]]) -> Iterator[Discrepancy]:
    steps = sorted((step for step in left.keys() & right.keys() if step.isdigit()), key=int)
    first = next((step for step in steps if not same(left[step], right[step])), None)
    if first is not None:
        yield Discrepancy("rate", first, left[first], right[first])
