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


def adopt() -> None:
    """What the descendants of this process leave behind becomes its child, not init's: prctl(2), Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def below(pid: int) -> list[psutil.Process]:
    """The process and all that it started, also what it adopted; empty where it ended."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def marked(folder: Path) -> list[psutil.Process]:
    """All processes of the run in the folder, whoever their parents are now, but for this one."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == str(folder):
                found.append(process)
        except (psutil.Error, OSError):
            continue  # another user's, or it ended
    return found


def of_run(pid: int, folder: Path, seen: Collection[psutil.Process] = ()) -> list[psutil.Process]:
    """Those below the process `pid`, all others of the run, and of those `seen` below it before the ones that live."""
    return list({*below(pid), *marked(folder), *filter(_lives, seen)})


def memory_mb(processes: Sequence[psutil.Process], limit_mb: int = 0) -> int:
    """MiB that the processes hold together. What they share is counted once, where it decides about `limit_mb`."""
    held = sum(_mib(process, lambda one: int(one.memory_info().rss)) for process in processes)
    if limit_mb and held > limit_mb:
        shared_once = sum(_mib(process, _proportional) for process in processes)
        return shared_once or held
    return held


def _proportional(process: psutil.Process) -> int:
    told = process.memory_full_info()
    return int(getattr(told, "pss", told.rss))


def _mib(process: psutil.Process, read: Callable[[psutil.Process], int]) -> int:
    try:
        return read(process) // MIB
    except psutil.Error:
        return 0


def end(find: Callable[[], list[psutil.Process]], grace_s: float = GRACE_S) -> list[int]:
    """SIGTERM to all that `find` gives, SIGKILL to those that stay and to those that came since.

    Returns the ids of processes that even so are there.
    """
    asked = find()
    _send(asked, psutil.Process.terminate)
    _, stay = psutil.wait_procs(asked, timeout=grace_s)
    until = time.monotonic() + GONE_S
    left = list({*stay, *find()})
    while left and time.monotonic() < until:
        _send(left, psutil.Process.kill)
        psutil.wait_procs(left, timeout=0.2)
        left = [process for process in {*left, *find()} if _lives(process)]
    return [process.pid for process in left]


def _send(processes: Sequence[psutil.Process], what: Callable[[psutil.Process], None]) -> None:
    for process in processes:
        try:
            what(process)
        except psutil.Error:
            continue  # it ended


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
