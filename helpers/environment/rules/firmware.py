"""ENV031: the firmware's version; it is installed with the driver's package pair. Its absence alone only notes."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV031", "driver"
BASIS = "facts"


def check(machine: Machine) -> Iterator[Finding]:
    if not machine.needs_npu:
        return
    firmware = told(machine.hardware.firmware)
    key = "ENV031.ok" if firmware else "ENV031.none"
    yield Finding(CODE, Status.OK if firmware else Status.NOTE, key, {"firmware": firmware})
