"""ENV020: Ascend chips on the PCI bus, by vendor 0x19e5 and device id: the identity that needs no driver.

Source: https://pypi.org/project/ascend-deployer/26.0.0/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import told
from helpers.finding import Finding, Status
from helpers.versions import compatibility

CODE, GROUP = "ENV020", "device"


def check(machine: Machine) -> Iterator[Finding]:
    chips = told(machine.hardware.pci)
    if chips:
        names = [f"{count} x {compatibility()['pci'][device][1]}" for device, count in _count(machine).items()]
        yield Finding(CODE, Status.OK, "ENV020.ok", {"names": names})
    elif machine.hardware.chips:
        yield Finding(CODE, Status.NOTE, "ENV020.hidden", {"count": machine.hardware.chips})
    elif machine.needs_npu:
        yield Finding(CODE, Status.FAIL, "ENV020.absent", {})
    else:
        yield Finding(CODE, Status.NOTE, "ENV020.none", {})


def _count(machine: Machine) -> Counter[str]:
    return Counter(chip.device for chip in told(machine.hardware.pci))
