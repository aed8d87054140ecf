"""ENV055: numpy. CANN up to 8.5 documents numpy below 2; from 9.0 numpy 2 is supported (CANN release notes).

Source: https://github.com/vllm-project/vllm-ascend/issues/2210
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status
from helpers.rules import CannotCheck

CODE, GROUP = "ENV055", "python"


def check(machine: Machine) -> Iterator[Finding]:
    numpy = machine.python.packages.get("numpy", "")
    cann = machine.real_cann.version if machine.real_cann else ""
    if not numpy:
        yield Finding(CODE, Status.FAIL if machine.needs_npu else Status.WARN, "ENV055.none", {})
        return
    try:
        below = versions.numpy_below(cann) if cann else None
        bad = below is not None and versions.parse(numpy) >= versions.parse(below)
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error
    args: Args = {"numpy": numpy, "cann": cann, "below": below}
    status = (Status.FAIL if machine.needs_npu else Status.WARN) if bad else Status.OK
    yield Finding(CODE, status, "ENV055.too_new" if bad else "ENV055.ok", args)
