"""The nearest right versions for a machine, as a sentence. `setup` has the commands: a bare `pip install` of the pair
would take torch's CUDA build, and replace an installed one."""

from __future__ import annotations

from helpers import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Untold
from helpers.words import Scalar


def command(machine: Machine) -> Scalar:
    """A sentence: the pair for this Python, architecture, C library and CANN; or that no published pair fits."""
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
