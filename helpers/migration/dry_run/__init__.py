"""`dry_run`: the original on the baseline and the migrated script on the NPU, N steps each, losses side by side."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers import device as devices
from helpers.device import Device
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.launch import LaunchResult, Plugin
from helpers.migration.beside import beside
from helpers.migration.dry_run import memory, random_draws, warned
from helpers.migration.dry_run.failed import troubles
from helpers.migration.dry_run.losses import FAR, LOSS_DIGITS, TOLERANCE, LossPair, drifts, narrowest, pair, worst
from helpers.migration.dry_run.original import prepare
from helpers.migration.dry_run.reasons import fallbacks
from helpers.migration.dry_run.sides import CHILD, Plan, Told, folder, run_side, touched
from helpers.migration.rewrite.work import INJECT, MODES
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

WEIGHT = 1000.0
SEED = 1234
LOSSES = ("baseline_loss", "target_loss")
COLUMNS = (Column("step"), *(Column(name, digits=LOSS_DIGITS) for name in LOSSES), Column("relative_error"))


def dry_run(
    script: str | Path,
    args: Sequence[str] = (),
    device: str = "auto",
    steps: int = 5,
    *,
    out: str | Path | None = None,
    baseline: str = "auto",
    nproc: int = 1,
    meta: bool = False,
    seed: int = SEED,
    mode: str = INJECT,
    python: str = sys.executable,
    timeout_s: float | None = None,
    loss_regex: str | None = None,
    on_progress: Told | None = None,
) -> Report:
    """Runs both sides for `steps` steps, each in a mirror of the script's folder, and compares the losses.

    `script` may be a launch command (`"torchrun --nproc_per_node=2 train.py --epochs 1"`), a shell script with one, or
    a notebook. `out` keeps logs, outputs and the migrated script (default: a temporary folder, removed unless a side
    failed: then the finding names its log). `mode` is how `rewrite` migrates; "explicit" makes devices and backends
    among `args` the NPU's there. `baseline` is auto, cuda or cpu. `meta` takes one step on tensors without values
    instead, for a model that is too large for this machine: see helpers.migration.dry_run.meta_pass.
    `on_progress(side, progress)` is told of steps, side being "baseline" or "target". A script that fails is a FAIL
    finding; WorkbookError is raised where nothing could be launched.
    """
    if mode not in MODES:
        raise WorkbookError("migration.mode", mode=mode, modes=list(MODES))
    if meta:
        from helpers.migration.dry_run.meta_pass import meta_pass

        return meta_pass(script, args, nproc, out=out, seed=seed, python=python, timeout_s=timeout_s, mode=mode)
    original = prepare(script, args, nproc)
    target, base = devices.find(device, python=python), devices.baseline(baseline, python=python)
    with folder(out, "dry-run-") as made:
        limit = memory.limit_mib(original.nproc)
        plan = Plan(original, made, steps, seed, python, timeout_s, loss_regex, limit, mode)
        before = run_side(plan, "baseline", base, on_progress, _plugins(plan, base))
        after = None
        if before.ok and target.accelerator == "npu":
            after = run_side(plan, "target", target, on_progress, _plugins(plan, target))
        report = _report(plan, base, target, before, after)
        if out is None and all(result.ok for result in (before, after) if result):
            shutil.rmtree(made, ignore_errors=True)
        return report


def _plugins(plan: Plan, where: Device) -> tuple[Plugin, ...]:
    watch = {"limit_mib": plan.limit_mib, "device": where.accelerator}
    device = {"device": where.accelerator}
    return (
        Plugin(CHILD / "number_types.py"),
        Plugin(CHILD / "memory_watch.py", watch),
        Plugin(CHILD / "random_watch.py", device),
    )


def _report(plan: Plan, base: Device, target: Device, before: LaunchResult, after: LaunchResult | None) -> Report:
    pairs = pair(before.losses, after.losses if after else [])
    dtype = narrowest(_low_precision(before) | (_low_precision(after) if after else set()))
    findings = [*troubles(plan, before, after), *plan.original.findings, *touched(plan)]
    if after is None and before.ok:
        findings.append(Finding("MIG140", Status.SKIPPED, "MIG140.not_run", {"tier": target.tier}, weight=WEIGHT))
    if after is not None and after.ok:
        findings += [*_verdict(plan, pairs, dtype, base, after), *_uncompared(pairs)]
        findings += [*_step_counts(before, after), *_off_npu(after)]
        findings += [*_ranks(before, after, dtype), *_device_findings(target, after)]
    findings += [*warned.findings(before, after), *memory.findings(before, after)]
    rows = tuple((entry.step, entry.baseline, entry.target, entry.error) for entry in pairs)
    chart = Chart("lines", "step", LOSSES) if after is not None and after.ok else None
    facts = _facts(plan, base, target, before, after, dtype)
    tier = target.tier if after is not None else base.tier
    parts = (*beside(one for one in findings if one.weight < WEIGHT), *warned.listed(before, after))
    table = Table(COLUMNS, rows)
    return Report("migration", "dry_run", tuple(findings), table, chart, facts=facts, tier=tier, parts=parts)


def _verdict(plan: Plan, pairs: list[LossPair], dtype: str, base: Device, after: LaunchResult) -> list[Finding]:
    """Where the device drew at random and losses are not the very same, they prove less: that is then the verdict."""
    judged = _judged(pairs, dtype, base)
    far = worst(pairs)
    drawn = random_draws.finding(plan, pairs, after, far is not None and (far.error or 0.0) > TOLERANCE[dtype])
    if drawn is not None and drawn.status is not Status.OK:
        return [drawn]
    return [judged, *([drawn] if drawn is not None else [])]


def _judged(pairs: list[LossPair], dtype: str, base: Device) -> Finding:
    """The verdict: the worst step against the tolerance of the narrowest type."""
    far = worst(pairs)
    if far is None or far.error is None:
        if any(entry.both_broken for entry in pairs):
            return Finding("MIG140", Status.WARN, "MIG140.not_finite", {"steps": len(pairs)}, weight=WEIGHT)
        return Finding("MIG140", Status.SKIPPED, "MIG140.no_loss", {"steps": len(pairs)}, weight=WEIGHT)
    allowed = TOLERANCE[dtype]
    status = Status.OK if far.error <= allowed else Status.WARN if far.error <= FAR * allowed else Status.FAIL
    args: dict[str, Scalar] = {
        "steps": sum(entry.error is not None for entry in pairs),
        "worst": f"{far.error:.2g}",
        "step": far.step,
        "tolerance": f"{allowed:g}",
        "dtype": dtype,
        "baseline": {"say": "migration.standing_in" if base.tier == "cpu" else "migration.on_cuda"},
    }
    outcome = "within" if status is Status.OK else "drift" if drifts(pairs, allowed) else "beyond"
    return Finding(
        "MIG140", status, f"MIG140.{outcome}", {**args, "first": f"{pairs[0].error or 0.0:.2g}"}, weight=WEIGHT
    )


def _uncompared(pairs: list[LossPair]) -> list[Finding]:
    """Beside a verdict on some steps: how many it does not speak of."""
    compared = sum(entry.error is not None for entry in pairs)
    broken = [entry.step for entry in pairs if entry.both_broken]
    args: dict[str, Scalar] = {"compared": compared, "steps": len(pairs)}
    if compared and broken:
        return [Finding("MIG140", Status.WARN, "MIG140.partly_finite", {**args, "first": broken[0]})]
    if compared and any(entry.baseline is None and entry.target is None for entry in pairs):
        return [Finding("MIG140", Status.NOTE, "MIG140.partly_seen", args)]
    return []


def _step_counts(before: LaunchResult, after: LaunchResult) -> list[Finding]:
    left, right = len(before.losses), len(after.losses)
    if left == right:
        return []
    return [Finding("MIG140", Status.FAIL, "MIG140.steps_differ", {"baseline": left, "target": right})]


def _off_npu(after: LaunchResult) -> list[Finding]:
    """Equal losses say nothing where the training never left the CPU."""
    where = after.parameter_devices
    if not where or any(name.startswith("npu") for name in where):
        return []
    return [Finding("MIG140", Status.WARN, "MIG140.off_npu", {"devices": where}, weight=WEIGHT + 1)]


def _ranks(before: LaunchResult, after: LaunchResult, dtype: str) -> list[Finding]:
    """The table has rank 0; the others are judged as it is. What a device drew at random makes no fault of them."""
    if len(before.logs) < 2 and len(after.logs) < 2:
        return []
    if len(before.logs) != len(after.logs):
        said: dict[str, Scalar] = {"baseline": len(before.logs), "target": len(after.logs)}
        return [Finding("MIG140", Status.FAIL, "MIG140.ranks_differ", said)]
    found = [(rank, worst(pair(*losses))) for rank, losses in enumerate(_losses_by_rank(before, after))]
    rank, far = max(found, key=lambda one: -1.0 if one[1] is None or one[1].error is None else one[1].error)
    if far is None or far.error is None:
        return []
    allowed = TOLERANCE[dtype]
    rounding = far.error <= FAR * allowed or random_draws.watched(after) is not None
    status = Status.OK if far.error <= allowed else Status.WARN if rounding else Status.FAIL
    args: dict[str, Scalar] = {"ranks": len(found), "rank": rank, "worst": f"{far.error:.2g}", "step": far.step,
                               "tolerance": f"{allowed:g}"}  # fmt: skip
    return [Finding("MIG140", status, "MIG140.ranks", args)]


def _losses_by_rank(before: LaunchResult, after: LaunchResult) -> list[tuple[list[float | None], list[float | None]]]:
    return [(left.losses, right.losses) for left, right in zip(before.logs, after.logs)]


def _device_findings(target: Device, after: LaunchResult) -> list[Finding]:
    """Operators that fell back, and what this run cannot show.

    torch_npu warns once for each that fell back; the simulator counts their calls.
    """
    counted = after.simulator.get("fallbacks")
    fell = counted or fallbacks(after.output_path.read_text(encoding="utf-8", errors="replace"))
    named = [f"{name} ({calls}x)" for name, calls in counted.items()] if counted else sorted(fell)
    args: dict[str, Scalar] = {"count": len(fell), "operators": named}
    key, status = ("MIG141.fallback", Status.NOTE) if fell else ("MIG141.none", Status.OK)
    findings = [Finding("MIG141", status, key, args if fell else {})]
    if target.simulated:
        findings.append(Finding("MIG142", Status.OK, "MIG142.not_shown"))
    if target.simulated and len(after.logs) > 1:
        findings.append(Finding("MIG142", Status.OK, "MIG142.not_shown_ranks", {"ranks": len(after.logs)}))
    return findings


def _low_precision(result: LaunchResult) -> set[str]:
    notes = (note for log in result.logs for note in log.notes)
    return {str(note["args"]["dtype"]) for note in notes if note.get("code") == "low_precision"}


def _facts(
    plan: Plan, base: Device, target: Device, before: LaunchResult, after: LaunchResult | None, dtype: str
) -> dict[str, Any]:
    return {
        "script": plan.script.name,
        "args": list(plan.args),
        "mode": plan.mode,
        "steps": plan.steps,
        "seed": plan.seed,
        "nproc": plan.nproc,
        "baseline": _side_facts(base, before) | {"standing_in": before.standing_in},
        "target": _side_facts(target, after),
        "simulator": after.simulator if after else {},
        "dtype": dtype,
        "tolerance": TOLERANCE[dtype],
    }


def _side_facts(where: Device, result: LaunchResult | None) -> dict[str, Any]:
    """`rank_losses` only where there are several; memory in MiB over all ranks."""
    facts: dict[str, Any] = {"tier": where.tier, "name": where.name, "losses": result.losses if result else None}
    facts["warnings"] = warned.facts(result)
    if result is not None and len(result.logs) > 1:
        facts["rank_losses"] = [log.losses for log in result.logs]
    return facts | {"memory": memory.peaks(result)}
