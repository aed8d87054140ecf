"""One try of a run: its process started, watched against its bounds, and ended with all that it started.

Also what its processes hold of the machine's memory, what is free, and how often the system killed for want of it.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from ascend_workbook.batch.campaign.ended import OUT_OF_MEMORY, TIMED_OUT
from ascend_workbook.storage.names import mark_user_output

CGROUPS = Path("/sys/fs/cgroup")
#: cgroup v1 has the counter and the bounds under names of their own, below a folder of the controller.
V2 = ("memory.events", "memory.max", "memory.current")
V1 = ("memory.oom_control", "memory.limit_in_bytes", "memory.usage_in_bytes")
KILLS = re.compile(r"^oom_kill (\d+)", re.MULTILINE)


def free_mb() -> int:
    """Return the MiB to be had without swapping: the machine's, or what this process's cgroups leave, if less."""
    rooms = [int(psutil.virtual_memory().available)]
    for folder, (_, most, used) in _memory_groups():
        for level in (folder, *folder.parents):
            bound, now = _read_number(level / most), _read_number(level / used)
            if bound is not None and now is not None:
                rooms.append(bound - now)
    return max(0, min(rooms)) // MIB


def count_oom_kills() -> int | None:
    """Count how many processes of this one's cgroup the system killed for want of memory so far. Where no cgroup tells,
    those of the whole machine are counted; None where nothing does."""
    for folder, (events, _, _) in _memory_groups():
        match = KILLS.search(_read_text(folder / events))
        if match:
            return int(match[1])
    match = KILLS.search(_read_text(Path("/proc/vmstat")))
    return int(match[1]) if match else None


def _memory_groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """Yield the folders of the memory controller, and what their files are called: cgroups(7)."""
    for line in _read_text(Path("/proc/self/cgroup")).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            yield CGROUPS / path.lstrip("/"), V2
        elif "memory" in controllers.split(","):
            yield CGROUPS / "memory" / path.lstrip("/"), V1


def _read_number(path: Path) -> int | None:
    """Read a number from a file; None for `max`, and where there is no such file."""
    text = _read_text(path).strip()
    return int(text) if text.isdigit() else None


def _read_text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8")
    return ""


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
        with suppress(psutil.Error, OSError):  # another user's, or it ended
            if process.pid != os.getpid() and process.environ().get(MARK) == str(folder):
                matches.append(process)
    return matches


def find_run_processes(pid: int, folder: Path, seen_processes: Collection[psutil.Process] = ()) -> list[psutil.Process]:
    """Return the processes below `pid`, all others of the run, and those of `seen_processes` that still live."""
    return list({*processes_below(pid), *marked_processes(folder), *filter(_is_alive, seen_processes)})


def measure_memory_mb(processes: Sequence[psutil.Process], limit_mb: int = 0) -> int:
    """Return the MiB held together; what is shared is counted once, where it decides about `limit_mb`."""
    resident = shared_once = 0
    for process in processes:
        with suppress(psutil.Error):
            resident += process.memory_info().rss // MIB
    for process in processes if limit_mb and resident > limit_mb else ():
        with suppress(psutil.Error):
            memory = process.memory_full_info()
            shared_once += getattr(memory, "pss", memory.rss) // MIB
    return shared_once or resident


def end_processes(find: Callable[[], list[psutil.Process]], grace_s: float = GRACE_S) -> list[int]:
    """Send SIGTERM to all processes that `find` gives, SIGKILL to those that stay and those that came since. Return the
    ids of those that even so are there."""
    asked_processes = find()
    for process in asked_processes:
        with suppress(psutil.Error):  # it ended
            process.terminate()
    _, stay = psutil.wait_procs(asked_processes, timeout=grace_s)
    until = time.monotonic() + GONE_S
    remaining = list({*stay, *find()})
    while remaining and time.monotonic() < until:
        for process in remaining:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(remaining, timeout=0.2)
        remaining = [process for process in {*remaining, *find()} if _is_alive(process)]
    return [process.pid for process in remaining]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


ROOT = Path(__file__).resolve().parents[3]
#: Not `-m`: the package has imported the module by then, and Python warns of that in each log.
START = "import sys; from ascend_workbook.batch.campaign.order import main; sys.exit(main(sys.argv[1]))"
#: Seconds between looks at a run.
LOOK_S = 0.25


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
    *,
    until: float,
    memory_mb: int,
    ends: Callable[[], str],
    env: dict[str, str],
    hold: Sequence[int] = (),
    watched: Callable[[int], None] = lambda held_mb: None,
) -> Attempt:
    """Start the process that an order file asks for, watch it and end it with all that it started. `until` is a moment
    of time.monotonic(), `memory_mb` what all may hold; 0 is no bound. `ends` gives the state in which it is to be ended
    now, or nothing; `hold` are descriptors of locks, kept as long as its process lives; `watched` is told at each look
    what memory it holds. Raises OSError where it cannot be started."""
    folder, began, killed = order.parent, time.monotonic(), count_oom_kills()
    with (folder / "log.txt").open("ab") as log:
        if not log.tell():
            log.write(mark_user_output())
            log.flush()
        process = subprocess.Popen(
            [sys.executable, "-c", START, str(order)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            start_new_session=True,
            pass_fds=tuple(hold),
            env={**os.environ, **env, MARK: str(folder)},
        )
    seen_processes: set[psutil.Process] = set()
    try:
        cause, peak_mb = _watch_process(process, until, memory_mb, ends, watched, seen_processes)
    finally:
        grace_s = GRACE_S if process.poll() is None else 0
        survivors = end_processes(partial(find_run_processes, process.pid, folder, seen_processes), grace_s)
        process.wait()
        assert process.stdin
        process.stdin.close()
    since = count_oom_kills()
    kills = since - killed if since is not None and killed is not None else 0
    return Attempt(process.returncode, cause, time.monotonic() - began, peak_mb, kills, tuple(survivors))


def _watch_process(
    process: subprocess.Popen[bytes],
    until: float,
    memory_mb: int,
    ends: Callable[[], str],
    watched: Callable[[int], None],
    seen_processes: set[psutil.Process],
) -> tuple[str, int]:
    """Wait until the process ends or is beyond a bound. Return why we end it (empty: it ended), and the most memory it
    held, in MiB. `seen_processes` takes all that it started: once it has ended nothing else tells of what took the mark
    off itself."""
    peak_mb = 0
    while True:
        now = processes_below(process.pid)
        seen_processes.update(now)
        held_mb = measure_memory_mb(now, memory_mb)
        peak_mb = max(peak_mb, held_mb)
        watched(held_mb)
        if process.poll() is not None:
            return "", peak_mb
        if why := ends():
            return why, peak_mb
        if memory_mb and held_mb > memory_mb:
            return OUT_OF_MEMORY, peak_mb
        if until and time.monotonic() > until:
            return TIMED_OUT, peak_mb
        with suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_S)
