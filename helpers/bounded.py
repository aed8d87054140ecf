"""Runs a command with a time limit that holds, even where a grandchild keeps the pipes open or a driver call hangs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

#: After the kill: a process stuck in the kernel (a dead driver) is left behind, not waited for.
GRACE_S = 2.0


@dataclass(frozen=True)
class Output:
    """What a command answered. `code` is negative for a signal; `timed_out` means it was stopped."""

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def last_error(self) -> str:
        """The last line it wrote, errors first: what a one-line message quotes."""
        lines = self.stderr.strip().splitlines() or self.stdout.strip().splitlines()
        return lines[-1].strip() if lines else f"exit code {self.code}"


def run(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, timeout_s: float, cwd: str | None = None
) -> Output:
    """Its output as text. Raises OSError where the program cannot be started."""
    process = subprocess.Popen(
        list(command), env=None if env is None else dict(env), cwd=cwd, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
        return Output(process.returncode, _text(stdout), _text(stderr))
    except subprocess.TimeoutExpired:
        _kill_group(process)
        return Output(-signal.SIGKILL, *_what_came(process), timed_out=True)
    except BaseException:
        _kill_group(process)
        raise


def _what_came(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    try:
        stdout, stderr = process.communicate(timeout=GRACE_S)
        return _text(stdout), _text(stderr)
    except subprocess.TimeoutExpired as still:
        streams: tuple[IO[bytes] | None, IO[bytes] | None] = (process.stdout, process.stderr)
        for stream in filter(None, streams):
            stream.close()
        return _text(still.stdout), _text(still.stderr)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", errors="replace")
