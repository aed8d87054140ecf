"""Speed and final numbers of a run that nothing was dumped of."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.launch import LaunchResult, Step
from ascend_workbook.precision.curves.names import GRAD_NORM, LOSS, LOSS_SCALE, LR
from ascend_workbook.precision.curves.readers import read
from ascend_workbook.precision.curves.targets import final_value

#: Timed steps below this say nothing of their spread.
FEWEST = 3
MOST_METRICS = 20


def measure_throughput(steps: Sequence[Step], warmup: int, samples: int | None = None) -> dict[str, Any] | None:
    """Steps (and samples, where one step has so many) in a second; None where fewer than FEWEST steps are left behind
    the warm-up. `low` and `high` are the slowest and the fastest tenth's bound."""
    rates = sorted(1.0 / step.time_s for step in steps[warmup:] if step.time_s > 0)
    if len(rates) < FEWEST:
        return None
    low, high = (rates[round(share * (len(rates) - 1))] for share in (0.1, 0.9))
    rate: dict[str, Any] = {
        "unit": "steps/s",
        "median": statistics.median(rates),
        "low": low,
        "high": high,
        "count": len(rates),
        "warmup": warmup,
    }
    if samples:
        rate.update(samples_per_step=samples, samples_per_s=samples * rate["median"])
    return rate


def read_memory(folder: Path) -> dict[str, float]:
    """Return the largest memory over all ranks, MiB by kind; empty where no rank wrote any."""
    largest: dict[str, float] = {}
    for path in sorted(folder.glob("memory.rank*.json")):
        for name, value in json.loads(path.read_text(encoding="utf-8")).items():
            if name.endswith("_mib"):
                largest[name] = max(largest.get(name, 0.0), float(value))
    return largest


def read_metrics(result: LaunchResult) -> dict[str, dict[str, Any]]:
    """Return the last value of every number that the script printed beside loss, rate and norm. `ended` says whether
    the script came to its own end; else the value is that of the last step that ran."""
    try:
        curve = read(result.output_path)
    except WorkbookError as silent:
        if silent.key not in ("curves.empty", "curves.no_numbers"):
            raise
        return {}  # it printed nothing
    values: dict[str, dict[str, Any]] = {}
    for name in sorted(curve.series)[:MOST_METRICS]:
        last = None if name in (LOSS, LR, GRAD_NORM, LOSS_SCALE) else final_value(curve, name)
        if last and math.isfinite(last[1]):
            values[name] = {"value": last[1], "step": last[0], "ended": result.outcome == "finished"}
    return values


def compare_losses(first: Sequence[float | None], second: Sequence[float | None]) -> float | None:
    """Return the largest relative difference of two runs' losses over the steps that both have; None where there is
    none.
    """
    pairs = [(a, b) for a, b in zip(first, second) if a is not None and b is not None]
    differences = [abs(a - b) / (max(abs(a), abs(b)) or 1.0) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    return max(differences, default=None)
