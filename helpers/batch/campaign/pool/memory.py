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
    """MiB that can be had without swapping: the machine's, or what this process's cgroups leave, if that is less."""
    rooms = [int(psutil.virtual_memory().available)]
    for folder, (_, most, used) in _groups():
        for level in (folder, *folder.parents):
            bound, now = _number(level / most), _number(level / used)
            if bound is not None and now is not None:
                rooms.append(bound - now)
    return max(0, min(rooms)) // MIB


def oom_kills() -> int | None:
    """How many processes of this one's cgroup the system killed for want of memory so far; where no cgroup tells, of
    the whole machine; None where nothing does."""
    for folder, (events, _, _) in _groups():
        found = KILLS.search(_text(folder / events))
        if found:
            return int(found[1])
    found = KILLS.search(_text(Path("/proc/vmstat")))
    return int(found[1]) if found else None


def _groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """Folders of the memory controller, and what their files are called: cgroups(7)."""
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            yield CGROUPS / path.lstrip("/"), V2
        elif "memory" in controllers.split(","):
            yield CGROUPS / "memory" / path.lstrip("/"), V1


def _number(path: Path) -> int | None:
    """None for `max`, and where there is no such file."""
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
