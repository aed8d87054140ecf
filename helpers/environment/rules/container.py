"""ENV090: in a container the driver is the host's: its files and device files must be passed in.

Source: https://www.hiascend.com/document (Ascend Docker Runtime): /usr/local/Ascend/driver, npu-smi, /dev/davinci*.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.finding import Finding, Status

CODE, GROUP = "ENV090", "platform"


def check(machine: Machine) -> Iterator[Finding]:
    kind, hardware = machine.host.container, machine.hardware
    if not kind:
        return
    if machine.needs_npu and not hardware.driver_installed:
        yield Finding(CODE, Status.FAIL, "ENV090.no_driver", {"kind": kind})
    else:
        yield Finding(CODE, Status.OK, "ENV090.ok", {"kind": kind})
