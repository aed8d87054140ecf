"""Reads the host: system, CPU, memory, disk, shared memory, container."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ascend_workbook.environment.machine import Host
from ascend_workbook.environment.system import UNLIMITED, Disk, System, Told, Untold
from ascend_workbook.findings.errors import explain_os_error

MIB = 1024 * 1024
#: A cgroup without a limit prints `max` (v2) or a number near 2**63 (v1).
NO_LIMIT = 2**60


def read_host(system: System, work_folder: str | os.PathLike[str]) -> Host:
    """Read the facts of the host; the disk is the one that holds `work_folder`, which need not exist yet."""
    wanted = Path(work_folder).absolute()
    folder = next((candidate for candidate in (wanted, *wanted.parents) if candidate.is_dir()), wanted)
    # `Ubuntu 22.04.4 LTS`; the C library's version as wheels' manylinux tags count it
    distribution = re.search(r'^PRETTY_NAME="?([^"\n]*)', system.text_or_empty("/etc/os-release"), re.MULTILINE)
    libc = system.process.libc_version().split()
    kind, kernel, arch = system.process.system_names()
    total, free = read_memory(system)
    disk, shm = read_disk(system, folder), read_disk(system, system.path_of("/dev/shm"))
    # how many processes and threads this user may start: `ulimit -u`, cut by the cgroup's pids.max
    soft = read_limit(system, "NPROC")
    files = (system.text_or_empty(f"/sys/fs/cgroup/{name}") for name in ("pids.max", "pids/pids.max"))
    caps = [cap for cap in map(_parse_number, files) if cap]
    # the CPUs of each NUMA node, in the order of the nodes
    folders = [name for name in system.glob_names("/sys/devices/system/node/node*") if name[-1].isdigit()]
    folders.sort(key=lambda name: int(name.rpartition("node")[2]))
    lists = (system.text_or_empty(f"{folder}/cpulist") for folder in folders)  # `0-3,8`
    spans = (re.findall(r"(\d{1,6})(?:-(\d{1,6}))?", text, re.ASCII) for text in lists)
    return Host(
        system=kind,
        distribution=distribution[1] if distribution else "",
        kernel=kernel,
        arch=arch,
        glibc=libc[1] if len(libc) == 2 and libc[0] == "glibc" else Untold("untold.glibc"),
        cpus=system.process.count_cpus(),
        cpus_usable=count_usable_cpus(system),
        memory_mib=total,
        memory_free_mib=free,
        work_folder=str(work_folder),
        disk_free_mib=disk if isinstance(disk, Untold) else disk.free / MIB,
        disk_writable=os.access(folder, os.W_OK | os.X_OK),
        shm_mib=shm if isinstance(shm, Untold) else shm.free / MIB,
        open_files=read_limit(system, "NOFILE"),
        container=detect_container(system),
        disk_free_entries=disk if isinstance(disk, Untold) else disk.free_entries if disk.entries else UNLIMITED,
        processes=soft if isinstance(soft, Untold) or not caps else min(soft, *caps),
        locked_bytes=read_limit(system, "MEMLOCK"),
        numa=tuple(tuple(cpu for a, b in pairs for cpu in range(int(a), int(b or a) + 1)) for pairs in spans),
        affinity=tuple(sorted(system.process.allowed_cpus())),
    )


def count_usable_cpus(system: System) -> Told[float]:
    """Count the CPUs this process may use: its affinity, cut by the cgroup's quota (cpu.max; before it two files)."""
    allowed = float(len(system.process.allowed_cpus()))
    v1 = (system.text_or_empty(f"/sys/fs/cgroup/cpu/cpu.cfs_{name}_us") for name in ("quota", "period"))
    for words in (system.text_or_empty("/sys/fs/cgroup/cpu.max").split()[:2], v1):
        quota, period = ([*map(_parse_number, words)] + [None, None])[:2]
        if quota and period and quota > 0:
            return min(allowed, quota / period)
    return allowed


def read_memory(system: System) -> tuple[Told[float], Told[float]]:
    """Read total and available MiB, both cut by the cgroup's limit."""
    text = system.read_file("/proc/meminfo")
    if isinstance(text, Untold):
        return text, text
    sizes = {name: int(kib) / 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE | re.ASCII)}
    if not {"MemTotal", "MemAvailable"} <= sizes.keys():
        unreadable = Untold("untold.unreadable", {"path": "/proc/meminfo"})
        return unreadable, unreadable
    limit, used = _memory_limit(system)
    return min(sizes["MemTotal"], limit), min(sizes["MemAvailable"], max(0.0, limit - used))


def _memory_limit(system: System) -> tuple[float, float]:
    """Return limit and use of the cgroup in MiB; the limit is infinite where there is none."""
    for limit_file, used_file in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        limit = _parse_number(system.text_or_empty(limit_file))
        if limit and limit < NO_LIMIT:
            return limit / MIB, (_parse_number(system.text_or_empty(used_file)) or 0) / MIB
    return float("inf"), 0.0


def read_disk(system: System, folder: Path) -> Told[Disk]:
    try:
        return system.process.disk_space(folder)
    except OSError as error:
        return Untold("untold.file", {"path": str(folder), "error": explain_os_error(error)})


def read_limit(system: System, name: str) -> Told[int]:
    """Return the soft limit of open files, of processes or of locked memory (bytes), as the shell's ulimit gives it."""
    soft = system.process.soft_limit(name)
    return Untold("untold.no_tool", {"tool": "ulimit"}) if soft is None else soft


def detect_container(system: System) -> str:
    """Return `docker`, `kubernetes`, `podman`, or an empty text."""
    if system.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    for mark, name in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if system.path_of(mark).exists():
            return name
    match = re.search(r"kubepods|docker|containerd", system.text_or_empty("/proc/1/cgroup"))
    return {"kubepods": "kubernetes"}.get(match[0], match[0]) if match else ""


def _parse_number(text: str) -> int | None:
    text = text.strip()
    return int(text) if re.fullmatch(r"-?\d+", text, re.ASCII) else None
