"""The host: system, architecture and C library; CPUs, memory, disk, shared memory and limits given to this process."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.rules.python import nearest_versions
from ascend_workbook.environment.system import UNLIMITED, Args, Untold, require_fact, shorten_path
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import versions

GROUP = "host"
BASIS = {"ENV012": "reasoned", "ENV013": "measured", "ENV014": "reasoned", "ENV016": "reasoned", "ENV018": "reasoned"}

ARCHITECTURES = ("x86_64", "aarch64")


def check_operating_system(machine: Machine) -> Iterator[Finding]:
    """ENV010: torch_npu's wheels exist for Linux on x86_64 and aarch64 only (PyPI, torch_npu files).

    Source: https://pypi.org/simple/torch-npu/
    """
    host = machine.host
    args: Args = {"name": host.distribution or host.system, "kernel": host.kernel, "arch": host.arch}
    if host.system == "Linux" and host.arch in ARCHITECTURES:
        yield Finding("ENV010", Status.GOOD, "ENV010.ok", args)
    else:
        yield Finding("ENV010", Status.FIX if machine.needs_npu else Status.LOOK, "ENV010.other", args)


def check_c_library(machine: Machine) -> Iterator[Finding]:
    """ENV011: the wheel's glibc. From torch_npu 2.7.1 the wheels ask for 2.28 (2.6.0 on aarch64), before for 2.17.

    An older glibc fails at import with "version `GLIBC_2.28' not found". Source: the wheels' tags on PyPI.

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
    """
    glibc = require_fact(machine.host.glibc)
    wheel = versions.find_wheel(machine.torch_npu, machine.host.arch) if machine.torch_npu else None
    args: Args = {"glibc": glibc, "needed": wheel["glibc"] if wheel else None, "torch_npu": machine.torch_npu}
    if wheel is None:
        yield Finding("ENV011", Status.GOOD, "ENV011.ok", {"glibc": glibc})
    elif versions.parse_version(glibc) < versions.parse_version(wheel["glibc"]):
        args["command"] = nearest_versions(machine)
        yield Finding("ENV011", Status.FIX, "ENV011.old", args)
    else:
        yield Finding("ENV011", Status.GOOD, "ENV011.enough", args)


#: Below this, importing torch and one small training step come close to the limit (about 0.6 GiB measured).
ENOUGH_GIB = 2.0
FAIL_MIB, WARN_MIB = 512, 5 * 1024
#: Kernel caches and dumps are many small files.
FEW_ENTRIES = 10_000
ENOUGH_MIB = 1024
OPEN_FILES_ENOUGH = 1024
LIMITS_ENOUGH = 4096
MIB = 1024 * 1024


def check_processors(machine: Machine) -> Iterator[Finding]:
    """ENV012: CPUs this process may really use; a container's quota makes data loading the bottleneck unseen."""
    usable, cpus = require_fact(machine.host.cpus_usable), machine.host.cpus
    cards = len(machine.hardware.cards) if machine.needs_npu else 0
    args: Args = {"usable": usable, "cpus": cpus, "cards": cards}
    if usable < max(1, 2 * cards):
        yield Finding("ENV012", Status.LOOK, "ENV012.few", args)
    elif usable < cpus:
        yield Finding("ENV012", Status.NOTE, "ENV012.cut", args)
    else:
        yield Finding("ENV012", Status.GOOD, "ENV012.ok", args)


def check_memory(machine: Machine) -> Iterator[Finding]:
    """ENV013: free main memory. The simulated NPU's memory is a share of it; on a real one, weights pass through it."""
    free, total = require_fact(machine.host.memory_free_mib) / 1024, require_fact(machine.host.memory_mib) / 1024
    args: Args = {"free_gib": f"{free:.1f}", "total_gib": f"{total:.1f}", "needed_gib": f"{ENOUGH_GIB:g}"}
    yield Finding("ENV013", *((Status.LOOK, "ENV013.low") if free < ENOUGH_GIB else (Status.GOOD, "ENV013.ok")), args)


def check_disk(machine: Machine) -> Iterator[Finding]:
    """ENV014: the folder of the runs can be written to and has room for dumps, profiles and checkpoints."""
    host = machine.host
    if not host.disk_writable:
        yield Finding("ENV014", Status.FIX, "ENV014.closed", {"folder": shorten_path(host.work_folder)})
        return
    free = require_fact(host.disk_free_mib)
    args: Args = {"folder": shorten_path(host.work_folder), "free_gib": f"{free / 1024:.1f}"}
    args["needed_gib"] = WARN_MIB // 1024
    if free < WARN_MIB:
        yield Finding("ENV014", Status.FIX if free < FAIL_MIB else Status.LOOK, "ENV014.full", args)
    elif require_fact(host.disk_free_entries) < FEW_ENTRIES:
        entries = require_fact(host.disk_free_entries)
        yield Finding("ENV014", Status.LOOK, "ENV014.entries", {**args, "entries": entries})
    else:
        yield Finding("ENV014", Status.GOOD, "ENV014.ok", args)


def check_shared_memory(machine: Machine) -> Iterator[Finding]:
    """ENV015: /dev/shm carries batches from DataLoader workers. Docker gives 64 MiB by default: "Bus error" follows.

    Source: https://docs.docker.com/reference/cli/docker/container/run/ (--shm-size).
    """
    size = require_fact(machine.host.shm_mib)
    args: Args = {"size_gib": f"{size / 1024:.2f}", "needed_gib": ENOUGH_MIB // 1024}
    yield Finding("ENV015", *((Status.LOOK, "ENV015.small") if size < ENOUGH_MIB else (Status.GOOD, "ENV015.ok")), args)


def check_open_files(machine: Machine) -> Iterator[Finding]:
    """ENV016: the limit of open files; DataLoader workers and HCCL's links take many ("Too many open files")."""
    limit = require_fact(machine.host.open_files)
    args: Args = {"limit": limit, "needed": OPEN_FILES_ENOUGH}
    low = limit < OPEN_FILES_ENOUGH
    yield Finding("ENV016", *((Status.LOOK, "ENV016.low") if low else (Status.GOOD, "ENV016.ok")), args)


def check_limits(machine: Machine) -> Iterator[Finding]:
    """ENV017: processes and locked memory this user may take (`ulimit -u`, `ulimit -l`, the cgroup's pids.max).

    DataLoader workers and OpenMP's threads count as processes ("Resource temporarily unavailable"). Locked memory is
    what RDMA registers: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """
    processes, locked = require_fact(machine.host.processes), require_fact(machine.host.locked_bytes)
    none: Scalar = Sentence("ENV017.unlimited")
    args: Args = {"processes": none if processes >= UNLIMITED else processes, "needed": LIMITS_ENOUGH}
    args["locked"] = none if locked >= UNLIMITED else locked // MIB
    low = processes < LIMITS_ENOUGH
    yield Finding("ENV017", *((Status.LOOK, "ENV017.low") if low else (Status.GOOD, "ENV017.ok")), args)
    if locked < 64 * MIB and machine.nvidia.gpus > 1:
        yield Finding("ENV017", Status.NOTE, "ENV017.locked", args)


def check_numa(machine: Machine) -> Iterator[Finding]:
    """ENV018: this process may run on CPUs near its NPUs. Memory of another NUMA node is reached over the sockets'
    link.

    The node of each chip is in /sys/bus/pci/devices/*/numa_node; cpusets and `numactl` cut the CPUs.
    """
    host, pci = machine.host, machine.hardware.pci
    if len(host.numa) < 2 or isinstance(pci, Untold):
        return
    near = sorted({chip.numa for chip in pci if 0 <= chip.numa < len(host.numa)})
    allowed = [node for node, cpus in enumerate(host.numa) if set(cpus) & set(host.affinity)]
    args: Args = {"nodes": len(host.numa), "near": near, "allowed": allowed}
    far = [node for node in near if node not in allowed]
    if far:
        yield Finding("ENV018", Status.LOOK, "ENV018.far", {**args, "far": far})
    else:
        yield Finding("ENV018", Status.GOOD, "ENV018.near" if near else "ENV018.ok", args)


RULES = {
    "ENV010": check_operating_system,
    "ENV011": check_c_library,
    "ENV012": check_processors,
    "ENV013": check_memory,
    "ENV014": check_disk,
    "ENV015": check_shared_memory,
    "ENV016": check_open_files,
    "ENV017": check_limits,
    "ENV018": check_numa,
}
