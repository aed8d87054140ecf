"""ENV063: /etc/hccn.conf gives each NPU's network port its address; collectives over several hosts need them all.

Source: https://www.hiascend.com/document (hccn_tool, "configure the NPU network"). One host alone does without.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV063", "hccl"


def check(machine: Machine) -> Iterator[Finding]:
    if not machine.needs_npu or machine.hccl.devices is None:
        if machine.needs_npu and machine.hardware.chips > 1:
            yield Finding(CODE, Status.NOTE, "ENV063.none", {})
        return
    devices = told(machine.hccl.devices)
    addresses = list(devices.values())
    twice = sorted({address for address in addresses if addresses.count(address) > 1})
    cards = sorted(int(card.path.rpartition("davinci")[2]) for card in machine.hardware.cards)
    missing = [card for card in cards if card not in devices]
    args: Args = {"count": len(devices), "twice": twice, "missing": missing}
    if twice:
        yield Finding(CODE, Status.FAIL, "ENV063.twice", args)
    elif missing:
        yield Finding(CODE, Status.WARN, "ENV063.missing", args)
    else:
        yield Finding(CODE, Status.OK, "ENV063.ok", args)
