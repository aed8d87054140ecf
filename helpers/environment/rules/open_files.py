"""ENV016: the limit of open files; DataLoader workers and HCCL's links take many ("Too many open files")."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV016", "host"
BASIS = "reasoned"
ENOUGH = 1024


def check(machine: Machine) -> Iterator[Finding]:
    limit = told(machine.host.open_files)
    args: Args = {"limit": limit, "needed": ENOUGH}
    yield Finding(CODE, *((Status.WARN, "ENV016.low") if limit < ENOUGH else (Status.OK, "ENV016.ok")), args)
