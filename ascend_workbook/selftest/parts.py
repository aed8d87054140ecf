"""The parts of a self-test: what each looks at, how long it may take."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.environment import environment_check
from ascend_workbook.environment.compute import BACKENDS, case_of, describe_end, judge_row, measure_collectives, rows_of
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded, device
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, launch
from ascend_workbook.migration.dry_run.judge import LOSS_DIGITS, find_worst_step, pair_losses
from ascend_workbook.profiling import analyse, profile
from ascend_workbook.profiling.facts import load_profile

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
    findings = [judge_operator(row) for row in rows]
    bad = [finding for finding in findings if finding.status is Status.FIX]
    args: dict[str, Scalar] = {"count": len(rows), "total": total, "bad": len(bad)}
    if bad:
        args["first"] = Sentence(bad[0].key, **bad[0].args)
        verdict = Finding("SLF010", Status.FIX, "SLF010.bad", args, weight=100)
    elif not rows or len(rows) < total:
        verdict = Finding("SLF010", Status.NOT_LOOKED, "SLF010.partly", args, weight=100)
    else:
        verdict = Finding("SLF010", max(finding.status for finding in findings), "SLF010.ok", args, weight=100)
    table = Table(COLUMNS, tuple(_make_row(row, finding) for row, finding in zip(rows, findings)))
    facts = {"rows": rows, "total": total, "allowed": ALLOWED}
    return Report("environment", "selftest_operators", (verdict, *findings), table, facts=facts, tier=chosen.tier)


def measure_operators(
    chosen: device.Device, child: Path, limit_s: int, budget_s: float = BUDGET_S
) -> tuple[list[Row], int]:
    """The rows, and how many there should be; where the budget is spent, those that came until then. The case that ends
    the child (a crash, or a hang its watchdog ends) is one row; the child starts again behind it. A case may take a
    third of the budget at most: one that hangs is then still told from many that are slow."""
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


def judge_operator(row: Row) -> Finding:
    """Judge one case."""
    args: dict[str, Scalar] = {"operator": row["operator"], "dtype": row["dtype"]}
    if "ended" in row:
        return Finding("SLF011", Status.FIX, "SLF011.ended", {**args, "how": row["ended"]}, weight=40)
    if "error" in row:
        return Finding("SLF011", Status.FIX, "SLF011.error", {**args, "error": row["error"]}, weight=20)
    allowed = ALLOWED[row["dtype"]]
    worst = max(float(row["forward_error"]), float(row.get("backward_error", 0.0)))
    args.update(error=worst, allowed=allowed)
    if not row["finite"]:
        return Finding("SLF011", Status.FIX, "SLF011.not_finite", args, weight=35)
    if worst <= allowed:
        return Finding("SLF011", Status.GOOD, "SLF011.ok", args)
    if row["dtype"] == "float32" and row["operator"] in REDUCED and worst <= REDUCED_ALLOWED:
        return Finding("SLF011", Status.NOTE, "SLF011.reduced", args)
    return Finding("SLF011", Status.FIX, "SLF011.wrong", args, weight=30)


def _make_row(row: Row, finding: Finding) -> tuple[Scalar, ...]:
    errors = (row.get("forward_error"), row.get("backward_error"), finding.args.get("allowed"))
    return (row["operator"], row["dtype"], finding.status.json, *errors, row.get("first_call_ms"))


SCRIPTS = Path(__file__).resolve().parents[2] / "notebooks" / "scripts"
SAME_TEXT = Path(__file__).with_name("child") / "same_text.py"
#: The CPU's losses, made by tests/selftest/make_baselines.py, with a tolerance for each number type: so a machine
#: without a GPU can tell whether its NPU trains right.
BASELINES = Path(__file__).with_name("data") / "baselines.json"
SEED = 1234
SCRIPT_TIMEOUT_S, SCRIPTS_BUDGET_S = 300.0, 1000.0
#: Beyond the tolerance but within so many times it: rounding that steps compounded, to be looked at, no wrong operator.
DRIFT = 25.0
LOSS_COLUMNS = (
    *map(Column, ("script", "dtype", "step")),
    *(Column(name, digits=LOSS_DIGITS) for name in ("baseline", "target")),
    *map(Column, ("relative_error", "allowed_error")),
)


def check_scripts(chosen: device.Device, budget_s: float = SCRIPTS_BUDGET_S, *, scripts: Path = SCRIPTS) -> Report:
    """A row a step of each script and number type; Good where every loss is within its tolerance."""
    deadline = time.monotonic() + budget_s
    known = json.loads(BASELINES.read_text(encoding="utf-8"))
    rows: list[tuple[Scalar, ...]] = []
    findings: list[Finding] = []
    runs = []
    for number, case in enumerate(known["cases"]):
        timeout_s = min(SCRIPT_TIMEOUT_S, max(1.0, (deadline - time.monotonic()) / (len(known["cases"]) - number)))
        if not (scripts / case["script"]).is_file():
            args: dict[str, Scalar] = {"script": case["script"], "folder": str(scripts)}
            findings.append(Finding("SLF021", Status.NOT_LOOKED, "SLF021.absent", args))
            continue
        with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
            result = run_script(chosen, scripts / case["script"], case["args"], case["steps"], Path(folder), timeout_s)
            findings.append(judge_script(case, result, known["tolerance"]))
        runs.append({"script": case["script"], "dtype": case["dtype"], "losses": result.losses})
        rows += _make_rows(case, result, known["tolerance"])
    facts = {"runs": runs, "baseline": {name: known[name] for name in ("torch", "device", "tolerance")}}
    table = Table(LOSS_COLUMNS, tuple(rows))
    all_findings = (_make_verdict(findings), *findings)
    return Report("environment", "selftest_scripts", all_findings, table, facts=facts, tier=chosen.tier)


def run_script(
    chosen: device.Device, script: Path, args: list[str], steps: int, folder: Path, timeout_s: float
) -> LaunchResult:
    """Runs so many steps; what the script writes goes into the folder."""
    pinned: dict[str, Any] = {"steps": steps, "seed": SEED, "deterministic": True, "plugins": (Plugin(SAME_TEXT),)}
    places: dict[str, Any] = {"out": folder / "launch", "cwd": folder, "python": sys.executable}
    return launch(LaunchSpec(script=script, args=args, timeout_s=timeout_s, **places, **pinned).on(chosen))


def judge_script(case: dict[str, Any], result: LaunchResult, tolerance: dict[str, float]) -> Finding:
    """Judge one script in one number type."""
    args: dict[str, Scalar] = {"script": case["script"], "dtype": case["dtype"], "steps": case["steps"]}
    if result.trouble is not None:
        return Finding("SLF021", Status.FIX, "SLF021.failed", {**args, "why": result.trouble}, weight=30)
    far = find_worst_step(pair_losses(case["losses"], result.losses))
    if far is None or far.error is None or len(result.losses) < case["steps"]:
        return Finding("SLF021", Status.FIX, "SLF021.no_loss", {**args, "done": len(result.losses)}, weight=20)
    args.update(error=f"{far.error:.2g}", step=far.step, tolerance=f"{tolerance[case['dtype']]:g}")
    if far.error <= tolerance[case["dtype"]]:
        return Finding("SLF021", Status.GOOD, "SLF021.ok", args)
    if case["dtype"] == "float32" and far.error <= tolerance["hf32"]:
        return Finding("SLF021", Status.NOTE, "SLF021.reduced", args)
    drift = far.error <= DRIFT * tolerance[case["dtype"]]
    return Finding("SLF021", Status.LOOK if drift else Status.FIX, "SLF021.beyond", args, weight=25)


def _make_verdict(findings: list[Finding]) -> Finding:
    status = max((finding.status for finding in findings), default=Status.NOT_LOOKED)
    args: dict[str, Scalar] = {"count": len(findings)}
    first = max(findings, key=lambda finding: (finding.status, finding.weight), default=None)
    if first is not None and status >= Status.NOT_LOOKED:
        args["first"] = Sentence(first.key, **first.args)
        return Finding("SLF020", status, "SLF020.bad", args, weight=100)
    return Finding("SLF020", status, "SLF020.ok", args, weight=100)


def _make_rows(case: dict[str, Any], result: LaunchResult, tolerance: dict[str, float]) -> list[tuple[Scalar, ...]]:
    allowed = tolerance[case["dtype"]]
    return [
        (case["script"], case["dtype"], entry.step, entry.baseline, entry.target, entry.error, allowed)
        for entry in pair_losses(case["losses"], result.losses)
    ]


# The profiler: a short trace of a bundled script, collected, read back, and asked for its answers.

SCRIPT = "resnet_digits.py"
ARGS = ("--depth", "14", "--width", "8", "--batch-size", "32")
STEPS, PROFILE_TIMEOUT_S = 3, 420.0


def check_profiler(device: Device, budget_s: float = PROFILE_TIMEOUT_S, *, scripts: Path = SCRIPTS) -> Report:
    """What was recorded and what `analyse` makes of it, as one report."""
    script = scripts / SCRIPT
    if not script.is_file():
        absent = Finding("SLF021", Status.NOT_LOOKED, "SLF021.absent", {"script": SCRIPT, "folder": str(scripts)})
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
        return Finding("SLF030", Status.FIX, "SLF030.unreadable", {"why": why}, weight=110)
    operators = next((part.table for part in answer.parts if part.verb == "top_operators"), None)
    args: dict[str, Scalar] = {
        "steps": len(recorded.trace.steps),
        "wanted": STEPS,
        "kernels": recorded.trace.count_events("compute"),
        "operators": len(operators.rows) if operators else 0,
    }
    kernels = bool(args["kernels"]) or device.accelerator == "cpu"
    good = args["steps"] == STEPS and kernels and bool(args["operators"])
    key, status = ("SLF030.ok", Status.GOOD) if good else ("SLF030.lacks", Status.FIX)
    return Finding("SLF030", status, key, args, weight=110)


# Collectives over two ranks: hccl on an NPU, each one's values checked.

OPERATIONS = ("all_reduce", "broadcast", "all_gather")
RANKS = 2
COLLECTIVES_TIMEOUT_S = 240.0
COLLECTIVES_COLUMNS = (Column("case"), Column("status"), Column("time", "ms"), Column("bus_bandwidth", "GB/s"))


def check_collectives(device: Device, budget_s: float = COLLECTIVES_TIMEOUT_S) -> Report:
    """A row a collective. One device alone could not be looked at: Not looked, not good."""
    if device.accelerator != "cpu" and device.count < RANKS:
        alone = Finding("SLF040", Status.NOT_LOOKED, "SLF040.one", {"count": device.count})
        return Report("environment", "selftest_hccl", (alone,), tier=device.tier)
    timeout_s = min(COLLECTIVES_TIMEOUT_S, budget_s)
    rows = measure_collectives(device.tier, device.accelerator, RANKS, operations=OPERATIONS, timeout_s=timeout_s)
    findings = [judge_row(row) for row in rows]
    shown = [(row, finding) for row, finding in zip(rows, findings) if "operation" in row]
    cells: list[tuple[Scalar, ...]] = [
        (case_of(row), finding.status.json, row["time_ms"], row["bus_gb_per_s"]) for row, finding in shown
    ]
    good = len(shown) == len(OPERATIONS) and all(finding.status is Status.GOOD for finding in findings)
    args: dict[str, Scalar] = {"count": len(shown), "ranks": RANKS, "backend": BACKENDS[device.accelerator]}
    good_findings = (Finding("SLF040", Status.GOOD, "SLF040.ok", args),) if good else ()
    table = Table(COLLECTIVES_COLUMNS, tuple(cells))
    all_findings, facts = (*good_findings, *findings), {"rows": rows}
    return Report("environment", "selftest_hccl", all_findings, table, facts=facts, tier=device.tier)


@dataclass(frozen=True)
class Part:
    """`look(device, budget_s)` gives its report, in a child of its own; `always`: it needs no device. The budget is
    what a part divides among its own children, so that it comes to its end, with what it has found, before `timeout_s`
    ends it."""

    name: str
    look: Callable[[Device, float], Report]
    timeout_s: float
    always: bool = False

    def run_within(self, device: Device, timeout_s: float | None = None) -> Report:
        """Its report; a tenth of the time is kept for starting and for writing."""
        return self.look(device, 0.9 * (timeout_s or self.timeout_s))


PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        Part("check", lambda device, budget_s: environment_check(device.tier), 900.0, always=True),
        Part("operators", check_operators, 1800.0),
        Part("scripts", check_scripts, 1200.0),
        Part("profiler", check_profiler, 900.0),
        Part("hccl", check_collectives, 300.0),
    )
}
