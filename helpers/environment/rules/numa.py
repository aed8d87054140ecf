"""ENV018: this process may run on CPUs near its NPUs. Memory of another NUMA node is reached over the sockets' link.

The node of each chip is in /sys/bus/pci/devices/*/numa_node; cpusets and `numactl` cut the CPUs.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, Untold
from helpers.finding import Finding, Status

CODE, GROUP = "ENV018", "host"
BASIS = "reasoned"


def check(machine: Machine) -> Iterator[Finding]:
    host, pci = machine.host, machine.hardware.pci
    if len(host.numa) < 2 or isinstance(pci, Untold):
        return
    near = sorted({chip.numa for chip in pci if 0 <= chip.numa < len(host.numa)})
    allowed = [node for node, cpus in enumerate(host.numa) if set(cpus) & set(host.affinity)]
    args: Args = {"nodes": len(host.numa), "near": near, "allowed": allowed}
    far = [node for node in near if node not in allowed]
    if far:
        yield Finding(CODE, Status.WARN, "ENV018.far", {**args, "far": far})
    else:
        yield Finding(CODE, Status.OK, "ENV018.near" if near else "ENV018.ok", args)
