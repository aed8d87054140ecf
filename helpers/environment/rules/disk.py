"""ENV014: the folder of the runs can be written to and has room for dumps, profiles and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, shown, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV014", "host"
BASIS = "reasoned"
FAIL_MIB, WARN_MIB = 512, 5 * 1024
#: Kernel caches and dumps are many small files.
FEW_ENTRIES = 10_000


def check(machine: Machine) -> Iterator[Finding]:
    host = machine.host
    if not host.disk_writable:
        yield Finding(CODE, Status.FAIL, "ENV014.closed", {"folder": shown(host.work_folder)})
        return
    free = told(host.disk_free_mib)
    args: Args = {"folder": shown(host.work_folder), "free_gib": f"{free / 1024:.1f}", "needed_gib": WARN_MIB // 1024}
    if free < WARN_MIB:
        yield Finding(CODE, Status.FAIL if free < FAIL_MIB else Status.WARN, "ENV014.full", args)
    elif told(host.disk_free_entries) < FEW_ENTRIES:
        yield Finding(CODE, Status.WARN, "ENV014.entries", {**args, "entries": told(host.disk_free_entries)})
    else:
        yield Finding(CODE, Status.OK, "ENV014.ok", args)
