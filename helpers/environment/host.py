"""Reads the host: system, CPU, memory, disk, shared memory, container."""

from __future__ import annotations

import os
import re
from pathlib import Path

from helpers.environment.machine import Host
from helpers.environment.process import UNLIMITED
from helpers.environment.system import System, Told, Untold
from helpers.errors import reason

MIB = 1024 * 1024
#: A cgroup without a limit prints `max` (v2) or a number near 2**63 (v1).
NO_LIMIT = 2**60


def read_host(system: System, work_folder: str | os.PathLike[str]) -> Host:
    """The host; the disk is the one that holds `work_folder`, which need not exist yet."""
    folder = _existing(Path(work_folder))
    kind, kernel, arch = system.process.uname()
    total, free = memory(system)
    return Host(
        system=kind,
        distribution=distribution(system),
        kernel=kernel,
        arch=arch,
        glibc=glibc(system),
        cpus=system.process.cpus(),
        cpus_usable=cpus_usable(system),
        memory_mib=total,
        memory_free_mib=free,
        work_folder=str(work_folder),
        disk_free_mib=disk_free_mib(system, folder),
        disk_writable=os.access(folder, os.W_OK | os.X_OK),
        shm_mib=disk_free_mib(system, system.path("/dev/shm")),
        open_files=limit(system, "NOFILE"),
        container=container(system),
        disk_free_entries=free_entries(system, folder),
        processes=processes(system),
        locked_bytes=limit(system, "MEMLOCK"),
        numa=numa(system),
        affinity=tuple(sorted(system.process.affinity())),
    )


def distribution(system: System) -> str:
    """`Ubuntu 22.04.4 LTS`, or an empty text."""
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', system.text("/etc/os-release"), re.MULTILINE)
    return found[1] if found else ""


def glibc(system: System) -> Told[str]:
    """The version of the C library, as wheels' manylinux tags count it."""
    parts = system.process.glibc().split()
    return parts[1] if len(parts) == 2 and parts[0] == "glibc" else Untold("untold.glibc")


def cpus_usable(system: System) -> Told[float]:
    """CPUs this process may use: its affinity, cut by the cgroup's quota."""
    allowed = float(len(system.process.affinity()))
    quota = _quota_v2(system.text("/sys/fs/cgroup/cpu.max")) or _quota_v1(system)
    return min(allowed, quota) if quota else allowed


def _quota_v2(text: str) -> float | None:
    found = re.match(r"(\d+) (\d+)", text, re.ASCII)
    return int(found[1]) / int(found[2]) if found and int(found[2]) else None


def _quota_v1(system: System) -> float | None:
    quota = _number(system.text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"))
    period = _number(system.text("/sys/fs/cgroup/cpu/cpu.cfs_period_us"))
    return quota / period if quota and period and quota > 0 else None


def memory(system: System) -> tuple[Told[float], Told[float]]:
    """Total and available MiB, both cut by the cgroup's limit."""
    text = system.read("/proc/meminfo")
    if isinstance(text, Untold):
        return text, text
    sizes = {name: int(kib) / 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE | re.ASCII)}
    if not {"MemTotal", "MemAvailable"} <= sizes.keys():
        unreadable = Untold("untold.unreadable", {"path": "/proc/meminfo"})
        return unreadable, unreadable
    limit, used = _memory_limit(system)
    return min(sizes["MemTotal"], limit), min(sizes["MemAvailable"], max(0.0, limit - used))


def _memory_limit(system: System) -> tuple[float, float]:
    """Limit and use of the cgroup in MiB; the limit is infinite where there is none."""
    for limit_file, used_file in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        limit = _number(system.text(limit_file))
        if limit and limit < NO_LIMIT:
            return limit / MIB, (_number(system.text(used_file)) or 0) / MIB
    return float("inf"), 0.0


def disk_free_mib(system: System, folder: Path) -> Told[float]:
    """Free space for this user on the file system that holds the folder."""
    try:
        found = system.process.disk(folder)
    except OSError as error:
        return Untold("untold.file", {"path": str(folder), "error": reason(error)})
    return found.free / MIB


def free_entries(system: System, folder: Path) -> Told[int]:
    """Files that may still be made (inodes); unlimited where the file system does not count them."""
    try:
        found = system.process.disk(folder)
    except OSError as error:
        return Untold("untold.file", {"path": str(folder), "error": reason(error)})
    return found.free_entries if found.entries else UNLIMITED


def processes(system: System) -> Told[int]:
    """Processes and threads this user may start: `ulimit -u`, cut by the cgroup's pids.max."""
    soft = limit(system, "NPROC")
    caps = [_number(system.text(name)) for name in ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")]
    found = [cap for cap in caps if cap]
    return soft if isinstance(soft, Untold) or not found else min(soft, *found)


def numa(system: System) -> tuple[tuple[int, ...], ...]:
    """The CPUs of each NUMA node, in the order of the nodes; empty where /sys has no nodes."""
    folders = [name for name in system.glob("/sys/devices/system/node/node*") if name[-1].isdigit()]
    folders.sort(key=lambda name: int(name.rpartition("node")[2]))
    return tuple(_cpu_list(system.text(f"{folder}/cpulist")) for folder in folders)


def _cpu_list(text: str) -> tuple[int, ...]:
    """`0-3,8` as numbers; parts of another form are left out."""
    found: list[int] = []
    for first, last in re.findall(r"(\d{1,6})(?:-(\d{1,6}))?", text, re.ASCII):
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)


def limit(system: System, name: str) -> Told[int]:
    """The soft limit of open files, of processes or of locked memory (bytes), as the shell's ulimit gives it."""
    soft = system.process.limit(name)
    return Untold("untold.no_tool", {"tool": "ulimit"}) if soft is None else soft


def container(system: System) -> str:
    """`docker`, `kubernetes`, `podman`, or an empty text."""
    if system.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    for mark, name in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if system.path(mark).exists():
            return name
    found = re.search(r"kubepods|docker|containerd", system.text("/proc/1/cgroup"))
    return {"kubepods": "kubernetes"}.get(found[0], found[0]) if found else ""


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next((each for each in (folder, *folder.parents) if each.is_dir()), folder)


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if re.fullmatch(r"-?\d+", text, re.ASCII) else None
