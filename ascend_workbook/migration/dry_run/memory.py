"""How much memory both sides of a dry run held, whether it grew, and what to do where the model is too large."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.migration.dry_run.reduce import reduce_training
from ascend_workbook.migration.dry_run.sides import Plan

#: Of what the machine has left, the share that a run may take before it is ended.
SHARE = 0.9
MIB = 2**20
#: Growth that is none: allocators round, and loaders fill their queues.
QUIET_MIB, QUIET_SHARE, LEAST_STEPS = {"device": 1, "host": 4}, 0.02, 4
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
#: Messages of allocators: PyTorch's on the host and on devices, numpy's, CANN's.
NO_MEMORY = re.compile(
    r"MemoryError|can't allocate memory|out of memory|OutOfMemoryError|Unable to allocate .*iB|Cannot allocate memory"
)


def available_mib(meminfo: Path = Path("/proc/meminfo"), cgroups: Iterable[tuple[str, str]] = CGROUPS) -> int | None:
    """Return what a new process may take: of the machine, and of the container where that is less. None: not to be
    told.
    """
    try:
        match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text(encoding="ascii"))
    except OSError:
        return None
    left = [int(match[1]) // 1024] if match else []
    for limit, used in cgroups:
        try:
            most, now = Path(limit).read_text(encoding="ascii").strip(), Path(used).read_text(encoding="ascii")
        except OSError:
            continue
        if most.isdigit():
            left.append((int(most) - int(now)) // MIB)
    return max(min(left), 0) if left else None


def limit_mib(nproc: int) -> int | None:
    """Return the memory limit for each process of a run."""
    left = available_mib()
    return None if left is None else max(int(left * SHARE) // nproc, 1)


def read_memory_logs(result: LaunchResult) -> list[dict[str, Any]]:
    """Read what memory_watch.py wrote, rank by rank."""
    return [dict(log.meta["memory"]) for log in result.logs if log.meta.get("memory")]


def collect_peaks(result: LaunchResult | None) -> dict[str, Any]:
    """Collect the peaks of all ranks together: `host_mib`, and `device_mib` where the device has memory of its own."""
    ranks = read_memory_logs(result) if result is not None else []
    device = [rank["device_peak_mib"] for rank in ranks if rank["device_peak_mib"] is not None]
    return {
        "host_mib": sum(rank["host_peak_mib"] for rank in ranks) if ranks else None,
        "device_mib": sum(device) if device else None,
    }


def report_memory(before: LaunchResult, after: LaunchResult | None) -> list[Finding]:
    """Report the peaks of both sides, and growth from step to step."""
    args: dict[str, Scalar] = {}
    for side, result in (("baseline", before), ("target", after)):
        sizes = {name.removesuffix("_mib"): size for name, size in collect_peaks(result).items()}
        args.update({f"{side}_{name}": None if size is None else f"{size} MiB" for name, size in sizes.items()})
    memory_findings = [Finding("MIG144", Status.OK, "MIG144.peaks", args)]
    for side, result in (("baseline", before), ("target", after)):
        memory_findings += _find_growth(side, result) if result is not None else []
    return memory_findings


def _find_growth(side: str, result: LaunchResult) -> list[Finding]:
    """What grows at every step after the first; the first fills caches and the optimiser's state."""
    for memory in read_memory_logs(result):
        for at, where in ((1, "device"), (0, "host")):
            held = [step[at] for step in memory["steps"][1:] if step[at] is not None]
            more = [after - before for before, after in zip(held, held[1:])]
            if len(more) < LEAST_STEPS - 1 or min(more) <= 0:
                continue
            total = held[-1] - held[0]
            if total > max(QUIET_MIB[where] * len(more), QUIET_SHARE * held[0]):
                growth_args: dict[str, Scalar] = {
                    "side": Sentence(f"migration.side.{side}"),
                    "where": Sentence(f"migration.memory.{where}"),
                    "each": round(total / len(more), 1),
                    "first": held[0],
                    "last": held[-1],
                }
                return [Finding("MIG144", Status.WARN, "MIG144.grows", growth_args)]
    return []


def too_large(plan: Plan, side: str, result: LaunchResult) -> Finding | None:
    """Where a side died for want of memory: what shows it, and a smaller configuration to try."""
    why = _find_evidence(result)
    if why is None:
        return None
    changes, words = reduce_training(plan.script, plan.args, plan.nproc)
    script = [plan.script.name, *words]
    smaller = ["ascend-workbook", "dry-run", *(["--nproc", str(plan.nproc)] if plan.nproc > 1 else []), *script]
    meta = ["ascend-workbook", "dry-run", "--meta", plan.script.name, *plan.args]
    changed: list[Scalar] = [
        f"{change.option.names[0]} {'?' if change.option.now is None else change.option.now} -> {change.to}"
        for change in changes
    ]
    args: dict[str, Scalar] = {
        "side": Sentence(f"migration.side.{side}"),
        "why": why,
        "peak": collect_peaks(result)["host_mib"],
        "changes": changed,
        "meta": shlex.join(meta),
    }
    if not changes:
        return Finding("MIG145", Status.FAIL, "MIG145.no_option", args, weight=1500.0)
    args["command"] = shlex.join(smaller)
    args["places"] = [str(change.option.place) for change in changes]
    return Finding("MIG145", Status.FAIL, "MIG145.too_large", args, weight=1500.0)


def _find_evidence(result: LaunchResult) -> Sentence | None:
    """Our own limit, the kernel's kill, or an allocator's message."""
    ended = [memory for memory in read_memory_logs(result) if memory["ended"]]
    if ended:
        return Sentence("MIG145.limit", limit=ended[0]["limit_mib"], held=ended[0]["host_peak_mib"])
    text = "" if result.error is None else f"{result.error.type} {result.error.message}"
    if result.error is not None and NO_MEMORY.search(text):
        return Sentence("MIG145.refused", error=text.strip().splitlines()[0][:300])
    tail = "" if result.error is None else "\n".join(result.error.traceback)
    killed = result.outcome == "killed" and result.exit_code == -9
    return Sentence("MIG145.killed") if killed or re.search(r"exitcode\s*: -9|Signal 9 \(SIGKILL\)", tail) else None
