"""The nearest right versions for a machine, as a sentence. `setup` has the commands: a bare `pip install` of the pair
would take torch's CUDA build, and replace an installed one."""

from __future__ import annotations

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Untold
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import versions


def nearest_versions(machine: Machine) -> Scalar:
    """Return a sentence: the pair for this Python, architecture, C library and CANN; or that no published pair fits."""
    host, cann = machine.host, machine.real_cann
    glibc = "" if isinstance(host.glibc, Untold) else host.glibc
    cann_version = cann.version if cann else ""
    try:
        pair = versions.nearest_pair(machine.torch, cann_version, machine.python.version, host.arch, glibc)
        other = (
            ""
            if pair or not cann_version
            else versions.nearest_pair(machine.torch, "", machine.python.version, host.arch, glibc)
        )
    except versions.NotAVersion:
        return Sentence("environment.nearest_none")
    if pair:
        return Sentence("environment.nearest", pair=pair)
    if other:
        wanted = versions.cann_for(other.rpartition("==")[2])
        return Sentence("environment.nearest_cann", pair=other, cann=list(wanted))
    return Sentence("environment.nearest_none")
