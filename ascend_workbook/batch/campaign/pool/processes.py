"""The processes of a run: who they are, what memory they hold together, and their end."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import psutil

#: In the environment of a run's processes and of all that they start: the run's folder.
MARK = "ASCEND_WORKBOOK_RUN"
PR_SET_CHILD_SUBREAPER = 36
MIB = 1 << 20
#: Seconds between SIGTERM and SIGKILL; a kernel saves nothing then, a training script may close its card.
GRACE_S = 5.0
#: Seconds that the killed may take to go: one stuck in a driver call is left behind.
GONE_S = 5.0


def adopt_orphans() -> None:
    """Make this process, instead of init, the parent of what its descendants leave behind: prctl(2), Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def processes_below(pid: int) -> list[psutil.Process]:
    """Return the process and all that it started. What it adopted is among them; empty where it ended."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def marked_processes(folder: Path) -> list[psutil.Process]:
    """Return all processes of the run in the folder but this one, whoever their parents are now."""
    matches = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == str(folder):
                matches.append(process)
        except (psutil.Error, OSError):
            continue  # another user's, or it ended
    return matches


def find_run_processes(pid: int, folder: Path, seen_processes: Collection[psutil.Process] = ()) -> list[psutil.Process]:
    """Return the processes below `pid`, all others of the run, and those of `seen_processes` that still live."""
    return list({*processes_below(pid), *marked_processes(folder), *filter(_is_alive, seen_processes)})


def measure_memory_mb(processes: Sequence[psutil.Process], limit_mb: int = 0) -> int:
    """Return the MiB that the processes hold together. What they share is counted once, where it decides about
    `limit_mb`.
    """
    resident = sum(_measure_mib(process, lambda process: int(process.memory_info().rss)) for process in processes)
    if limit_mb and resident > limit_mb:
        shared_once = sum(_measure_mib(process, _proportional_bytes) for process in processes)
        return shared_once or resident
    return resident


def _proportional_bytes(process: psutil.Process) -> int:
    memory_info = process.memory_full_info()
    return int(getattr(memory_info, "pss", memory_info.rss))


def _measure_mib(process: psutil.Process, measure: Callable[[psutil.Process], int]) -> int:
    try:
        return measure(process) // MIB
    except psutil.Error:
        return 0


def end_processes(find: Callable[[], list[psutil.Process]], grace_s: float = GRACE_S) -> list[int]:
    """Send SIGTERM to all processes that `find` gives, and SIGKILL to those that stay and to those that came since.

    Returns the ids of processes that even so are there.
    """
    asked_processes = find()
    _signal_all(asked_processes, psutil.Process.terminate)
    _, stay = psutil.wait_procs(asked_processes, timeout=grace_s)
    until = time.monotonic() + GONE_S
    remaining = list({*stay, *find()})
    while remaining and time.monotonic() < until:
        _signal_all(remaining, psutil.Process.kill)
        psutil.wait_procs(remaining, timeout=0.2)
        remaining = [process for process in {*remaining, *find()} if _is_alive(process)]
    return [process.pid for process in remaining]


def _signal_all(processes: Sequence[psutil.Process], send_signal: Callable[[psutil.Process], None]) -> None:
    for process in processes:
        try:
            send_signal(process)
        except psutil.Error:
            continue  # it ended


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
