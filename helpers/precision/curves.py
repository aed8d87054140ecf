"""`curves`: the losses of two runs side by side, and the first step at which they part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.launch import RunLog, Step, together
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

COLUMNS = ("step", "loss_baseline", "loss_target", "absolute_error", "relative_error", "lr", "grad_norm_baseline",
           "grad_norm_target")  # fmt: skip
#: Relative difference of losses. Before the first update only the forward pass stands behind it, and a difference
#: is an error; later, training amplifies honest rounding. Measured on CPU kernels, a small residual network: one
#: thread against two part by 2e-3 at step 8 and by 3e-2 at step 10, convolutions in HF32 by 3e-3 at step 3.
TOLERANCE = 1e-3


def curves(baseline: str | Path, target: str | Path, *, tolerance: float = TOLERANCE) -> Report:
    """Compares two gpulog.json (or folders that hold one) step by step, by relative difference of the loss.

    Raises WorkbookError where a log cannot be read, or has no loss to compare.
    """
    if not tolerance >= 0:
        raise WorkbookError("precision.tolerance", given=tolerance)
    left, right = (_load(Path(place)) for place in (baseline, target))
    pairs = list(zip(left.steps, right.steps))
    if not any(a.loss is not None and b.loss is not None for a, b in pairs):
        raise WorkbookError("precision.no_losses", baseline=str(left.path), target=str(right.path))
    rows = tuple(_row(a, b) for a, b in pairs)
    table = Table(tuple(map(Column, COLUMNS)), rows)
    first = _first(pairs, tolerance)
    findings = [_verdict(pairs, first, tolerance), *_odd(left, right)]
    return Report("precision", "curves", tuple(findings), table,
                  Chart("lines", "step", ("loss_baseline", "loss_target"), mark=first.step if first else None),
                  facts={"baseline": str(left.path), "target": str(right.path), "tolerance": tolerance,
                         "tiers": [str(left.meta.get("tier", "")), str(right.meta.get("tier", ""))],
                         "simulator": together((left.meta, right.meta))},
                  tier=str(right.meta.get("tier", "")))  # fmt: skip


def _load(place: Path) -> RunLog:
    path = place / "gpulog.json" if place.is_dir() else place
    if not path.is_file():
        raise WorkbookError("precision.no_log", path=str(path))
    return RunLog.load(path)


def _row(a: Step, b: Step) -> tuple[Scalar, ...]:
    absolute, relative = _apart(a.loss, b.loss)
    numbers = (a.loss, b.loss, absolute, relative, b.lr, a.grad_norm, b.grad_norm)
    return (a.step, *(value if value is None or math.isfinite(value) else str(value) for value in numbers))


def _apart(a: float | None, b: float | None) -> tuple[float | None, float | None]:
    """Absolute and relative difference; two equal infinities or two NaN do not differ."""
    if a is None or b is None:
        return None, None
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0, 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf, math.inf
    return abs(b - a), abs(b - a) / abs(a) if a else math.inf


def _first(pairs: Sequence[tuple[Step, Step]], tolerance: float) -> Step | None:
    for a, b in pairs:
        relative = _apart(a.loss, b.loss)[1]
        if relative is not None and relative > tolerance:
            return a
    return None


def _verdict(pairs: Sequence[tuple[Step, Step]], first: Step | None, tolerance: float) -> Finding:
    apart = [relative for a, b in pairs if (relative := _apart(a.loss, b.loss)[1]) is not None]
    args: dict[str, Scalar] = {"steps": len(apart), "worst": max(apart), "tolerance": tolerance}
    if first is None:
        return Finding("ACC250", Status.OK, "ACC250.together", args, weight=80)
    a, b = next((a, b) for a, b in pairs if a.step == first.step)
    args.update(step=first.step, baseline=a.loss, target=b.loss)
    if first.step == 1:
        return Finding("ACC250", Status.FAIL, "ACC250.at_once", args, weight=80)
    return Finding("ACC250", Status.WARN, "ACC250.apart", args, weight=80)


def _odd(left: RunLog, right: RunLog) -> list[Finding]:
    """What makes the comparison smaller than it looks: other lengths, runs that did not end well, NaN."""
    found = []
    if len(left.steps) != len(right.steps):
        args: dict[str, Scalar] = {"baseline": len(left.steps), "target": len(right.steps)}
        found.append(Finding("ACC251", Status.WARN, "ACC251.lengths", args))
    for log in (left, right):
        if not log.complete:
            found.append(Finding("ACC251", Status.FAIL, "ACC251.unfinished",
                                 {"path": str(log.path), "status": log.status}, weight=200))  # fmt: skip
        odd = [step.step for step in log.steps if step.loss is not None and not math.isfinite(step.loss)]
        if odd:
            where: dict[str, Scalar] = {"path": str(log.path), "step": odd[0]}
            found.append(Finding("ACC251", Status.FAIL, "ACC251.nan", where, weight=150))
    return found
