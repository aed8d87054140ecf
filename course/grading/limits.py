"""A child that is held to a time and a memory, and ends with all that it started, whatever session that is in."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.machine.bounded import find_descendants

POLL_S = 0.25
#: Largest file a submission may write.
FILE_BYTES = 1 << 30
PR_SET_CHILD_SUBREAPER = 36
#: Loaded before a fork: the child of one must not load anything.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Limits:
    """For all processes of a submission together; `user` is the number of the Unix user they become, None: this one."""

    seconds: float = 900.0
    memory_mib: float = 6144.0
    processes: int = 400
    user: int | None = None
    group: int | None = None


@dataclass(frozen=True)
class Ended:
    """How it ended: the exit code, and what ended it ("time", "memory", "processes", or "": it ended by itself)."""

    code: int
    seconds: float
    cut: str = ""


def run_limited(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path, limits: Limits, sent: bytes = b""
) -> Ended:
    """Run a command with its output in `log`, and some bytes to read. Nothing that it started lives on."""
    began = time.monotonic()
    other: dict[str, Any] = {"user": limits.user, "group": limits.group, "extra_groups": []}
    as_user = other if limits.user is not None else {}
    with _orphans_end() as started, log.open("wb") as sink:
        process = subprocess.Popen(
            list(command),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_limit_resources,
            **as_user,
        )
        try:
            assert process.stdin
            with contextlib.suppress(BrokenPipeError), process.stdin:  # who ended before it read is told by its code
                process.stdin.write(sent)
            cut = _watch_process(process, started, began + limits.seconds, limits)
        finally:
            _end_processes(started())
            code = process.wait()
    return Ended(code, round(time.monotonic() - began, 1), cut)


def _limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    os.nice(5)


def _watch_process(
    process: subprocess.Popen[bytes], started: Callable[[], list[int]], deadline: float, limits: Limits
) -> str:
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)
            return ""
        if time.monotonic() > deadline:
            return "time"
        all_ = started()
        if len(all_) > limits.processes:
            return "processes"
        if sum(map(_private_mib, all_)) > limits.memory_mib:
            return "memory"


@contextlib.contextmanager
def _orphans_end() -> Iterator[Callable[[], list[int]]]:
    """Kill what was started in the block and lost its parent: it becomes a child of this process (prctl(2)).

    Yields what tells all that was started in it and lives, orphans too.
    """
    before = set(find_descendants(os.getpid()))

    def list_started() -> list[int]:
        return [pid for pid in find_descendants(os.getpid()) if pid not in before]

    if _LIBC is not None:
        _LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield list_started
    finally:
        for _ in range(100):  # who forks while we look is found the next time
            left = list_started()
            _end_processes(left)
            for pid in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if not left:
                break
            time.sleep(0.05)
        if _LIBC is not None:
            _LIBC.prctl(PR_SET_CHILD_SUBREAPER, 0)


def _end_processes(pids: Sequence[int]) -> None:
    """Stop all processes before the first is killed: none forks meanwhile."""
    for sign in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sign)


def _private_mib(pid: int) -> float:
    """Return resident memory that is no file's (statm of proc(5): resident minus shared)."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0.0
    return (int(fields[1]) - int(fields[2])) * resource.getpagesize() / (1 << 20)
