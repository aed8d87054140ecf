"""The profiler: a short trace of a bundled script, collected, read back, and asked for its answers."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling import analyse, profile
from ascend_workbook.profiling.facts import load_profile
from ascend_workbook.selftest.scripts import SCRIPTS

SCRIPT = "resnet_digits.py"
ARGS = ("--depth", "14", "--width", "8", "--batch-size", "32")
STEPS, TIMEOUT_S = 3, 420.0


def check_profiler(device: Device, budget_s: float = TIMEOUT_S, *, scripts: Path = SCRIPTS) -> Report:
    """What was recorded and what `analyse` makes of it, as one report."""
    script = scripts / SCRIPT
    if not script.is_file():
        absent = Finding("SLF021", Status.SKIPPED, "SLF021.absent", {"script": SCRIPT, "folder": str(scripts)})
        return Report("environment", "selftest_profiler", (absent,), tier=device.tier)
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        out = Path(folder) / "profile"
        limit_s = min(TIMEOUT_S, budget_s)
        recorded = profile(script, ARGS, device=device.tier, steps=STEPS, out=out, cwd=folder, timeout_s=limit_s)
        return _make_report(recorded, device)


def _make_report(recorded: Report, device: Device) -> Report:
    """The recording's own findings, and whether the trace says what was asked for when it is read again."""
    names = ("elapsed_s", "simulator")
    facts: dict[str, Any] = {name: recorded.facts[name] for name in names if name in recorded.facts}
    read = [_read_back(str(recorded.facts["profile"]), device)] if "profile" in recorded.facts else []
    findings = tuple(finding for finding in (*read, *recorded.findings))
    return Report("environment", "selftest_profiler", findings, recorded.table, facts=facts, tier=device.tier)


def _read_back(path: str, device: Device) -> Finding:
    """Steps and kernels of the trace; one that cannot be read, or lacks them, is the profiler's failure."""
    try:
        answer, recorded = analyse(path), load_profile(path)
    except WorkbookError as error:
        why: Scalar = Sentence(error.key, **error.arguments)
        return Finding("SLF030", Status.FAIL, "SLF030.unreadable", {"why": why}, weight=110)
    operators = answer.parts[1].table
    args: dict[str, Scalar] = {
        "steps": len(recorded.trace.steps),
        "wanted": STEPS,
        "kernels": recorded.trace.count_events("compute"),
        "operators": len(operators.rows) if operators else 0,
    }
    kernels = bool(args["kernels"]) or device.accelerator == "cpu"
    good = args["steps"] == STEPS and kernels and bool(args["operators"])
    key, status = ("SLF030.ok", Status.OK) if good else ("SLF030.lacks", Status.FAIL)
    return Finding("SLF030", status, key, args, weight=110)
