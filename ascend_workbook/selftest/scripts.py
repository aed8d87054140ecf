"""The workbook's own training scripts on the device, migrated by transfer_to_npu, against losses that are committed.

The baselines (data/baselines.json) are the CPU's, made by tests/selftest/make_baselines.py; a tolerance for each
number type stands beside them. So a machine without a GPU can tell whether its NPU trains right.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, launch
from ascend_workbook.migration.dry_run.judge import LOSS_DIGITS, find_worst_step, pair_losses

SCRIPTS = Path(__file__).resolve().parents[2] / "notebooks" / "scripts"
SAME_TEXT = Path(__file__).with_name("child") / "same_text.py"
BASELINES = Path(__file__).with_name("data") / "baselines.json"
SEED = 1234
TIMEOUT_S, BUDGET_S = 300.0, 1000.0
#: Beyond the tolerance but within so many times it: rounding that steps compounded, to be looked at, no wrong operator.
DRIFT = 25.0
COLUMNS = (
    *map(Column, ("script", "dtype", "step")),
    *(Column(name, digits=LOSS_DIGITS) for name in ("baseline", "target")),
    *map(Column, ("relative_error", "allowed_error")),
)


def check_scripts(chosen: device.Device, budget_s: float = BUDGET_S, *, scripts: Path = SCRIPTS) -> Report:
    """A row a step of each script and number type; OK where every loss is within its tolerance."""
    deadline = time.monotonic() + budget_s
    known = json.loads(BASELINES.read_text(encoding="utf-8"))
    rows: list[tuple[Scalar, ...]] = []
    findings: list[Finding] = []
    runs = []
    for number, case in enumerate(known["cases"]):
        timeout_s = min(TIMEOUT_S, max(1.0, (deadline - time.monotonic()) / (len(known["cases"]) - number)))
        if not (scripts / case["script"]).is_file():
            args: dict[str, Scalar] = {"script": case["script"], "folder": str(scripts)}
            findings.append(Finding("SLF021", Status.SKIPPED, "SLF021.absent", args))
            continue
        with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
            result = run_script(chosen, scripts / case["script"], case["args"], case["steps"], Path(folder), timeout_s)
            findings.append(judge_script(case, result, known["tolerance"]))
        runs.append({"script": case["script"], "dtype": case["dtype"], "losses": result.losses})
        rows += _make_rows(case, result, known["tolerance"])
    facts = {"runs": runs, "baseline": {name: known[name] for name in ("torch", "device", "tolerance")}}
    table = Table(COLUMNS, tuple(rows))
    all_findings = (_make_verdict(findings), *findings)
    return Report("environment", "selftest_scripts", all_findings, table, facts=facts, tier=chosen.tier)


def run_script(
    chosen: device.Device, script: Path, args: list[str], steps: int, folder: Path, timeout_s: float
) -> LaunchResult:
    """Runs so many steps; what the script writes goes into the folder."""
    return launch(
        LaunchSpec(
            out=folder / "launch",
            script=script,
            args=args,
            cwd=folder,
            python=sys.executable,
            steps=steps,
            seed=SEED,
            deterministic=True,
            timeout_s=timeout_s,
            plugins=(Plugin(SAME_TEXT),),
        ).on(chosen)
    )


def judge_script(case: dict[str, Any], result: LaunchResult, tolerance: dict[str, float]) -> Finding:
    """Judge one script in one number type."""
    args: dict[str, Scalar] = {"script": case["script"], "dtype": case["dtype"], "steps": case["steps"]}
    if result.trouble is not None:
        return Finding("SLF021", Status.FAIL, "SLF021.failed", {**args, "why": result.trouble}, weight=30)
    far = find_worst_step(pair_losses(case["losses"], result.losses))
    if far is None or far.error is None or len(result.losses) < case["steps"]:
        return Finding("SLF021", Status.FAIL, "SLF021.no_loss", {**args, "done": len(result.losses)}, weight=20)
    args.update(error=f"{far.error:.2g}", step=far.step, tolerance=f"{tolerance[case['dtype']]:g}")
    if far.error <= tolerance[case["dtype"]]:
        return Finding("SLF021", Status.OK, "SLF021.ok", args)
    if case["dtype"] == "float32" and far.error <= tolerance["hf32"]:
        return Finding("SLF021", Status.NOTE, "SLF021.reduced", args)
    drift = far.error <= DRIFT * tolerance[case["dtype"]]
    return Finding("SLF021", Status.WARN if drift else Status.FAIL, "SLF021.beyond", args, weight=25)


def _make_verdict(findings: list[Finding]) -> Finding:
    status = max((finding.status for finding in findings), default=Status.SKIPPED)
    args: dict[str, Scalar] = {"count": len(findings)}
    first = max(findings, key=lambda finding: (finding.status, finding.weight), default=None)
    if first is not None and status >= Status.SKIPPED:
        args["first"] = Sentence(first.key, **first.args)
        return Finding("SLF020", status, "SLF020.bad", args, weight=100)
    return Finding("SLF020", status, "SLF020.ok", args, weight=100)


def _make_rows(case: dict[str, Any], result: LaunchResult, tolerance: dict[str, float]) -> list[tuple[Scalar, ...]]:
    allowed = tolerance[case["dtype"]]
    return [
        (case["script"], case["dtype"], entry.step, entry.baseline, entry.target, entry.error, allowed)
        for entry in pair_losses(case["losses"], result.losses)
    ]
