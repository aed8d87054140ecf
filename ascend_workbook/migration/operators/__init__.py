"""`operators`: every aten operator of one training step, and how the installed torch_npu runs it on an NPU."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, Plugin
from ascend_workbook.migration.dry_run import sides
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.migration.operators.rows import Row, load_states, load_versions, rows_of
from ascend_workbook.migration.rewrite.change import INJECT, MODES
from ascend_workbook.migration.verdict import report_quiet_findings

WEIGHT = 500.0
GRAVE = {"unsupported": Status.FIX, "fallback": Status.LOOK, "unknown": Status.NOT_LOOKED}
MIB = 2**20


def findings_of(rows: list[Row], trace_content: dict[str, Any], where: Device, fake: bool) -> list[Finding]:
    """List the findings in the order in which a reader wants them; nothing where nothing was traced."""
    if not rows:
        return []
    findings_by_operator: dict[str, Finding] = {}
    for row in rows:
        if row.support in GRAVE and row.operator not in findings_by_operator:
            calls = sum(other.calls for other in rows if other.operator == row.operator)
            args: dict[str, Scalar] = {"operator": row.operator, "calls": calls, "dtypes": list(row.dtypes)}
            args["documents"] = row.make_cells()[-1]
            key, status = f"MIG171.{row.support}", GRAVE[row.support]
            findings_by_operator[row.operator] = Finding("MIG171", status, key, args, row.place, calls)
    kinds = ["dtypes" if where.simulated or not trace_content["live"] else "rest"]
    kinds += ["cpu"] if not trace_content["live"] else []
    kinds += ["values"] if fake else []
    sizes = {name: size / MIB for name, size in trace_content["state_bytes"].items()}
    details = [
        *list(findings_by_operator.values()),
        *_find_disagreements(rows),
        *_find_unlisted_dtypes(rows),
        _describe_answer_source(trace_content, where, fake),
        Finding("MIG176", Status.GOOD, "MIG176.state", {**sizes, "total": sum(sizes.values())}),
        *[Finding("MIG177", Status.GOOD, f"MIG177.{kind}") for kind in kinds],
    ]
    worst = max(finding.status for finding in details)
    return [_summarize_rows(rows, worst, on_npu=where.accelerator == "npu"), *details]


def _summarize_rows(rows: list[Row], status: Status, *, on_npu: bool) -> Finding:
    """Counts operators, not rows: one may come with several data types."""
    named = Counter(support for _, support in {(row.operator, row.support) for row in rows})
    args: dict[str, Scalar] = {
        "operators": len({row.operator for row in rows if row.support != "host"}),
        "calls": round(sum(row.calls for row in rows if row.support not in ("host", "composite")), 1),
        "native": named["native"] + named["collective"],
        "composite": named["composite"],
        "fallback": named["fallback"],
        "unsupported": named["unsupported"],
        "unknown": named["unknown"] + named["cpu_choice"],
        "host": named["host"],
    }
    key = "MIG170.on_npu" if on_npu else "MIG170.elsewhere"
    return Finding("MIG170", status, key, args, weight=WEIGHT)


def _find_disagreements(rows: list[Row]) -> list[Finding]:
    """The documents say yes where torch_npu registers nothing, or no where it does."""
    disagreements: list[Finding] = []
    for key, supported, supports in (("promised", True, ("fallback", "unsupported")), ("denied", False, ("native",))):
        names: dict[Scalar, None] = {}
        for row in rows:
            document = row.document if row.support in supports else None
            if document and document.supported is supported and not document.falls_back:  # without the CPU's help
                names[f"{row.operator} ({document.api})"] = None
        if names:
            disagreements.append(Finding("MIG172", Status.NOTE, f"MIG172.{key}", {"operators": list(names)}))
    return disagreements


def _find_unlisted_dtypes(rows: list[Row]) -> list[Finding]:
    """Data types in use that the documents do not list for the first tensor."""
    beyond: list[Scalar] = []
    for row in rows:
        if row.support != "host" and row.beyond_documents and row.document:
            text = f"{row.document.api}: {row.first_dtype}"
            beyond += [text] if text not in beyond else []
    return [Finding("MIG173", Status.NOTE, "MIG173.unlisted", {"count": len(beyond), "apis": beyond})] if beyond else []


def _describe_answer_source(trace_content: dict[str, Any], where: Device, fake: bool) -> Finding:
    """Where the answers come from: this torch_npu, or the table, which may be of other versions."""
    here = trace_content["versions"]
    if trace_content["live"]:
        return Finding("MIG175", Status.GOOD, "MIG175.dispatcher", {"torch_npu": here["torch_npu"], "tier": where.tier})
    table = load_versions()
    ran: Scalar = Sentence("MIG175.on_fake" if fake else "MIG175.on_cpu")
    args: dict[str, Scalar] = {"ran": ran, "table": table["torch_npu"], "torch": here["torch"]}
    same = here["torch"].partition("+")[0] == table["torch"]
    return Finding("MIG175", Status.NOTE if same else Status.LOOK, "MIG175.table" if same else "MIG175.other", args)


RESULT = "operators.json"
SEED = 1234
META = "meta"
WIDE = {"dtype": 24, "first_line": 32, "documents": 40}
NAMES = ("operator", "dtype", "npu_support", "calls_per_step", "step_part", "first_line", "documents")
COLUMNS = tuple(Column(name, wrap=WIDE.get(name, 0)) for name in NAMES)


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
    on_progress: sides.Told | None = None,
) -> Report:
    """Traces `steps` whole steps after `warmup` others and reports each operator of theirs.

    `device`: auto, npu, npu-simulated, cuda, cpu, or meta (tensors without values, for a model too large for this
    machine). With auto a script that fails on the NPU is traced on the CPU instead, and that is said. `warmup` 0 traces
    from the first forward on. `script` may be a launch command, as for dry_run; rank 0 is traced. It runs
    enclosed as there. Raises WorkbookError where nothing could be launched."""
    if mode not in MODES:
        raise WorkbookError("migration.mode", mode=mode, modes=list(MODES))
    original = prepare_training(script, args, nproc)
    for name, value, least in (("steps", steps, 1), ("warmup", warmup, 0)):
        if value < least:
            raise WorkbookError("launch.not_positive", name=name, value=value)
    where = devices.find("cpu" if device == META else device, python=python)
    with sides.open_out_folder(out, "operators-") as out_folder:
        plan = sides.Plan(original, out_folder, warmup + steps, seed, python, timeout_s, mode=mode, network=network)
        result = _run_trace(plan, where, warmup, on_progress, fake=device == META)
        instead: list[Finding] = []
        if not _read_trace(result)["steps"] and device == "auto" and where.accelerator == "npu":
            trouble, place = sides.describe_failure(plan, "npu", result)
            other: dict[str, Scalar] = {"tier": where.tier, "why": trouble, "log": str(result.output_path)}
            instead = [Finding("MIG174", Status.FIX, "MIG174.instead", other, place, 900.0)]
            where = devices.find("cpu", python=python)
            result = _run_trace(plan, where, warmup, on_progress, fake=False)
        report = _make_report(plan, where, result, warmup, device == META, instead)
        if out is None and result.ok:
            shutil.rmtree(out_folder, ignore_errors=True)
        return report


def _run_trace(
    plan: sides.Plan, where: Device, warmup: int, on_progress: sides.Told | None, *, fake: bool
) -> LaunchResult:
    """The trace's side is named after what it ran on; its result lies beside the log."""
    side = META if fake else where.accelerator
    (plan.out / side / RESULT).unlink(missing_ok=True)
    root = str((plan.out / side / "work").resolve())
    config = {"root": root, "warmup": warmup, "steps": plan.steps - warmup, "states": load_states(), "fake": fake}
    plugins = [Plugin(sides.CHILD / "fake_tensors.py")] if fake else []
    plugins.append(Plugin(sides.CHILD / "operator_trace.py", config))
    return sides.run_side(plan, side, where, on_progress, plugins, grad_norm=False)


def _read_trace(result: LaunchResult) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((result.out / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"steps": [], "live": False, "versions": {}, "state_bytes": {}, "calls": []}
    return content


def _make_report(
    plan: sides.Plan, where: Device, result: LaunchResult, warmup: int, fake: bool, instead: list[Finding]
) -> Report:
    trace_content = _read_trace(result)
    steps = max(len(trace_content["steps"]), 1)
    side = result.out.name
    on_npu = where.accelerator == "npu"
    rows = rows_of(
        trace_content["calls"], steps, lambda path, line: sides.place_of(plan, side, path, line), on_npu=on_npu
    )
    findings = [
        *instead,
        *sides.report_surroundings(plan, result),
        *findings_of(rows, trace_content, where, fake),
    ]
    if not result.ok or not trace_content["steps"]:
        findings.append(_describe_trouble(plan, side, result, bool(trace_content["calls"])))
    table = Table(COLUMNS, tuple(row.make_cells() for row in rows))
    facts = {
        "script": plan.script.name,
        "args": list(plan.original.args),
        "seed": plan.seed,
        "nproc": plan.original.nproc,
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


def _describe_trouble(plan: sides.Plan, side: str, result: LaunchResult, partly: bool) -> Finding:
    """The script failed, or ended before the step to be traced."""
    if result.ok:
        return Finding("MIG174", Status.FIX, "MIG174.no_step", {"steps": len(result.steps)}, weight=1000.0)
    trouble, place = sides.describe_failure(plan, side, result)
    key = "MIG174.partly" if partly else "MIG174.failed"
    return Finding("MIG174", Status.FIX, key, {"why": trouble, "log": str(result.output_path)}, place, 1000.0)
