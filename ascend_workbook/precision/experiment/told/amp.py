"""Mixed precision: which autocast was entered, in which dtype, and how a GradScaler began."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascend_workbook.precision.experiment.discrepancy import Discrepancy
from ascend_workbook.precision.experiment.told import experiment_part, same_values


def compare_amp(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    if experiment_part(left, "autocast") is None or experiment_part(right, "autocast") is None:
        return
    left_dtypes, other = (
        sorted(dtype for enabled, dtype in experiment_part(side, "autocast") if enabled) for side in (left, right)
    )
    if left_dtypes != other:
        yield Discrepancy("autocast", "-", left_dtypes or "off", other or "off")
    scalers = [_enabled_scaler(experiment_part(side, "scaler") or {}) for side in (left, right)]
    if bool(scalers[0]) != bool(scalers[1]):
        yield Discrepancy("scaler", "enabled", bool(scalers[0]), bool(scalers[1]))
        return
    for name in scalers[0]:
        if name in scalers[1] and not same_values(scalers[0][name], scalers[1][name]):
            yield Discrepancy("scaler", name, scalers[0][name], scalers[1][name])


def _enabled_scaler(scaler: Mapping[str, Any]) -> dict[str, Any]:
    """Empty for one that is turned off."""
    return dict(scaler) if scaler.get("enabled") else {}
