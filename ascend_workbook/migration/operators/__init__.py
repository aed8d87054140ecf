"""`operators`: every aten operator of one training step, and how the installed torch_npu runs it on an NPU."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, Plugin
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.migration.dry_run.sides import (
    CHILD,
    Plan,
    Told,
    describe_failure,
    open_out_folder,
    place_of,
    report_enclosure,
    report_touched_files,
    run_side,
)
from ascend_workbook.migration.operators.findings import findings_of
from ascend_workbook.migration.operators.rows import load_states, rows_of
from ascend_workbook.migration.rewrite.change import INJECT, MODES
from ascend_workbook.migration.verdict import report_quiet_findings

RESULT = "operators.json"
SEED = 1234
META = "meta"
COLUMNS = (
    Column("operator"),
    Column("dtype", wrap=24),
    Column("npu_support"),
    Column("calls_per_step"),
    Column("step_part"),
    Column("first_line", wrap=32),
    Column("documents", wrap=40),
)


def operators(
    script: str | Path,
    args: Sequence[str] = (),
    device: str = "auto",
    steps: int = 1,
    *,
    warmup: int = 1,
    out: str | Path | None = None,
    nproc: int = 1,
    network: bool = False,
    seed: int = SEED,
    mode: str = INJECT,
    python: str = sys.executable,
    timeout_s: float | None = None,
    on_progress: Told | None = None,
) -> Report:
    """Traces `steps` whole steps after `warmup` others and reports each operator of theirs.

    `device`: auto, npu, npu-simulated, cuda, cpu, or meta (tensors without values, for a model too large for this
    machine). With auto a script that fails on the NPU is traced on the CPU instead, and that is said. `warmup` 0 traces
    from the first forward on. `script` may be a launch command, as for dry_run; rank 0 is traced. It runs
    enclosed as there. Raises WorkbookError where nothing could be launched.
    """
    if mode not in MODES:
        raise WorkbookError("migration.mode", mode=mode, modes=list(MODES))
    original = prepare_training(script, args, nproc)
    for name, value, least in (("steps", steps, 1), ("warmup", warmup, 0)):
        if value < least:
            raise WorkbookError("launch.not_positive", name=name, value=value)
    where = devices.find("cpu" if device == META else device, python=python)
    with open_out_folder(out, "operators-") as out_folder:
        plan = Plan(original, out_folder, warmup + steps, seed, python, timeout_s, mode=mode, network=network)
        result = _run_trace(plan, where, warmup, on_progress, fake=device == META)
        instead: list[Finding] = []
        if not _read_trace(result)["steps"] and device == "auto" and where.accelerator == "npu":
            instead = [_explain_other_side(plan, where, result)]
            where = devices.find("cpu", python=python)
            result = _run_trace(plan, where, warmup, on_progress, fake=False)
        report = _make_report(plan, where, result, warmup, device == META, instead)
        if out is None and result.ok:
            shutil.rmtree(out_folder, ignore_errors=True)
        return report


def _run_trace(plan: Plan, where: Device, warmup: int, on_progress: Told | None, *, fake: bool) -> LaunchResult:
    """The trace's side is named after what it ran on; its result lies beside the log."""
    side = META if fake else where.accelerator
    (plan.out / side / RESULT).unlink(missing_ok=True)
    root = str((plan.out / side / "work").resolve())
    config = {"root": root, "warmup": warmup, "steps": plan.steps - warmup, "states": load_states(), "fake": fake}
    plugins = [Plugin(CHILD / "fake_tensors.py")] if fake else []
    plugins.append(Plugin(CHILD / "operator_trace.py", config))
    return run_side(plan, side, where, on_progress, plugins, grad_norm=False)


def _read_trace(result: LaunchResult) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((result.out / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"steps": [], "live": False, "versions": {}, "state_bytes": {}, "calls": []}
    return content


def _explain_other_side(plan: Plan, where: Device, result: LaunchResult) -> Finding:
    """Explain why what follows was not traced on the NPU."""
    trouble, place = describe_failure(plan, "npu", result)
    args: dict[str, Scalar] = {"tier": where.tier, "why": trouble, "log": str(result.output_path)}
    return Finding("MIG174", Status.FAIL, "MIG174.instead", args, place, 900.0)


def _make_report(
    plan: Plan, where: Device, result: LaunchResult, warmup: int, fake: bool, instead: list[Finding]
) -> Report:
    trace_content = _read_trace(result)
    steps = max(len(trace_content["steps"]), 1)
    side = result.out.name
    on_npu = where.accelerator == "npu"
    rows = rows_of(trace_content["calls"], steps, lambda path, line: place_of(plan, side, path, line), on_npu=on_npu)
    findings = [
        *instead,
        *plan.original.findings,
        *report_touched_files(plan),
        *report_enclosure(plan, [result]),
        *findings_of(rows, trace_content, where, fake),
    ]
    if not result.ok or not trace_content["steps"]:
        findings.append(_describe_trouble(plan, side, result, bool(trace_content["calls"])))
    table = Table(COLUMNS, tuple(row.make_cells() for row in rows))
    facts = {
        "script": plan.script.name,
        "args": list(plan.args),
        "seed": plan.seed,
        "nproc": plan.nproc,
        "mode": plan.mode,
        "steps": trace_content["steps"],
        "warmup": warmup,
        "device": META if fake else where.tier,
        "read_from": "dispatcher" if trace_content["live"] else "table",
        "versions": trace_content["versions"],
        "state_bytes": trace_content["state_bytes"],
        "seconds": {str(step.step): round(step.time_s, 4) for step in result.steps},
        "operators": [row.collect_facts() for row in rows],
        "simulator": result.simulator,
    }
    chart = Chart("bars", "operator", ("calls_per_step",)) if rows else None
    tier = where.tier
    parts = report_quiet_findings(finding for finding in findings if finding.rule != "MIG170")
    return Report("migration", "operator_support", tuple(findings), table, chart, facts=facts, tier=tier, parts=parts)


def _describe_trouble(plan: Plan, side: str, result: LaunchResult, partly: bool) -> Finding:
    """The script failed, or ended before the step to be traced."""
    if result.ok:
        return Finding("MIG174", Status.FAIL, "MIG174.no_step", {"steps": len(result.steps)}, weight=1000.0)
    trouble, place = describe_failure(plan, side, result)
    key = "MIG174.partly" if partly else "MIG174.failed"
    return Finding("MIG174", Status.FAIL, key, {"why": trouble, "log": str(result.output_path)}, place, 1000.0)
