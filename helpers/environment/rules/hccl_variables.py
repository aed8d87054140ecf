"""ENV065: HCCL's variables are in the ranges it takes; outside them it ends with EI0001 at its start.

Source: CANN environment variables reference (HCCL_CONNECT_TIMEOUT 120 to 7200 s, HCCL_IF_BASE_PORT 1024 to 65520,
HCCL_SOCKET_IFNAME: prefixes of interfaces, `=` exact, `^` all but), https://www.hiascend.com/document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, Untold
from helpers.finding import Finding, Status

CODE, GROUP = "ENV065", "hccl"
RANGES = {"HCCL_CONNECT_TIMEOUT": (120, 7200), "HCCL_IF_BASE_PORT": (1024, 65520)}


def check(machine: Machine) -> Iterator[Finding]:
    bad = Status.FAIL if machine.needs_npu else Status.WARN
    seen = [name for name in (*RANGES, "HCCL_SOCKET_IFNAME") if name in machine.environ]
    wrong = 0
    for name, (low, high) in RANGES.items():
        value = machine.environ.get(name)
        if value is not None and not (re.fullmatch(r"\d{1,9}", value, re.ASCII) and low <= int(value) <= high):
            wrong += 1
            yield Finding(CODE, bad, "ENV065.range", {"name": name, "value": value, "low": low, "high": high})
    value, found = machine.environ.get("HCCL_SOCKET_IFNAME"), machine.hccl.interfaces
    if value and not isinstance(found, Untold) and not any(_takes(value, name) for name in found):
        wrong += 1
        yield Finding(CODE, bad, "ENV065.interface", {"value": value, "found": list(found)})
    if seen and not wrong:
        args: Args = {"names": seen}
        yield Finding(CODE, Status.OK, "ENV065.ok", args)


def _takes(value: str, name: str) -> bool:
    """As HCCL reads it: `eth,enp` prefixes, `=eth0` exact, `^=eth0` and `^eth` all others."""
    wanted = value.lstrip("^").lstrip("=").split(",")
    exact = value.lstrip("^").startswith("=")
    match = any(name == one if exact else name.startswith(one) for one in wanted if one)
    return match != value.startswith("^")
