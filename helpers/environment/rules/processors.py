"""ENV012: CPUs this process may really use; a container's quota makes data loading the bottleneck unseen."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV012", "host"
BASIS = "reasoned"


def check(machine: Machine) -> Iterator[Finding]:
    usable, cpus = told(machine.host.cpus_usable), machine.host.cpus
    cards = len(machine.hardware.cards) if machine.needs_npu else 0
    args: Args = {"usable": usable, "cpus": cpus, "cards": cards}
    if usable < max(1, 2 * cards):
        yield Finding(CODE, Status.WARN, "ENV012.few", args)
    elif usable < cpus:
        yield Finding(CODE, Status.NOTE, "ENV012.cut", args)
    else:
        yield Finding(CODE, Status.OK, "ENV012.ok", args)
