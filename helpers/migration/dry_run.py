"""`dry_run`: the original on the baseline and the migrated script on the NPU, N steps each, losses side by side."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import device as devices
from helpers.device import Device
from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from helpers.migration.losses import FAR, LOSS_DIGITS, TOLERANCE, LossPair, drifts, narrowest, pair, worst
from helpers.migration.mirror import migrated_texts, mirror
from helpers.migration.reasons import fallbacks, reason
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

PLUGIN = Path(__file__).with_name("child") / "number_types.py"
WEIGHT = 1000.0
SEED = 1234
LOSSES = ("baseline_loss", "target_loss")
COLUMNS = (Column("step"), *(Column(name, digits=LOSS_DIGITS) for name in LOSSES), Column("relative_error"))


@dataclass(frozen=True)
class Plan:
    """What both runs share. Numbers of steps and seconds are per run."""

    script: Path
    args: tuple[str, ...]
    out: Path
    steps: int
    nproc: int
    seed: int
    python: str
    timeout_s: float | None
    loss_regex: str | None


def dry_run(
    script: str | Path,
    args: Sequence[str] = (),
    device: str = "auto",
    steps: int = 5,
    *,
    out: str | Path | None = None,
    baseline: str = "auto",
    nproc: int = 1,
    seed: int = SEED,
    python: str = sys.executable,
    timeout_s: float | None = None,
    loss_regex: str | None = None,
    on_progress: Callable[[str, Progress], None] | None = None,
) -> Report:
    """Runs both sides for `steps` steps, each in a mirror of the script's folder, and compares the losses.

    `out` keeps logs, outputs and the migrated script (default: a temporary folder, removed unless a side failed:
    then the finding names its log). `baseline` is auto, cuda or cpu. `on_progress(side, progress)` is told of
    steps, side being "baseline" or "target". A script that fails is a FAIL finding; WorkbookError is raised where
    nothing could be launched.
    """
    path = Path(script).absolute()
    if not path.is_file():
        raise WorkbookError("launch.script_missing", path=str(script))
    target, base = devices.find(device, python=python), devices.baseline(baseline, python=python)
    with _folder(out) as folder:
        plan = Plan(path, tuple(map(str, args)), folder, steps, nproc, seed, python, timeout_s, loss_regex)
        before = _run(plan, "baseline", base, on_progress)
        after = _run(plan, "target", target, on_progress) if before.ok and target.accelerator == "npu" else None
        report = _report(plan, base, target, before, after)
        if out is None and all(result.ok for result in (before, after) if result):
            shutil.rmtree(folder, ignore_errors=True)
        return report


@contextmanager
def _folder(out: str | Path | None) -> Iterator[Path]:
    """`out`, or a temporary folder; that one is removed where an error leaves no report to name it."""
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="dry-run-"))
    try:
        yield folder
    except BaseException:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _run(plan: Plan, side: str, where: Device, on_progress: Callable[[str, Progress], None] | None) -> LaunchResult:
    """One side, in a fresh mirror below `out/<side>`."""
    folder = plan.out / side
    shutil.rmtree(folder / "work", ignore_errors=True)
    contents, _ = migrated_texts(plan.script) if side == "target" else ({}, [])
    script = mirror(plan.script, folder / "work", contents)
    spec = LaunchSpec(
        out=folder,
        script=script,
        args=plan.args,
        cwd=folder / "work",
        python=plan.python,
        nproc=plan.nproc,
        env=devices.child_environment(where.tier),
        transform="baseline_cpu" if where.tier == "cpu" else "none",
        steps=plan.steps,
        seed=plan.seed,
        deterministic=True,
        loss_regex=plan.loss_regex,
        timeout_s=plan.timeout_s,
        plugins=(Plugin(PLUGIN),),
        tier=where.tier,
        simulated=where.simulated,
    )
    return launch(spec, _once_a_step(side, on_progress) if on_progress else None)


def _once_a_step(side: str, on_progress: Callable[[str, Progress], None]) -> Callable[[Progress], None]:
    """The launcher also tells of every new line of output."""
    told: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.step not in told:
            told.append(progress.step)
            on_progress(side, progress)

    return tell


def _report(plan: Plan, base: Device, target: Device, before: LaunchResult, after: LaunchResult | None) -> Report:
    pairs = pair(before.losses, after.losses if after else [])
    dtype = narrowest(_low_precision(before) | (_low_precision(after) if after else set()))
    findings = _troubles(plan, before, after)
    if after is None and before.ok:
        findings.append(Finding("MIG140", Status.SKIPPED, "MIG140.not_run", {"tier": target.tier}, weight=WEIGHT))
    if after is not None and after.ok:
        findings += [_judged(pairs, dtype, base), *_step_counts(before, after), *_off_npu(after)]
        findings += _device_findings(target, after)
    rows = tuple((entry.step, entry.baseline, entry.target, entry.error) for entry in pairs)
    chart = Chart("lines", "step", LOSSES) if after is not None and after.ok else None
    facts = _facts(plan, base, target, before, after, dtype)
    tier = target.tier if after is not None else base.tier
    return Report("migration", "dry_run", tuple(findings), Table(COLUMNS, rows), chart, facts=facts, tier=tier)


def _judged(pairs: list[LossPair], dtype: str, base: Device) -> Finding:
    """The verdict: the worst step against the tolerance of the narrowest type."""
    far = worst(pairs)
    if far is None or far.error is None:
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


def _troubles(plan: Plan, before: LaunchResult, after: LaunchResult | None) -> list[Finding]:
    """A side that failed, with the place in the user's own file and what the message means."""
    findings = []
    for side, result in (("baseline", before), ("target", after)):
        if result is None or result.ok:
            continue
        args: dict[str, Scalar] = {
            "side": {"say": f"migration.side.{side}"},
            "why": result.trouble,
            "log": str(result.output_path),
        }
        place = _place(plan, side, result)
        findings.append(Finding("MIG140", Status.FAIL, "MIG140.failed", args, place, WEIGHT))
        why = reason(f"{result.error.message}\n" + "\n".join(result.error.traceback)) if result.error else None
        if why and side == "target":
            findings.append(Finding("MIG140", Status.FAIL, "MIG140.reason", {"reason": why}, place))
    return findings


def _place(plan: Plan, side: str, result: LaunchResult) -> Place | None:
    if result.error is None or not result.error.path:
        return None
    work = (plan.out / side / "work").resolve()
    path = Path(result.error.path).resolve()
    name = path.relative_to(work).as_posix() if path.is_relative_to(work) else str(path)
    return Place(name, result.error.line or 0)


def _device_findings(target: Device, after: LaunchResult) -> list[Finding]:
    """Operators that fell back, and what a simulated device cannot show.

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
        "steps": plan.steps,
        "seed": plan.seed,
        "baseline": {"tier": base.tier, "name": base.name, "losses": before.losses, "standing_in": before.standing_in},
        "target": {"tier": target.tier, "name": target.name, "losses": after.losses if after else None},
        "simulator": after.simulator if after else {},
        "dtype": dtype,
        "tolerance": TOLERANCE[dtype],
    }
