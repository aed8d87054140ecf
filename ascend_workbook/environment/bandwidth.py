"""The second half of `compute_check`: memory bandwidth, copies between host and device, one collective over all.

Each is a child of its own with its own time limit. A child that does not come to its end leaves what it measured and
one finding that says what could not be told: a hang here is neither good nor a wrong value.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ascend_workbook.diagnose import explain_text
from ascend_workbook.environment.children import PROBE, describe_end, rows_of
from ascend_workbook.environment.system import Args
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import bounded, device
from ascend_workbook.machine.launch.launch import CHILD as LAUNCHER

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
OF_A_JOB = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "RANK_TABLE_FILE",
    "RANK_ID",
    "RANK_SIZE",
    "TORCHELASTIC_RUN_ID",
)
#: Of a failed collective's output, the end: a rank's error is among its last lines.
LOG_CHARACTERS = 200_000
Row = dict[str, Any]


def measure_transfers(
    tier: str, accelerator: str, *, timeout_s: float = TRANSFERS_TIMEOUT_S, probe: Path = PROBE
) -> list[Row]:
    """Return a row a copy: {"device", "operation", "mib", "time_ms", "gb_per_s"}, and one {"part", "untold"} if cut
    short.
    """
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
    if ended < ranks:
        measured.append(_row_of_unfinished(done, timeout_s, accelerator, ended, ranks))
    return [row for row in measured if row]


def _row_of_unfinished(done: bounded.Output, timeout_s: float, accelerator: str, ended: int, ranks: int) -> Row:
    """Return the row of a collective that did not end: out of time or killed could not be told, an error that a rank
    raised on an accelerator is a failure. An error that a rank raised on an accelerator: it failed.
    """
    row: Row = {"part": "collective", "untold": describe_end(done, timeout_s), "ended": ended, "ranks": ranks}
    cause = explain_text("\n".join((done.stdout, done.stderr))[-LOG_CHARACTERS:])
    if cause is not None:
        row["untold"] = cause.cause
    row["failed"] = accelerator != "cpu" and not done.timed_out and done.code > 0
    return row


def join_ranks(rows: list[Row], ranks: int) -> Row:
    """Join one collective's rows of all ranks into one; empty where a rank has told nothing."""
    if len({row["rank"] for row in rows}) < ranks:
        return {}
    slowest = max(rows, key=lambda row: float(row["time_ms"]))
    first_wrong = next((row for row in rows if row["wrong"]), {})
    shown: Row = {name: first_wrong[name] for name in ("rank", "place", "got", "exact") if name in first_wrong}
    totals: Row = {name: sum(row[name] for row in rows) for name in ("wrong", "elements")}
    return {**slowest, **shown, **totals, "ranks": ranks, "device": f"{ranks} x {slowest['backend']}"}


def judge_row(row: Row) -> Finding:
    """Judge one row of either part."""
    if row.get("part") == "collective" and "untold" not in row:
        return Finding("ENV104", Status.NOTE, "ENV104.one", {"ranks": row["ranks"]})
    if row.get("failed"):
        return Finding("ENV104", Status.FAIL, "ENV104.failed", {"how": row["untold"], "ranks": row["ranks"]}, weight=45)
    if "part" in row:
        key = f"ENV103.cut_{row['part']}"
        return Finding("ENV103", Status.SKIPPED, key, {"how": row["untold"]}, weight=50)
    where: Args = {"case": case_of(row)}
    if "wrong" in row:
        return _judge_collective(row, where)
    if "structure" in row:
        return Finding("ENV101", Status.FAIL, "ENV101.structure", {**where, "got": row["structure"]}, weight=30)
    if "untold" in row or "out of memory" in str(row.get("error", "")):
        args: Args = {**where, "why": row.get("untold") or row["error"]}
        return Finding("ENV103", Status.SKIPPED, "ENV103.untold", args, weight=40)
    if "error" in row:
        return Finding("ENV103", Status.FAIL, "ENV103.error", {**where, "error": row["error"]}, weight=15)
    timed: Args = {**where, "gb_per_s": row["gb_per_s"], "mib": row["mib"]}
    return Finding("ENV103", Status.OK, "ENV103.ok", timed)


def _judge_collective(row: Row, where: Args) -> Finding:
    names = ("ranks", "wrong", "elements", "bus_gb_per_s", "mib")
    args: Args = dict(where)
    args.update((name, row[name]) for name in names)
    if not row["wrong"]:
        return Finding("ENV104", Status.OK, "ENV104.ok", args)
    args.update(rank=row["rank"], place=row["place"], got=row["got"], exact=row["exact"])
    return Finding("ENV104", Status.FAIL, "ENV104.wrong", args, weight=45)


def case_of(row: Row) -> Sentence:
    """Return `npu:0 copy to the device int32`, as a sentence."""
    operation: str = row["operation"]
    name = Sentence(f"environment.{operation}") if operation.startswith("copy") else operation
    return Sentence("environment.case", device=row["device"], operation=name, dtype=row["dtype"])


def _child_environment(tier: str, seconds: int) -> dict[str, str]:
    """Return the device's environment, free of a job's; hccl gives up in time to say why; gloo needs no name of this
    host.
    """
    env = {name: text for name, text in device.child_environment(tier).items() if name not in OF_A_JOB}
    env.setdefault("HCCL_CONNECT_TIMEOUT", str(max(120, seconds)) if tier == "npu" else str(seconds))
    env.setdefault("GLOO_SOCKET_IFNAME", "lo")
    env["OMP_NUM_THREADS"] = env.get("OMP_NUM_THREADS", "1")
    return env
