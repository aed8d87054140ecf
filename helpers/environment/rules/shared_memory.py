"""ENV015: /dev/shm carries batches from DataLoader workers. Docker gives 64 MiB by default: "Bus error" follows.

Source: https://docs.docker.com/reference/cli/docker/container/run/ (--shm-size).
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV015", "host"
ENOUGH_MIB = 1024


def check(machine: Machine) -> Iterator[Finding]:
    size = told(machine.host.shm_mib)
    args: Args = {"size_gib": f"{size / 1024:.2f}", "needed_gib": ENOUGH_MIB // 1024}
    yield Finding(CODE, *((Status.WARN, "ENV015.small") if size < ENOUGH_MIB else (Status.OK, "ENV015.ok")), args)
