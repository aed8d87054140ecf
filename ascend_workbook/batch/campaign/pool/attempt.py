"""One try of a run: its process started, watched against its bounds, and ended with all that it started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from ascend_workbook.batch.campaign.ended import OUT_OF_MEMORY, TIMED_OUT
from ascend_workbook.batch.campaign.pool import memory, processes

ROOT = Path(__file__).resolve().parents[4]
#: Not `-m`: the package has imported the module by then, and Python warns of that in each log.
START = "import sys; from ascend_workbook.batch.campaign.pool.child import main; sys.exit(main(sys.argv[1]))"
#: Seconds between looks at a run.
LOOK_S = 0.25


@dataclass(frozen=True)
class Bounds:
    """What a try may take. `until` is a moment of time.monotonic(); 0 is no bound."""

    until: float = 0.0
    memory_mb: int = 0


@dataclass(frozen=True)
class Attempt:
    """`cause` is the state in which we ended it; empty where it ended by itself, with exit code `code` (negative: a
    signal). `oom_kills` is how many processes the system killed for want of memory in the meantime; `left` are those
    that could not be ended."""

    code: int
    cause: str
    seconds: float
    peak_mb: int
    oom_kills: int = 0
    left: tuple[int, ...] = ()


def run_attempt(
    order: Path,
    bounds: Bounds,
    *,
    ends: Callable[[], str],
    env: dict[str, str],
    hold: Sequence[int] = (),
    watched: Callable[[int], None] = lambda held_mb: None,
) -> Attempt:
    """Start the process that an order file asks for, watch it and end it with all that it started. `ends` gives the
    state in which it is to be ended now, or nothing; `hold` are descriptors of locks, kept as long as its process
    lives; `watched` is told at each look what memory it holds. Raises OSError where it cannot be started."""
    folder, began, killed = order.parent, time.monotonic(), memory.count_oom_kills()
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", START, str(order)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            start_new_session=True,
            pass_fds=tuple(hold),
            env={**os.environ, **env, processes.MARK: str(folder)},
        )
    seen_processes: set[psutil.Process] = set()
    try:
        cause, peak_mb = _watch_process(process, bounds, ends, watched, seen_processes)
    finally:
        grace_s = processes.GRACE_S if process.poll() is None else 0
        survivors = processes.end_processes(
            partial(processes.find_run_processes, process.pid, folder, seen_processes), grace_s
        )
        process.wait()
        assert process.stdin
        process.stdin.close()
    since = memory.count_oom_kills()
    kills = since - killed if since is not None and killed is not None else 0
    return Attempt(process.returncode, cause, time.monotonic() - began, peak_mb, kills, tuple(survivors))


def _watch_process(
    process: subprocess.Popen[bytes],
    bounds: Bounds,
    ends: Callable[[], str],
    watched: Callable[[int], None],
    seen_processes: set[psutil.Process],
) -> tuple[str, int]:
    """Wait until the process ends or is beyond a bound. Return why we end it (empty: it ended), and the most memory it
    held, in MiB. `seen_processes` takes all that it started: once it has ended nothing else tells of what took the mark
    off itself."""
    peak_mb = 0
    while True:
        now = processes.processes_below(process.pid)
        seen_processes.update(now)
        held_mb = processes.measure_memory_mb(now, bounds.memory_mb)
        peak_mb = max(peak_mb, held_mb)
        watched(held_mb)
        if process.poll() is not None:
            return "", peak_mb
        if why := ends():
            return why, peak_mb
        if bounds.memory_mb and held_mb > bounds.memory_mb:
            return OUT_OF_MEMORY, peak_mb
        if bounds.until and time.monotonic() > bounds.until:
            return TIMED_OUT, peak_mb
        try:
            process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            continue
