"""ENV040: CANN is installed and its version can be read. Old layout: ascend-toolkit/latest; from 8.5: cann.

Source: https://www.hiascend.com/document (CANN installation guide).
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.finding import Finding, Status

CODE, GROUP = "ENV040", "cann"


def check(machine: Machine) -> Iterator[Finding]:
    cann = machine.real_cann
    if cann is None:
        yield Finding(CODE, Status.FAIL if machine.needs_npu else Status.NOTE, "ENV040.none", {})
    elif not cann.version:
        yield Finding(CODE, Status.SKIPPED, "ENV040.unreadable", {"path": cann.path})
    else:
        yield Finding(CODE, Status.OK, "ENV040.ok", {"version": cann.version, "path": cann.path})
