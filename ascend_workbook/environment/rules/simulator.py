"""ENV070: the simulated NPU: built or not, in use or not. Its values are the CPU's, its times are not an NPU's."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, shorten_path
from ascend_workbook.findings.finding import Finding, Status

CODE, GROUP = "ENV070", "simulator"
BASIS = "defined"


def check(machine: Machine) -> Iterator[Finding]:
    sourced = [root for root in machine.cann if root.simulated and root.sourced]
    args: Args = {"folder": shorten_path(machine.simulator), "name": machine.chosen.name, "count": machine.chosen.count}
    stand_in = machine.hardware.simulated_npu_smi
    if stand_in:
        yield Finding(CODE, Status.NOTE, "ENV070.npu_smi", {"count": len(stand_in.chips)})
    if machine.simulator_old:
        yield Finding(CODE, Status.LOOK, "ENV070.old", {"folder": shorten_path(machine.simulator)})
    if machine.chosen.tier == "npu-simulated" and machine.real_cann:
        yield Finding(CODE, Status.LOOK, "ENV070.forced", {**args, "cann": shorten_path(machine.real_cann.path)})
    elif machine.chosen.tier == "npu-simulated":
        yield Finding(CODE, Status.NOTE, "ENV070.in_use", args)
    elif sourced and machine.chosen.wanted == "npu":
        yield Finding(CODE, Status.NOTE, "ENV070.sourced", {"folder": shorten_path(sourced[0].path)})
    elif machine.simulator:
        yield Finding(CODE, Status.NOTE, "ENV070.built", args)
    elif not machine.needs_npu:
        yield Finding(CODE, Status.NOTE, "ENV070.none", args)
