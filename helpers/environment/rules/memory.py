"""ENV013: free main memory. The simulated NPU's memory is a share of it; on a real one, weights pass through it."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV013", "host"
BASIS = "measured"
#: Below this, importing torch and one small training step come close to the limit (about 0.6 GiB measured).
ENOUGH_GIB = 2.0


def check(machine: Machine) -> Iterator[Finding]:
    free, total = told(machine.host.memory_free_mib) / 1024, told(machine.host.memory_mib) / 1024
    args: Args = {"free_gib": f"{free:.1f}", "total_gib": f"{total:.1f}", "needed_gib": f"{ENOUGH_GIB:g}"}
    yield Finding(CODE, *((Status.WARN, "ENV013.low") if free < ENOUGH_GIB else (Status.OK, "ENV013.ok")), args)
