"""Operators of torch and torch_npu on the device, each against its value in float64 on the CPU.

The case that ends the child (a crash, or a hang that its watchdog ends) is one row; the child is started again behind
it, so that the others are seen too.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from ascend_workbook.environment.compute import describe_end, rows_of
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded, device

CHILD = Path(__file__).with_name("child") / "operators.py"
#: Seconds one case may take: the first call of an operator may compile it.
CASE_LIMIT_S, BUDGET_S = 180, 1600.0
#: Cases that may end the child before the rest is given up.
RESTARTS = 5
#: Largest error over the largest magnitude. Measured on CPU kernels: at most 9e-6, 3e-3 and 2.1e-2; doubled.
ALLOWED = {"float32": 2e-5, "float16": 6e-3, "bfloat16": 4e-2}
#: Products whose float32 inputs may be rounded to HF32 or TF32 (convolutions are, by default): a note, no error.
REDUCED = {"matmul", "bmm", "linear", "conv1d", "conv2d", "attention"}
REDUCED_ALLOWED = 3e-3
COLUMNS = (
    *map(Column, ("operator", "dtype", "status", "forward_error", "backward_error", "allowed_error")),
    Column("first_call", "ms"),
)
Row = dict[str, Any]


def check_operators(
    chosen: device.Device, budget_s: float = BUDGET_S, *, child: Path = CHILD, limit_s: int = CASE_LIMIT_S
) -> Report:
    """A row a case (operator and dtype); the verdict counts what is wrong, raised, or ended the child."""
    rows, total = measure_operators(chosen, child, limit_s, budget_s)
    findings = [judge_row(row) for row in rows]
    bad = [finding for finding in findings if finding.status is Status.FAIL]
    args: dict[str, Scalar] = {"count": len(rows), "total": total, "bad": len(bad)}
    if bad:
        args["first"] = Sentence(bad[0].key, **bad[0].args)
        verdict = Finding("SLF010", Status.FAIL, "SLF010.bad", args, weight=100)
    elif not rows or len(rows) < total:
        verdict = Finding("SLF010", Status.SKIPPED, "SLF010.partly", args, weight=100)
    else:
        verdict = Finding("SLF010", max(finding.status for finding in findings), "SLF010.ok", args, weight=100)
    table = Table(COLUMNS, tuple(_make_row(row, finding) for row, finding in zip(rows, findings)))
    facts = {"rows": rows, "total": total, "allowed": ALLOWED}
    return Report("environment", "selftest_operators", (verdict, *findings), table, facts=facts, tier=chosen.tier)


def measure_operators(
    chosen: device.Device, child: Path, limit_s: int, budget_s: float = BUDGET_S
) -> tuple[list[Row], int]:
    """The rows, and how many there should be; where the budget is spent, those that came until then.

    A case may take a third of the budget at most: one that hangs is then still told from many that are slow.
    """
    deadline = time.monotonic() + budget_s
    limit_s = max(1, min(limit_s, int(budget_s / 3)))
    rows: list[Row] = []
    total, start = 0, 0
    for _ in range(RESTARTS):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            break
        command = [sys.executable, str(child), chosen.accelerator, str(start), str(limit_s)]
        done = bounded.run_bounded(command, env=device.child_environment(chosen.tier), timeout_s=left_s)
        answers = rows_of(done.stdout)
        total = next((row["total"] for row in answers if "total" in row), total)
        rows += [row for row in answers if "number" in row]
        if any(row.get("done") for row in answers):
            break
        begun = [row for row in answers if "begin" in row]
        if not begun:  # it did not come to a first case: the device cannot be used at all
            rows.append({"operator": "import", "dtype": None, "ended": describe_end(done, left_s)})
            break
        if done.timed_out:  # the budget is spent: which case is slow cannot be told, the watchdog tells a hang
            break
        last = begun[-1]
        hung = "Timeout (" in done.stderr
        limit: Scalar = Sentence("ENV100.how_timeout", seconds=limit_s)
        ended = limit if hung else describe_end(done, left_s)
        rows.append({"operator": last["operator"], "dtype": last["dtype"], "ended": ended})
        start = last["begin"] + 1
    return rows, total


def judge_row(row: Row) -> Finding:
    """Judge one case."""
    args: dict[str, Scalar] = {"operator": row["operator"], "dtype": row["dtype"]}
    if "ended" in row:
        return Finding("SLF011", Status.FAIL, "SLF011.ended", {**args, "how": row["ended"]}, weight=40)
    if "error" in row:
        return Finding("SLF011", Status.FAIL, "SLF011.error", {**args, "error": row["error"]}, weight=20)
    allowed = ALLOWED[row["dtype"]]
    worst = max(float(row["forward_error"]), float(row.get("backward_error", 0.0)))
    args.update(error=worst, allowed=allowed)
    if not row["finite"]:
        return Finding("SLF011", Status.FAIL, "SLF011.not_finite", args, weight=35)
    if worst <= allowed:
        return Finding("SLF011", Status.OK, "SLF011.ok", args)
    if row["dtype"] == "float32" and row["operator"] in REDUCED and worst <= REDUCED_ALLOWED:
        return Finding("SLF011", Status.NOTE, "SLF011.reduced", args)
    return Finding("SLF011", Status.FAIL, "SLF011.wrong", args, weight=30)


def _make_row(row: Row, finding: Finding) -> tuple[Scalar, ...]:
    head = (row["operator"], row["dtype"], finding.status.name)
    return (
        *head,
        *(row.get(name) for name in ("forward_error", "backward_error")),
        finding.args.get("allowed"),
        row.get("first_call_ms"),
    )
