"""ENV017: processes and locked memory this user may take (`ulimit -u`, `ulimit -l`, the cgroup's pids.max).

DataLoader workers and OpenMP's threads count as processes ("Resource temporarily unavailable"). Locked memory is
what RDMA registers: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.process import UNLIMITED
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status
from helpers.words import Scalar

CODE, GROUP = "ENV017", "host"
ENOUGH = 4096
MIB = 1024 * 1024


def check(machine: Machine) -> Iterator[Finding]:
    processes, locked = told(machine.host.processes), told(machine.host.locked_bytes)
    args: Args = {"processes": _shown(processes), "locked": _shown(locked // MIB, locked), "needed": ENOUGH}
    yield Finding(CODE, *((Status.WARN, "ENV017.low") if processes < ENOUGH else (Status.OK, "ENV017.ok")), args)
    if locked < 64 * MIB and machine.nvidia.gpus > 1:
        yield Finding(CODE, Status.NOTE, "ENV017.locked", args)


def _shown(value: int, raw: int | None = None) -> Scalar:
    return {"say": "ENV017.unlimited"} if (value if raw is None else raw) >= UNLIMITED else value
