"""ENV046: the packages of one CANN are of one version: toolkit, operators (opp, opp_kernel; from 8.5 ops), runtime…

A toolkit upgraded without its operator package fails at the first operator (561103) or computes with old kernels.

Source: https://github.com/vllm-project/vllm-ascend/issues/4859
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV046", "cann"


def check(machine: Machine) -> Iterator[Finding]:
    cann = machine.real_cann
    parts = {name: version for name, version in cann.components.items() if _known(version)} if cann else {}
    if cann is None or len(parts) < 2:
        return
    kinds: dict[object, list[str]] = {}
    for name, version in parts.items():
        kinds.setdefault(versions.parse(version)[:3], []).append(f"{name} {version}")
    args: Args = {"count": len(parts), "version": cann.version, "parts": [names[0] for names in kinds.values()]}
    if len(kinds) == 1:
        yield Finding(CODE, Status.OK, "ENV046.ok", args)
    else:
        yield Finding(CODE, Status.FAIL if machine.needs_npu else Status.WARN, "ENV046.differ", args)


def _known(version: str) -> bool:
    try:
        return bool(versions.parse(version))
    except versions.NotAVersion:
        return False
