"""`compute_check`: does every device compute right, how fast is it, its memory, its links. A row a measurement.

Three children, each with its own time limit: the computation, the copies, a collective (see bandwidth.py).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ascend_workbook.environment import bandwidth
from ascend_workbook.environment.children import PROBE, describe_end, rows_of
from ascend_workbook.environment.readiness import STAGE
from ascend_workbook.environment.system import Args
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded, device
from ascend_workbook.machine.device import Device, find
from ascend_workbook.machine.launch.child.simulator import requested_settings

TIMEOUT_S = 300.0
WEIGHT = 105.0
#: Largest error allowed, relative to the sum of the terms' magnitudes. One rounding to the dtype costs half a
#: unit in the last place (2^-24, 2^-11, 2^-8); twice that is allowed, and a float32 product of 512 terms adds
#: rounding of the sums (at most 512 * 2^-24 = 3e-5, in practice under 2e-7).
ALLOWED = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}
ALLOWED_ADD = {"float32": 1.2e-7, "float16": 1e-3, "bfloat16": 8e-3}
COMPUTED = ("add", "matmul")
#: A float32 product whose inputs were rounded to 10 bits (TF32, HF32) is off by about 2^-11 of the magnitudes.
REDUCED = 1e-3
COLUMNS = (
    Column("case"),
    Column("status"),
    Column("max_error"),
    Column("allowed_error"),
    Column("time", "ms"),
    Column("compute_rate", "GFLOP/s"),
    Column("bandwidth", "GB/s"),
    Column("bus_bandwidth", "GB/s"),
)


def compute_check(device: str | Device = "auto", *, size: int = 256, timeout_s: float = TIMEOUT_S) -> Report:
    """Add and multiply (size, size) matrices on each device in float32, float16 and bfloat16, against exact values;
    copy on the device and to and from it (pageable, pinned); sum over all devices (hccl, nccl, or gloo's two ranks).

    `device` is a word as `check` takes it, or what was found already. Times are medians; on the simulated NPU they are
    the CPU's. A part that does not end within its time could not be told (SKIPPED). Where the device asked for is not
    here the report fails and says why. Raises WorkbookError `device.unknown`.
    """
    try:
        chosen = device if isinstance(device, Device) else find(device)
    except WorkbookError as error:
        if error.key != "device.absent":
            raise
        return Report(STAGE, "compute_check", (Finding("ENV100", Status.FAIL, error.key, error.arguments),))
    rows, broken = measure_compute(chosen.tier, chosen.accelerator, size=size, timeout_s=timeout_s)
    if broken is None:  # a device that cannot add is not asked for its speed
        ranks = bandwidth.CPU_RANKS if chosen.tier == "cpu" else chosen.count
        rows += bandwidth.measure_transfers(chosen.tier, chosen.accelerator)
        rows += bandwidth.measure_collectives(chosen.tier, chosen.accelerator, ranks)
    return report_on(rows, broken, chosen.tier)


def measure_compute(
    tier: str, accelerator: str, *, size: int, timeout_s: float = TIMEOUT_S, probe: Path = PROBE
) -> tuple[list[dict[str, Any]], Args | None]:
    """Return the child's rows and, where it did not come to its end, how it ended."""
    real = tier in ("npu", "cuda")
    command = [sys.executable, str(probe), accelerator, "compute", str(size), "4096" if real else "256"]
    done = bounded.run_bounded(command, env=device.child_environment(tier), timeout_s=timeout_s)
    rows = rows_of(done.stdout)
    ended = any(row.get("done") for row in rows)
    return merge_rows(rows), None if ended else {"how": describe_end(done, timeout_s)}


def merge_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge the comparison and the timing of the same operation into one row a case."""
    cases: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        if "operation" in row:
            cases.setdefault((row["device"], row["dtype"], row["operation"]), {}).update(row)
    return list(cases.values())


def report_on(rows: list[dict[str, Any]], broken: Args | None, tier: str) -> Report:
    """Report on measurements already taken."""
    findings = [judge_row(row) for row in rows]
    table = tuple(_table_row(row, finding) for row, finding in zip(rows, findings) if "operation" in row)
    timed = any("time_ms" in row for row in rows)
    return Report(
        stage=STAGE,
        verb="compute_check",
        findings=(make_verdict(rows, findings, broken), *findings),
        table=Table(COLUMNS, table),
        chart=Chart("bars", "case", ("time",), "ms", log=True) if timed else None,
        facts={
            "measurements": rows,
            "allowed": ALLOWED,
            "allowed_add": ALLOWED_ADD,
            "simulator": requested_settings() if tier == "npu-simulated" else {},
        },
        tier=tier,
    )


def judge_row(row: dict[str, Any]) -> Finding:
    """Judge one measurement: an error, a wrong structure, a value not finite, too large an error, or good."""
    if "operation" not in row or row["operation"] not in COMPUTED:
        return bandwidth.judge_row(row)
    where: Args = {"case": bandwidth.case_of(row)}
    if "error" in row:
        return Finding("ENV101", Status.FAIL, "ENV101.error", {**where, "error": row["error"]}, weight=20)
    if "structure" in row:
        return Finding("ENV101", Status.FAIL, "ENV101.structure", {**where, "got": row["structure"]}, weight=30)
    if "max_error" not in row:
        return Finding("ENV102", Status.OK, "ENV102.timed", {**where, "time": f"{row['time_ms']:.3g} ms"})
    values: Args = {**where, "error": row["max_error"], "allowed": allowed_error(row), "place": str(row["place"])}
    values.update(got=row["got"], exact=row["exact"], not_finite=row["not_finite"])
    if row["not_finite"]:
        return Finding("ENV101", Status.FAIL, "ENV101.not_finite", values, weight=40)
    if row["max_error"] <= allowed_error(row):
        return Finding("ENV101", Status.OK, "ENV101.ok", values)
    if row["dtype"] == "float32" and row["operation"] == "matmul" and row["max_error"] <= REDUCED:
        return Finding("ENV101", Status.WARN, "ENV101.reduced", values)
    return Finding("ENV101", Status.FAIL, "ENV101.wrong", values, weight=35)


def allowed_error(row: dict[str, Any]) -> float:
    return (ALLOWED_ADD if row["operation"] == "add" else ALLOWED)[row["dtype"]]


def make_verdict(rows: list[dict[str, Any]], findings: list[Finding], broken: Args | None) -> Finding:
    """Return the verdict: all right, or the first thing that is wrong."""
    computed = [row for row in rows if row.get("operation") in COMPUTED]
    checked = [row for row in computed if "max_error" in row or "structure" in row]
    devices = len({row["device"] for row in checked})
    args: Args = {"compared": len(checked), "devices": devices}
    failed = [finding for finding in findings if finding.status is Status.FAIL]
    if broken:
        return Finding("ENV100", Status.FAIL, "ENV100.died", {**args, **broken, "rows": len(rows)}, weight=WEIGHT)
    if failed:
        first = max(failed, key=lambda finding: finding.weight)
        args.update(count=len(failed), first=Sentence(first.key, **first.args))
        return Finding("ENV100", Status.FAIL, "ENV100.wrong", args, weight=WEIGHT)
    if not checked:
        return Finding("ENV100", Status.SKIPPED, "ENV100.nothing", args, weight=WEIGHT)
    worst = max(finding.status for finding in findings)
    skipped = [finding for finding in findings if finding.status is Status.SKIPPED]
    if skipped and worst is Status.SKIPPED:
        first = max(skipped, key=lambda finding: finding.weight)
        args["first"] = Sentence(first.key, **first.args)
        return Finding("ENV100", worst, "ENV100.partly", args, weight=WEIGHT)
    return Finding("ENV100", worst, "ENV100.reduced" if worst is Status.WARN else "ENV100.ok", args, weight=WEIGHT)


def _table_row(row: dict[str, Any], finding: Finding) -> tuple[Scalar, ...]:
    error = row.get("max_error")
    return (
        bandwidth.case_of(row),
        finding.status.name,
        error,
        None if error is None else allowed_error(row),
        row.get("time_ms"),
        row.get("gflops"),
        row.get("gb_per_s"),
        row.get("bus_gb_per_s"),
    )
