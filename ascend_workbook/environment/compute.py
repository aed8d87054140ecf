"""`compute_check`: does every device compute right, how fast is it, its memory, its links. A row a measurement.

Three children, each with its own time limit: the computation; the copies; a collective over all devices. A child that
does not come to its end leaves what it measured and one finding that says what could not be told: a hang is neither
good nor a wrong value.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from ascend_workbook.diagnose import explain_text
from ascend_workbook.environment.readiness import STAGE, check
from ascend_workbook.environment.system import Args, read_variables
from ascend_workbook.findings import report
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded, device
from ascend_workbook.machine.device import Device, find
from ascend_workbook.machine.launch.child.simulator import requested_settings
from ascend_workbook.machine.launch.launch import CHILD as LAUNCHER

PROBE = Path(__file__).with_name("child") / "compute.py"
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
    *map(Column, ("case", "status", "max_error", "allowed_error")),
    *(Column("time", "ms"), Column("compute_rate", "GFLOP/s")),
    *(Column("bandwidth", "GB/s"), Column("bus_bandwidth", "GB/s")),
)


def compute_check(device: str | Device = "auto", *, size: int = 256, timeout_s: float = TIMEOUT_S) -> Report:
    """Add and multiply (size, size) matrices on each device in float32, float16 and bfloat16, against exact values;
    copy on the device and to and from it (pageable, pinned); sum over all devices (hccl, nccl, or gloo's two ranks).

    `device` is a word as `check` takes it, or what was found already. Times are medians; on the simulated NPU they are
    the CPU's. A part that does not end within its time could not be told (Not looked). Where the device asked for is
    not here the report fails and says why. Raises WorkbookError `device.unknown`.
    """
    try:
        chosen = device if isinstance(device, Device) else find(device)
    except WorkbookError as error:
        if error.key != "device.absent":
            raise
        return Report(STAGE, "compute_check", (Finding("ENV100", Status.FIX, error.key, error.arguments),))
    rows, broken = measure_compute(chosen.tier, chosen.accelerator, size=size, timeout_s=timeout_s)
    if broken is None:  # a device that cannot add is not asked for its speed
        ranks = CPU_RANKS if chosen.tier == "cpu" else chosen.count
        rows += measure_transfers(chosen.tier, chosen.accelerator)
        rows += measure_collectives(chosen.tier, chosen.accelerator, ranks)
    return report_on(rows, broken, chosen.tier)


def measure_compute(
    tier: str, accelerator: str, *, size: int, timeout_s: float = TIMEOUT_S, probe: Path = PROBE
) -> tuple[list[dict[str, object]], Args | None]:
    """Return the child's rows and, where it did not come to its end, how it ended."""
    real = tier in ("npu", "cuda")
    command = [sys.executable, str(probe), accelerator, "compute", str(size), "4096" if real else "256"]
    done = bounded.run_bounded(command, env=device.child_environment(tier), timeout_s=timeout_s)
    rows = rows_of(done.stdout)
    ended = any(row.get("done") for row in rows)
    return merge_rows(rows), None if ended else {"how": describe_end(done, timeout_s)}


def merge_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge the comparison and the timing of the same operation into one row a case."""
    cases: dict[tuple[str, str, str], dict[str, object]] = {}
    for row in rows:
        if "operation" in row:
            cases.setdefault((row["device"], row["dtype"], row["operation"]), {}).update(row)
    return list(cases.values())


def report_on(rows: list[dict[str, object]], broken: Args | None, tier: str) -> Report:
    """Report on measurements already taken."""
    findings = [judge_row(row) for row in rows]
    table = Table(COLUMNS, tuple(_table_row(*pair) for pair in zip(rows, findings) if "operation" in pair[0]))
    chart = Chart("bars", "case", ("time",), "ms", log=True) if any("time_ms" in row for row in rows) else None
    facts: dict[str, object] = {"measurements": rows, "allowed": ALLOWED, "allowed_add": ALLOWED_ADD}
    facts["simulator"] = requested_settings() if tier == "npu-simulated" else {}
    all_findings = (make_verdict(rows, findings, broken), *findings)
    return Report(STAGE, "compute_check", all_findings, table, chart=chart, facts=facts, tier=tier)


def judge_row(row: dict[str, Any]) -> Finding:
    """Judge one measurement: an error, a wrong structure, a value not finite, too large an error, or good."""
    if "operation" not in row or row["operation"] not in COMPUTED:
        return judge_transfer(row)
    where: Args = {"case": case_of(row)}
    if "error" in row:
        return Finding("ENV101", Status.FIX, "ENV101.error", {**where, "error": row["error"]}, weight=20)
    if "structure" in row:
        return Finding("ENV101", Status.FIX, "ENV101.structure", {**where, "got": row["structure"]}, weight=30)
    if "max_error" not in row:
        return Finding("ENV102", Status.GOOD, "ENV102.timed", {**where, "time": f"{row['time_ms']:.3g} ms"})
    values: Args = {**where, "error": row["max_error"], "allowed": allowed_error(row), "place": str(row["place"])}
    values.update(got=row["got"], exact=row["exact"], not_finite=row["not_finite"])
    if row["not_finite"]:
        return Finding("ENV101", Status.FIX, "ENV101.not_finite", values, weight=40)
    if row["max_error"] <= allowed_error(row):
        return Finding("ENV101", Status.GOOD, "ENV101.ok", values)
    if row["dtype"] == "float32" and row["operation"] == "matmul" and row["max_error"] <= REDUCED:
        return Finding("ENV101", Status.LOOK, "ENV101.reduced", values)
    return Finding("ENV101", Status.FIX, "ENV101.wrong", values, weight=35)


def allowed_error(row: dict[str, Any]) -> float:
    return (ALLOWED_ADD if row["operation"] == "add" else ALLOWED)[row["dtype"]]


def make_verdict(rows: list[dict[str, Any]], findings: list[Finding], broken: Args | None) -> Finding:
    """Return the verdict: all right, or the first thing that is wrong."""
    computed = [row for row in rows if row.get("operation") in COMPUTED]
    checked = [row for row in computed if "max_error" in row or "structure" in row]
    devices = len({row["device"] for row in checked})
    args: Args = {"compared": len(checked), "devices": devices}
    failed = [finding for finding in findings if finding.status is Status.FIX]
    if broken:
        return Finding("ENV100", Status.FIX, "ENV100.died", {**args, **broken, "rows": len(rows)}, weight=WEIGHT)
    if failed:
        first = max(failed, key=lambda finding: finding.weight)
        args.update(count=len(failed), first=Sentence(first.key, **first.args))
        return Finding("ENV100", Status.FIX, "ENV100.wrong", args, weight=WEIGHT)
    if not checked:
        return Finding("ENV100", Status.NOT_LOOKED, "ENV100.nothing", args, weight=WEIGHT)
    worst = max(finding.status for finding in findings)
    if worst is Status.NOT_LOOKED:
        skipped = (finding for finding in findings if finding.status is Status.NOT_LOOKED)
        first = max(skipped, key=lambda finding: finding.weight)
        args["first"] = Sentence(first.key, **first.args)
        return Finding("ENV100", worst, "ENV100.partly", args, weight=WEIGHT)
    return Finding("ENV100", worst, "ENV100.reduced" if worst is Status.LOOK else "ENV100.ok", args, weight=WEIGHT)


def _table_row(row: dict[str, Any], finding: Finding) -> tuple[Scalar, ...]:
    error = row.get("max_error")
    allowed = None if error is None else allowed_error(row)
    measured = (row.get(name) for name in ("time_ms", "gflops", "gb_per_s", "bus_gb_per_s"))
    return (case_of(row), finding.status.json, error, allowed, *measured)


def rows_of(text: str) -> list[dict[str, Any]]:
    """Return the lines that are JSON objects; a line cut by the child's death is not one."""
    rows = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            rows.append(json.loads(line))
    return [row for row in rows if isinstance(row, dict)]


def describe_end(done: bounded.Output, timeout_s: float) -> Sentence:
    """Describe how a child ended: out of time, by a signal, or with its last error."""
    if done.timed_out:
        return Sentence("ENV100.how_timeout", seconds=f"{timeout_s:g}")
    if done.code < 0:
        return Sentence("ENV100.how_signal", signal=-done.code)
    return Sentence("ENV100.how_error", error=done.last_error)


COLLECTIVE = Path(__file__).with_name("child") / "collective.py"
TRANSFERS_TIMEOUT_S, COLLECTIVE_TIMEOUT_S = 120.0, 180.0
BACKENDS = {"npu": "hccl", "cuda": "nccl", "cpu": "gloo"}
#: (MiB between host and device, MiB on the device) on real devices: an Atlas A2 has 192 MB of L2 cache, an H100 50;
#: elsewhere what a laptop copies in milliseconds.
REAL_MIB, SMALL_MIB = (256, 1024), (16, 64)
REAL_COLLECTIVE_MIB, SMALL_COLLECTIVE_MIB = 256, 4
#: Ranks of a collective where there is no accelerator.
CPU_RANKS = 2
#: A job's own variables, which would make the check's ranks join that job. ModelArts sets them in notebooks too.
OF_A_JOB = read_variables("rank")
#: Of a failed collective's output, the end: a rank's error is among its last lines.
LOG_CHARACTERS = 200_000
Row = dict[str, Any]


def measure_transfers(
    tier: str, accelerator: str, *, timeout_s: float = TRANSFERS_TIMEOUT_S, probe: Path = PROBE
) -> list[Row]:
    """Return a row a copy with `mib`, `time_ms` and `gb_per_s`, and one {"part", "untold"} if cut short."""
    host_mib, device_mib = REAL_MIB if tier in ("npu", "cuda") else SMALL_MIB
    command = [sys.executable, str(probe), accelerator, "transfers", str(host_mib), str(device_mib)]
    done = bounded.run_bounded(command, env=device.child_environment(tier), timeout_s=timeout_s)
    rows = rows_of(done.stdout)
    measured = [row for row in rows if "operation" in row]
    if not any(row.get("done") for row in rows):
        measured.append({"part": "transfers", "untold": describe_end(done, timeout_s)})
    return measured


def measure_collectives(
    tier: str,
    accelerator: str,
    ranks: int,
    *,
    operations: tuple[str, ...] = ("all_reduce",),
    timeout_s: float = COLLECTIVE_TIMEOUT_S,
    probe: Path = COLLECTIVE,
) -> list[Row]:
    """Return a row a collective, over all ranks: the slowest rank's time, the wrong elements of all; or why not.

    hccl on an NPU (also a simulated one), nccl on CUDA, gloo on the CPU, all ranks on this machine.
    """
    if ranks < 2:
        return [{"part": "collective", "ranks": ranks}]
    mib = REAL_COLLECTIVE_MIB if tier in ("npu", "cuda") else SMALL_COLLECTIVE_MIB
    start = [sys.executable, str(LAUNCHER / "torchrun.py"), "--standalone", "--local-addr=127.0.0.1"]
    seconds = max(1, int(timeout_s * 0.8))
    start += [f"--nproc_per_node={ranks}", str(probe), accelerator, BACKENDS[accelerator]]
    job = [*start, str(mib), str(seconds), ",".join(operations)]
    done = bounded.run_bounded(job, env=_child_environment(tier, seconds), timeout_s=timeout_s)
    rows = rows_of(done.stdout)
    measured = [join_ranks([row for row in rows if row.get("operation") == name], ranks) for name in operations]
    ended = sum(bool(row.get("done")) for row in rows)
    if ended < ranks:  # only an error of a rank on an accelerator is a failure
        cause = explain_text("\n".join((done.stdout, done.stderr))[-LOG_CHARACTERS:])
        failed = accelerator != "cpu" and not done.timed_out and done.code > 0
        untold = cause.cause if cause else describe_end(done, timeout_s)
        measured.append({"part": "collective", "untold": untold, "ended": ended, "ranks": ranks, "failed": failed})
    return [row for row in measured if row]


def join_ranks(rows: list[Row], ranks: int) -> Row:
    """Join one collective's rows of all ranks into one; empty where a rank has told nothing."""
    if len({row["rank"] for row in rows}) < ranks:
        return {}
    slowest = max(rows, key=lambda row: float(row["time_ms"]))
    first_wrong = next((row for row in rows if row["wrong"]), {})
    shown: Row = {name: first_wrong[name] for name in ("rank", "place", "got", "exact") if name in first_wrong}
    totals: Row = {name: sum(row[name] for row in rows) for name in ("wrong", "elements")}
    return {**slowest, **shown, **totals, "ranks": ranks, "device": f"{ranks} x {slowest['backend']}"}


def judge_transfer(row: Row) -> Finding:
    """Judge one row of either part."""
    if row.get("part") == "collective" and "untold" not in row:
        return Finding("ENV104", Status.NOTE, "ENV104.one", {"ranks": row["ranks"]})
    if row.get("failed"):
        return Finding("ENV104", Status.FIX, "ENV104.failed", {"how": row["untold"], "ranks": row["ranks"]}, weight=45)
    if "part" in row:
        return Finding("ENV103", Status.NOT_LOOKED, f"ENV103.cut_{row['part']}", {"how": row["untold"]}, weight=50)
    where: Args = {"case": case_of(row)}
    if "wrong" in row:
        return _judge_collective(row, where)
    if "structure" in row:
        return Finding("ENV101", Status.FIX, "ENV101.structure", {**where, "got": row["structure"]}, weight=30)
    if "untold" in row or "out of memory" in str(row.get("error", "")):
        args: Args = {**where, "why": row.get("untold") or row["error"]}
        return Finding("ENV103", Status.NOT_LOOKED, "ENV103.untold", args, weight=40)
    if "error" in row:
        return Finding("ENV103", Status.FIX, "ENV103.error", {**where, "error": row["error"]}, weight=15)
    timed: Args = {**where, "gb_per_s": row["gb_per_s"], "mib": row["mib"]}
    return Finding("ENV103", Status.GOOD, "ENV103.ok", timed)


def _judge_collective(row: Row, where: Args) -> Finding:
    args: Args = {**where, **{name: row[name] for name in ("ranks", "wrong", "elements", "bus_gb_per_s", "mib")}}
    if not row["wrong"]:
        return Finding("ENV104", Status.GOOD, "ENV104.ok", args)
    args.update(rank=row["rank"], place=row["place"], got=row["got"], exact=row["exact"])
    return Finding("ENV104", Status.FIX, "ENV104.wrong", args, weight=45)


def case_of(row: Row) -> Sentence:
    """Return `npu:0 copy to the device int32`, as a sentence."""
    operation: str = row["operation"]
    name = Sentence(f"environment.{operation}") if operation.startswith("copy") else operation
    return Sentence("environment.case", device=row["device"], operation=name, dtype=row["dtype"])


def _child_environment(tier: str, seconds: int) -> dict[str, str]:
    """Return the environment, free of a job's; hccl gives up in time to say why; gloo needs no host name."""
    env = {name: text for name, text in device.child_environment(tier).items() if name not in OF_A_JOB}
    env.setdefault("HCCL_CONNECT_TIMEOUT", str(max(120, seconds)) if tier == "npu" else str(seconds))
    env.setdefault("GLOO_SOCKET_IFNAME", "lo")
    env["OMP_NUM_THREADS"] = env.get("OMP_NUM_THREADS", "1")
    return env


def environment_check(
    device: str = "auto", *, compute: bool = True, work_folder: str | os.PathLike[str] = "."
) -> Report:
    """Return the machine's report and, unless `compute` is off or there is no such device, the computation's.

    With device auto and no accelerator here there is nothing to hold against the CPU: device cpu computes all the same.
    """
    machine = check(device, work_folder=work_folder)
    if not compute or not machine.tier or (device == "auto" and machine.tier == "cpu"):
        return join(machine)
    chosen = machine.facts["machine"]["chosen"]
    return join(machine, compute_check(Device(chosen["tier"], chosen["name"], chosen["count"])))


def join(*parts: Report) -> Report:
    """Join reports of this stage into one, with the tier of the first."""
    return report.join_reports(STAGE, "environment_check", list(parts), tier=parts[0].tier)
