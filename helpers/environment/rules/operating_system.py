"""ENV010: torch_npu's wheels exist for Linux on x86_64 and aarch64 only (PyPI, torch_npu files).

Source: https://pypi.org/simple/torch-npu/
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV010", "host"
ARCHITECTURES = ("x86_64", "aarch64")


def check(machine: Machine) -> Iterator[Finding]:
    host = machine.host
    name = host.distribution or host.system
    args: Args = {"name": name, "kernel": host.kernel, "arch": host.arch}
    if host.system == "Linux" and host.arch in ARCHITECTURES:
        yield Finding(CODE, Status.OK, "ENV010.ok", args)
    else:
        yield Finding(CODE, Status.FAIL if machine.needs_npu else Status.WARN, "ENV010.other", args)
