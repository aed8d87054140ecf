"""Runs a command with a time limit that holds, even where a grandchild keeps the pipes open or a driver call hangs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

#: After the kill: a process stuck in the kernel (a dead driver) is left behind, not waited for.
GRACE_S = 2.0
PR_SET_PDEATHSIG = 1
#: Loaded before a fork: the child of one must not load anything.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Output:
    """What a command answered. `code` is negative for a signal; `timed_out` means it was stopped."""

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def last_error(self) -> str:
        """Return the last line it wrote, errors first: what a one-line message quotes."""
        lines = self.stderr.strip().splitlines() or self.stdout.strip().splitlines()
        return lines[-1].strip() if lines else f"exit code {self.code}"


def run_bounded(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, timeout_s: float, cwd: str | None = None
) -> Output:
    """Run a command within a time limit and return its output. Raises OSError where it cannot be started."""
    process = subprocess.Popen(
        list(command),
        env=None if env is None else dict(env),
        cwd=cwd,
        start_new_session=True,
        preexec_fn=_end_with_parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
        return Output(process.returncode, _decode_text(stdout), _decode_text(stderr))
    except subprocess.TimeoutExpired:
        _kill_tree(process)
        return Output(-signal.SIGKILL, *_what_came(process), timed_out=True)
    except BaseException:
        _kill_tree(process)
        raise


def _what_came(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    try:
        stdout, stderr = process.communicate(timeout=GRACE_S)
        return _decode_text(stdout), _decode_text(stderr)
    except subprocess.TimeoutExpired as still:
        streams: tuple[IO[bytes] | None, IO[bytes] | None] = (process.stdout, process.stderr)
        for stream in filter(None, streams):
            stream.close()
        return _decode_text(still.stdout), _decode_text(still.stderr)


def _end_with_parent() -> None:
    """End this child with its parent (prctl(2), Linux only): otherwise it would go on holding the device."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill its group, and what it started in sessions of their own: found by their parents, so they go last."""
    below = find_descendants(process.pid)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    kill_same(below)


def kill_same(processes: Mapping[int, tuple[str, ...]]) -> None:
    """Kill those of `find_descendants` that are the same processes still, though their parents are others by now."""
    for pid, began in processes.items():
        if _read_stat(pid)[1:] == began:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def find_descendants(root: int) -> dict[int, tuple[str, ...]]:
    """Return each descendant's process id with the time it began; nothing where there is no /proc."""
    every = {int(entry.name): _read_stat(int(entry.name)) for entry in Path("/proc").glob("[0-9]*")}
    descendants: dict[int, tuple[str, ...]] = {}
    level = {root}
    while level:
        level = {pid for pid, stat in every.items() if stat and int(stat[0]) in level and pid not in descendants}
        descendants.update({pid: every[pid][1:] for pid in level})
    return descendants


def _read_stat(pid: int) -> tuple[str, ...]:
    """Return (parent, start time) of proc(5); empty where the process ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return fields[1], fields[19]
    except (OSError, IndexError):
        return ()


def _decode_text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", errors="replace")
