"""The nearest right versions for a machine, as the command that installs them."""

from __future__ import annotations

from helpers.environment import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Untold
from helpers.words import Scalar


def command(machine: Machine) -> Scalar:
    """A sentence: the pip line for this Python, architecture, C library and CANN; or that no published pair fits."""
    host, cann = machine.host, machine.real_cann
    glibc = "" if isinstance(host.glibc, Untold) else host.glibc
    told = cann.version if cann else ""
    try:
        pair = versions.nearest(machine.torch, told, machine.python.version, host.arch, glibc)
        other = (
            "" if pair or not told else versions.nearest(machine.torch, "", machine.python.version, host.arch, glibc)
        )
    except versions.NotAVersion:
        return {"say": "environment.nearest_none"}
    if pair:
        return {"say": "environment.nearest", "args": {"pair": pair}}
    if other:
        wanted = versions.cann_for(other.rpartition("==")[2])
        return {"say": "environment.nearest_cann", "args": {"pair": other, "cann": list(wanted)}}
    return {"say": "environment.nearest_none"}
