"""Mixed precision: which autocast was entered, in which dtype, and how a GradScaler began."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from helpers.precision.experiment.discrepancy import Discrepancy
from helpers.precision.experiment.told import part, same


def look(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    if part(left, "autocast") is None or part(right, "autocast") is None:
        return
    one, other = (sorted(dtype for enabled, dtype in part(side, "autocast") if enabled) for side in (left, right))
    if one != other:
        yield Discrepancy("autocast", "-", one or "off", other or "off")
    scalers = [_scaler(part(side, "scaler") or {}) for side in (left, right)]
    if bool(scalers[0]) != bool(scalers[1]):
        yield Discrepancy("scaler", "enabled", bool(scalers[0]), bool(scalers[1]))
        return
    for name in scalers[0]:
        if name in scalers[1] and not same(scalers[0][name], scalers[1][name]):
            yield Discrepancy("scaler", name, scalers[0][name], scalers[1][name])


def _scaler(told: Mapping[str, Any]) -> dict[str, Any]:
    """Empty for one that is turned off."""
    return dict(told) if told.get("enabled") else {}
