"""Speed and final numbers of a run that nothing was dumped of."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.launch import LaunchResult, Step
from helpers.precision.curves.names import GRAD_NORM, LOSS, LOSS_SCALE, LR
from helpers.precision.curves.readers import read
from helpers.precision.curves.targets import final

#: Timed steps below this say nothing of their spread.
FEWEST = 3
MOST_METRICS = 20


def throughput(steps: Sequence[Step], warmup: int, samples: int | None = None) -> dict[str, Any] | None:
    """Steps (and samples, where one step has so many) in a second; None where fewer than FEWEST steps are left behind
    the warm-up. `low` and `high` are the slowest and the fastest tenth's bound."""
    rates = sorted(1.0 / step.time_s for step in steps[warmup:] if step.time_s > 0)
    if len(rates) < FEWEST:
        return None
    low, high = (rates[round(share * (len(rates) - 1))] for share in (0.1, 0.9))
    told: dict[str, Any] = {"unit": "steps/s", "median": statistics.median(rates), "low": low, "high": high,
                            "count": len(rates), "warmup": warmup}  # fmt: skip
    if samples:
        told.update(samples_per_step=samples, samples_per_s=samples * told["median"])
    return told


def memory(folder: Path) -> dict[str, float]:
    """The largest over all ranks, MiB by kind; empty where no rank wrote any."""
    found: dict[str, float] = {}
    for path in sorted(folder.glob("memory.rank*.json")):
        for name, value in json.loads(path.read_text(encoding="utf-8")).items():
            if name.endswith("_mib"):
                found[name] = max(found.get(name, 0.0), float(value))
    return found


def metrics(result: LaunchResult) -> dict[str, dict[str, Any]]:
    """The last value of every number that the script printed beside loss, rate and norm: accuracy, validation loss.
    `ended` says whether the script came to its own end; else the value is that of the last step that ran."""
    try:
        curve = read(result.output_path)
    except WorkbookError as silent:
        if silent.key not in ("curves.empty", "curves.no_numbers"):
            raise
        return {}  # it printed nothing
    found: dict[str, dict[str, Any]] = {}
    for name in sorted(curve.series)[:MOST_METRICS]:
        last = None if name in (LOSS, LR, GRAD_NORM, LOSS_SCALE) else final(curve, name)
        if last and math.isfinite(last[1]):
            found[name] = {"value": last[1], "step": last[0], "ended": result.outcome == "finished"}
    return found


def apart(first: Sequence[float | None], second: Sequence[float | None]) -> float | None:
    """The largest relative difference of two runs' losses over the steps that both have; None where there is none."""
    pairs = [(a, b) for a, b in zip(first, second) if a is not None and b is not None]
    found = [abs(a - b) / (max(abs(a), abs(b)) or 1.0) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    return max(found, default=None)
