"""Recorded steps of several ranks as the plugin writes them, from arrays given by a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_workbook.precision.child import shards, sketch
from ascend_workbook.precision.state.reading import States, Step

Arrays = Mapping[str, Any]


def pack(values: Any, parts: list[Any] | None = None) -> list[Any]:
    """A whole tensor, or one that may be a part."""
    array = np.asarray(values, dtype=np.float64)
    text = shards.pack_at(sketch, array.reshape(-1), np.arange(array.size), array.size)  # type: ignore[arg-type]
    packed = ["float32", list(array.shape), float(np.linalg.norm(array)), float(np.abs(array).max()), text]
    return [*packed, parts] if parts else packed


def part(name: str, whole: tuple[int, ...], at: tuple[int, ...], values: Any) -> list[Any]:
    """A possible part of a whole tensor, as Shards tells it."""
    array = np.asarray(values, dtype=np.float64)
    teller = shards.Shards(None, sketch)  # type: ignore[arg-type]
    return teller._pack(name, list(whole), list(at), array.reshape(-1), array.shape)


def record(ranks: list[dict[str, list[Any]]], gradients: list[dict[str, list[Any]]] | None = None) -> States:
    """One step of each rank: weights, and gradients as the optimizer reads them."""
    steps = {}
    for rank, weights in enumerate(ranks):
        read = (gradients or ranks)[rank]
        update = {
            "class": "SGD",
            "place": "/x/train.py:9",
            "module": "torch.optim.sgd",
            "groups": [{"lr": 0.1, "names": list(weights)}],
            "backwards": 1,
            "gradient": read,
            "weight": weights,
            "before": {name: {} for name in weights},
            "update": read,
            "state": {name: {} for name in weights},
        }
        raw = {"step": 0, "backwards": 1, "gradients": [read], "unscales": [], "clips": [], "updates": [update]}
        steps[rank] = {0: Step({**raw, "recomputes": [], "scale": None})}
    return States(steps)
