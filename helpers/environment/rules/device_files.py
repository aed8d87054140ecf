"""ENV021: /dev/davinci* and the three managers exist and this user may open them (group HwHiAiUser).

A container sees only the device files that were passed to it.
Source: https://www.hiascend.com/document (driver installation guide; Ascend Docker Runtime).
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.hardware import MANAGERS
from helpers.environment.machine import Machine
from helpers.finding import Finding, Status

CODE, GROUP = "ENV021", "device"


def check(machine: Machine) -> Iterator[Finding]:
    if not machine.needs_npu:
        return
    hardware = machine.hardware
    closed = [node.path for node in hardware.nodes if not node.usable]
    missing = sorted(set(MANAGERS) - {node.path for node in hardware.nodes})
    if not hardware.cards:
        key = "ENV021.container" if machine.host.container else "ENV021.none"
        yield Finding(CODE, Status.FAIL, key, {"container": machine.host.container})
    elif closed:
        yield Finding(CODE, Status.FAIL, "ENV021.closed", {"paths": closed, "groups": list(hardware.groups)})
    elif missing:
        yield Finding(CODE, Status.FAIL, "ENV021.missing", {"paths": missing})
    else:
        yield Finding(CODE, Status.OK, "ENV021.ok", {"count": len(hardware.cards)})
