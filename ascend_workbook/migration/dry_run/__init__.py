"""`dry_run`: the original on the baseline and the migrated script on the NPU, N steps each, losses side by side."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, Plugin
from ascend_workbook.migration.dry_run import judge, memory, proof, sides
from ascend_workbook.migration.dry_run.failed import count_fallbacks, find_failures, refuse_migrated
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.migration.rewrite.change import INJECT, MODES
from ascend_workbook.migration.verdict import report_quiet_findings

#: `train.py:12: UserWarning: text`, as Python prints a warning.
PYTHON = re.compile(r"^(?:\S.*:\d+: )?(\w*Warning): (.+)$", re.MULTILINE)
#: `[W1122 02:46:27.1 file.cpp:77] Warning: text (function operator())`, as PyTorch's C++ does.
NATIVE = re.compile(r"^\[W[^\]]*\] (?:Warning: )?(.+?)(?: \(function [^)]*\(?\)?\))?$", re.MULTILINE)
LENGTH, LONGEST = 100, 2000
WARNING_COLUMNS = (
    Column("warning", wrap=LENGTH),
    Column("baseline_count"),
    Column("target_count"),
    Column("whole_warning", detail=True),
)


def count_warnings(output: str) -> Counter[str]:
    """Count how often each text was printed; numbers and addresses in it do not make another text."""
    warning_texts = [f"{kind}: {text}" for kind, text in PYTHON.findall(output)] + NATIVE.findall(output)
    return Counter(re.sub(r"0x[0-9a-f]+|\d+", "#", text).strip()[:LONGEST] for text in warning_texts)


def shorten_text(text: str, length: int = LENGTH) -> str:
    """At most so many characters, cut between words."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    if not text[length - 1].isspace() and " " in head:
        head = head.rpartition(" ")[0]
    return f"{head.rstrip(' ,;:')} …"


def report_warnings(before: LaunchResult, after: LaunchResult | None) -> tuple[list[Finding], tuple[Report, ...]]:
    """Report how many warnings each side printed, how many kinds only the migrated script prints, and in a part of its
    own a row for each of these; whole on a page and in the JSON."""
    left, right = _count_printed_warnings(before), _count_printed_warnings(after)
    rows = tuple((shorten_text(text), left[text], right[text], text) for text in right if text not in left)
    numbers: dict[str, Scalar] = {"baseline": sum(left.values()), "target": sum(right.values())}
    if not rows:
        return [Finding("MIG143", Status.GOOD, "MIG143.same", numbers)] if after is not None else [], ()
    heading = Finding("MIG143", Status.GOOD, "MIG143.listed", {"count": len(rows)})
    part = Report("migration", "new_warnings", (heading,), Table(WARNING_COLUMNS, rows))
    return [Finding("MIG143", Status.GOOD, "MIG143.new", {**numbers, "new": len(rows)})], (part,)


def _count_printed_warnings(result: LaunchResult | None) -> Counter[str]:
    return count_warnings(result.output_path.read_text(encoding="utf-8", errors="replace")) if result else Counter()


WEIGHT = judge.WEIGHT
SEED = 1234
WATCH = sides.CHILD / "training_watch.py"
LOSSES = ("baseline_loss", "target_loss")
COLUMNS = (Column("step"), *(Column(name, digits=judge.LOSS_DIGITS) for name in LOSSES), Column("relative_error"))


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
    network: bool = False,
    seed: int = SEED,
    mode: str = INJECT,
    draws: str = "device",
    rm_dropout: bool = False,
    python: str = sys.executable,
    timeout_s: float | None = None,
    loss_regex: str | None = None,
    on_progress: sides.Told | None = None,
) -> Report:
    """Runs both sides for `steps` steps, each in a mirror of the script's folder, and compares the losses.

    `script` may be a launch command (`"torchrun --nproc_per_node=2 train.py --epochs 1"`), a shell script with one, or
    a notebook. `out` keeps logs, outputs and the migrated script (default: a temporary folder, removed unless a side
    failed: then the finding names its log). `mode` is how `rewrite` migrates; "explicit" makes devices and backends
    among `args` the NPU's there. `baseline` is auto, cuda or cpu. `meta` takes one step on tensors without values
    instead, for a model that does not fit this machine: it shows that the model is built, that forward, backward and
    update fit together in shape and data type, which operators they call and how large the state is.
    The script runs enclosed where the machine allows it (MIG155 says how): it reads all, what it writes outside `out`
    is thrown away and listed, and it has no network unless `network`.
    `draws` "host" makes all of torch's random numbers on the host, the same on both sides, so that a training with
    dropout can be compared; `rm_dropout` trains without dropout.
    `on_progress(side, progress)` is told of steps, side being "baseline" or "target". A script that fails is a Fix
    finding; WorkbookError is raised where nothing could be launched."""
    if mode not in MODES:
        raise WorkbookError("migration.mode", mode=mode, modes=list(MODES))
    if meta:  # nothing is computed and nothing compared: the report of `operators`, with what it did not prove
        from ascend_workbook.migration.operators import META, operators

        options: dict[str, Any] = {"network": network, "seed": seed, "mode": mode, "python": python}
        report = operators(script, args, META, 1, warmup=0, out=out, nproc=nproc, timeout_s=timeout_s, **options)
        passed, stuck = ("MIG146.passed", Status.GOOD, 600.0), ("MIG146.stuck", Status.FIX, 1100.0)
        key, status, weight = passed if report.facts["steps"] else stuck
        done = Finding("MIG146", status, key, weight=weight)
        return replace(report, verb="meta_pass", findings=(done, *report.findings))
    original = prepare_training(script, args, nproc)
    refuse_migrated(original)
    target, base = devices.find(device, python=python), devices.find_baseline(baseline, python=python)
    with sides.open_out_folder(out, "dry-run-") as out_folder:
        limit = memory.limit_mib(original.nproc)
        plan = sides.Plan(original, out_folder, steps, seed, python, timeout_s, loss_regex, limit, mode, network)
        plan = replace(plan, draws=draws, rm_dropout=rm_dropout)
        watch = {"limit_mib": limit, "device": base.accelerator}
        before = sides.run_side(plan, "baseline", base, on_progress, [Plugin(WATCH, watch)])
        after = None
        if before.ok and target.accelerator == "npu":
            watch = {**watch, "device": target.accelerator}
            after = sides.run_side(plan, "target", target, on_progress, [Plugin(WATCH, watch)])
        report = make_report(plan, base, target, before, after)
        if out is None and all(result.ok for result in (before, after) if result):
            shutil.rmtree(out_folder, ignore_errors=True)
        return report


def make_report(
    plan: sides.Plan, base: Device, target: Device, before: LaunchResult, after: LaunchResult | None
) -> Report:
    """Make the report of both sides, as far as they ran."""
    pairs = judge.pair_losses(before.losses, after.losses if after else [])
    dtype = judge.choose_narrowest_type(_low_precision(before) | (_low_precision(after) if after else set()))
    findings = [*find_failures(plan, before, after), *sides.report_surroundings(plan, before, after)]
    if after is None and before.ok:
        findings.append(Finding("MIG140", Status.NOT_LOOKED, "MIG140.not_run", {"tier": target.tier}, weight=WEIGHT))
    if after is not None and after.ok:
        verdict = judge.judge_losses(plan, pairs, dtype, base, after)
        findings += [*proof.judge_proof(before, after, dtype, verdict), *_report_uncompared(pairs)]
        findings += [*judge.step_counts(before, after), *judge.which_loss(before, plan.loss_regex)]
        where = after.parameter_devices
        if where and not any(name.startswith("npu") for name in where):  # equal losses say nothing then
            findings.append(Finding("MIG140", Status.LOOK, "MIG140.off_npu", {"devices": where}, weight=WEIGHT + 1))
        findings += [*judge.judge_ranks(before, after, dtype), *_device_findings(target, after)]
    for sentence in before.differences:
        status = Status.GOOD if sentence.key.endswith("side_assumed") else Status.NOTE
        findings.append(Finding("MIG142", status, sentence.key, sentence.args))
    warnings, new_warnings = report_warnings(before, after)
    findings += [*warnings, *memory.report_memory(before, after)]
    rows = tuple((entry.step, entry.baseline, entry.target, entry.error) for entry in pairs)
    chart = Chart("lines", "step", LOSSES) if after is not None and after.ok else None
    facts = _collect_facts(plan, base, target, before, after, dtype)
    facts["proof"] = proof.collect_proof_facts(before, after, dtype) if after is not None and after.ok else None
    tier = target.tier if after is not None else base.tier
    quiet = report_quiet_findings((finding for finding in findings if finding.weight < WEIGHT), tier)
    parts, table = (*quiet, *new_warnings), Table(COLUMNS, rows)
    return Report("migration", "dry_run", tuple(findings), table, chart, facts=facts, tier=tier, parts=parts)


def _report_uncompared(pairs: list[judge.LossPair]) -> list[Finding]:
    """Beside a verdict on some steps: how many it does not speak of."""
    compared = sum(entry.error is not None for entry in pairs)
    broken = [entry.step for entry in pairs if entry.both_broken]
    args: dict[str, Scalar] = {"compared": compared, "steps": len(pairs)}
    if compared and broken:
        return [Finding("MIG140", Status.LOOK, "MIG140.partly_finite", {**args, "first": broken[0]})]
    if compared and any(entry.baseline is None and entry.target is None for entry in pairs):
        return [Finding("MIG140", Status.NOTE, "MIG140.partly_seen", args)]
    return []


def _device_findings(target: Device, after: LaunchResult) -> list[Finding]:
    """Operators that fell back, and what this run cannot show. torch_npu warns once for each, the simulator counts."""
    counted = after.simulator.get("fallbacks")
    fell = counted or count_fallbacks(after.output_path.read_text(encoding="utf-8", errors="replace"))
    named = [f"{name} ({calls}x)" for name, calls in counted.items()] if counted else sorted(fell)
    args: dict[str, Scalar] = {"count": len(fell), "operators": named}
    key, status = ("MIG141.fallback", Status.NOTE) if fell else ("MIG141.none", Status.GOOD)
    findings = [Finding("MIG141", status, key, args if fell else {})]
    if target.simulated:
        findings.append(Finding("MIG142", Status.GOOD, "MIG142.not_shown"))
    if target.simulated and len(after.logs) > 1:
        findings.append(Finding("MIG142", Status.GOOD, "MIG142.not_shown_ranks", {"ranks": len(after.logs)}))
    return findings


def _low_precision(result: LaunchResult) -> set[str]:
    notes = (note for log in result.logs for note in log.notes)
    return {str(note["args"]["dtype"]) for note in notes if note.get("code") == "low_precision"}


def _collect_facts(
    plan: sides.Plan, base: Device, target: Device, before: LaunchResult, after: LaunchResult | None, dtype: str
) -> dict[str, object]:
    return {
        "script": plan.script.name,
        "args": list(plan.original.args),
        "mode": plan.mode,
        "steps": plan.steps,
        "seed": plan.seed,
        "nproc": plan.original.nproc,
        "baseline": _side_facts(base, before) | {"standing_in": before.standing_in},
        "target": _side_facts(target, after),
        "simulator": after.simulator if after else {},
        "dtype": dtype,
        "tolerance": judge.TOLERANCE[dtype],
        "work": {side: sides.describe_copies(plan, side) for side in plan.copies},
    }


def _side_facts(where: Device, result: LaunchResult | None) -> dict[str, object]:
    """`rank_losses` only where there are several; memory in MiB over all ranks."""
    facts: dict[str, object] = {"tier": where.tier, "name": where.name, "losses": result.losses if result else None}
    facts["warnings"] = dict(_count_printed_warnings(result))
    if result is not None and len(result.logs) > 1:
        facts["rank_losses"] = [log.losses for log in result.logs]
    return facts | {"memory": memory.collect_peaks(result)}
