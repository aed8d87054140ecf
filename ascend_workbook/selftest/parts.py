"""The parts of a self-test: what each looks at, how long it may take."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.environment import environment_check
from ascend_workbook.environment.compute import BACKENDS, case_of, judge_row, measure_collectives
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling import analyse, profile
from ascend_workbook.profiling.facts import load_profile
from ascend_workbook.selftest.operators import check_operators
from ascend_workbook.selftest.scripts import SCRIPTS, check_scripts

# The profiler: a short trace of a bundled script, collected, read back, and asked for its answers.

SCRIPT = "resnet_digits.py"
ARGS = ("--depth", "14", "--width", "8", "--batch-size", "32")
STEPS, PROFILE_TIMEOUT_S = 3, 420.0


def check_profiler(device: Device, budget_s: float = PROFILE_TIMEOUT_S, *, scripts: Path = SCRIPTS) -> Report:
    """What was recorded and what `analyse` makes of it, as one report."""
    script = scripts / SCRIPT
    if not script.is_file():
        absent = Finding("SLF021", Status.SKIPPED, "SLF021.absent", {"script": SCRIPT, "folder": str(scripts)})
        return Report("environment", "selftest_profiler", (absent,), tier=device.tier)
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        out = Path(folder) / "profile"
        limit_s = min(PROFILE_TIMEOUT_S, budget_s)
        recorded = profile(script, ARGS, device=device.tier, steps=STEPS, out=out, cwd=folder, timeout_s=limit_s)
        names = ("elapsed_s", "simulator")
        facts: dict[str, Any] = {name: recorded.facts[name] for name in names if name in recorded.facts}
        read = [_read_back(str(recorded.facts["profile"]), device)] if "profile" in recorded.facts else []
        findings = (*read, *recorded.findings)
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


# Collectives over two ranks: hccl on an NPU, each one's values checked.

OPERATIONS = ("all_reduce", "broadcast", "all_gather")
RANKS = 2
COLLECTIVES_TIMEOUT_S = 240.0
COLLECTIVES_COLUMNS = (Column("case"), Column("status"), Column("time", "ms"), Column("bus_bandwidth", "GB/s"))


def check_collectives(device: Device, budget_s: float = COLLECTIVES_TIMEOUT_S) -> Report:
    """A row a collective. One device alone could not be looked at: SKIPPED, not good."""
    if device.accelerator != "cpu" and device.count < RANKS:
        alone = Finding("SLF040", Status.SKIPPED, "SLF040.one", {"count": device.count})
        return Report("environment", "selftest_hccl", (alone,), tier=device.tier)
    timeout_s = min(COLLECTIVES_TIMEOUT_S, budget_s)
    rows = measure_collectives(device.tier, device.accelerator, RANKS, operations=OPERATIONS, timeout_s=timeout_s)
    findings = [judge_row(row) for row in rows]
    shown = [(row, finding) for row, finding in zip(rows, findings) if "operation" in row]
    cells: list[tuple[Scalar, ...]] = [
        (case_of(row), finding.status.name, row["time_ms"], row["bus_gb_per_s"]) for row, finding in shown
    ]
    good = len(shown) == len(OPERATIONS) and all(finding.status is Status.OK for finding in findings)
    args: dict[str, Scalar] = {"count": len(shown), "ranks": RANKS, "backend": BACKENDS[device.accelerator]}
    good_findings = (Finding("SLF040", Status.OK, "SLF040.ok", args),) if good else ()
    table = Table(COLLECTIVES_COLUMNS, tuple(cells))
    return Report(
        "environment", "selftest_hccl", (*good_findings, *findings), table, facts={"rows": rows}, tier=device.tier
    )


@dataclass(frozen=True)
class Part:
    """`look(device, budget_s)` gives its report, in a child of its own; `always`: it needs no device.

    The budget is what a part divides among its own children, so that it comes to its end, with what it has found,
    before `timeout_s` ends it.
    """

    name: str
    look: Callable[[Device, float], Report]
    timeout_s: float
    always: bool = False

    def run_within(self, device: Device, timeout_s: float | None = None) -> Report:
        """Its report; a tenth of the time is kept for starting and for writing."""
        return self.look(device, 0.9 * (timeout_s or self.timeout_s))


def check_machine(device: Device, budget_s: float) -> Report:
    """The whole check of the environment, computation included."""
    return environment_check(device.tier)


PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        Part("check", check_machine, 900.0, always=True),
        Part("operators", check_operators, 1800.0),
        Part("scripts", check_scripts, 1200.0),
        Part("profiler", check_profiler, 900.0),
        Part("hccl", check_collectives, 300.0),
    )
}
