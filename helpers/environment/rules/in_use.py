"""ENV025: other processes on the NPUs: they take memory and make every timing wrong."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV025", "device"
BASIS = "facts"


def check(machine: Machine) -> Iterator[Finding]:
    if machine.hardware.npu_smi is None:
        return
    shown = told(machine.hardware.npu_smi)
    if shown.processes:
        names = sorted({f"{process.name or '?'} (pid {process.pid})" for process in shown.processes})
        used = sum(process.memory_mib for process in shown.processes)
        yield Finding(CODE, Status.WARN, "ENV025.busy", {"names": names[:4], "count": len(names), "used_mib": used})
    elif shown.chips:
        yield Finding(CODE, Status.OK, "ENV025.ok", {})
