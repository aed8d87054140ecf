"""ENV044: NNAL (its ATB) beside CANN: torch_npu loads libatb.so for some fused operators.

Its own set_env.sh sets ATB_HOME_PATH; its version is CANN's. Source: https://www.hiascend.com/document (NNAL install).
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV044", "cann"


def check(machine: Machine) -> Iterator[Finding]:
    nnal, cann = machine.nnal, machine.real_cann
    args: Args = {"told": nnal.told, "path": nnal.path, "version": nnal.version, "cann": cann.version if cann else ""}
    if nnal.told and not nnal.here:
        yield Finding(CODE, Status.FAIL if machine.needs_npu else Status.WARN, "ENV044.gone", args)
    elif nnal.path and _differs(nnal.version, cann.version if cann else ""):
        yield Finding(CODE, Status.WARN, "ENV044.differs", args)
    elif nnal.path:
        key = "ENV044.ok" if nnal.told else "ENV044.not_sourced"
        yield Finding(CODE, Status.OK if nnal.told else Status.NOTE, key, args)
    elif machine.needs_npu and cann:
        yield Finding(CODE, Status.NOTE, "ENV044.none", args)


def _differs(nnal: str, cann: str) -> bool:
    try:
        return bool(nnal and cann) and versions.parse(nnal)[:3] != versions.parse(cann)[:3]
    except versions.NotAVersion:
        return False
