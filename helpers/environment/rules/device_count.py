"""ENV024: PCI bus, device files, npu-smi and torch.npu.device_count() agree; what differs is named."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, Untold
from helpers.finding import Finding, Status
from helpers.npu_smi import NpuSmi

CODE, GROUP = "ENV024", "device"
BASIS = "facts"


def check(machine: Machine) -> Iterator[Finding]:
    counts = dict(_counts(machine))
    if len(counts) < 2:
        return
    args: Args = {"counts": [f"{source} {count}" for source, count in counts.items()]}
    if len(set(counts.values())) == 1:
        yield Finding(CODE, Status.OK, "ENV024.ok", args)
    else:
        status = Status.NOTE if machine.host.container else Status.WARN
        yield Finding(CODE, status, "ENV024.differ", args)


def _counts(machine: Machine) -> Iterator[tuple[str, int]]:
    """Only sources that could be asked; ASCEND_RT_VISIBLE_DEVICES hides devices from torch on purpose."""
    hardware = machine.hardware
    if not hardware.chips:
        return
    if not isinstance(hardware.pci, Untold):
        yield "PCI", len(hardware.pci)
    yield "/dev/davinci*", len(hardware.cards)
    if isinstance(hardware.npu_smi, NpuSmi) and hardware.npu_smi.chips:
        yield "npu-smi", len(hardware.npu_smi.chips)
    if machine.chosen.tier == "npu" and "ASCEND_RT_VISIBLE_DEVICES" not in machine.environ:
        yield "torch", machine.chosen.count
