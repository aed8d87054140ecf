"""The machine's memory: what is free for another run, and how often the system killed for want of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psutil

MIB = 1 << 20
CGROUPS = Path("/sys/fs/cgroup")
#: cgroup v1 has the counter and the bounds under names of their own, below a folder of the controller.
V2 = ("memory.events", "memory.max", "memory.current")
V1 = ("memory.oom_control", "memory.limit_in_bytes", "memory.usage_in_bytes")
KILLS = re.compile(r"^oom_kill (\d+)", re.MULTILINE)


def free_mb() -> int:
    """Return the MiB that can be had without swapping. They are the machine's, or what this process's cgroups leave, if
    that is less.
    """
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
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
