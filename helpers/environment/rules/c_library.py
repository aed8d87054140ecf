"""ENV011: the wheel's glibc. From torch_npu 2.7.1 the wheels ask for 2.28 (2.6.0 on aarch64), before for 2.17.

An older glibc fails at import with "version `GLIBC_2.28' not found". Source: the wheels' tags on PyPI.

Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment import nearest
from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV011", "host"


def check(machine: Machine) -> Iterator[Finding]:
    glibc = told(machine.host.glibc)
    wheel = versions.wheel(machine.torch_npu, machine.host.arch) if machine.torch_npu else None
    if wheel is None:
        yield Finding(CODE, Status.OK, "ENV011.ok", {"glibc": glibc})
        return
    args: Args = {"glibc": glibc, "needed": wheel["glibc"], "torch_npu": machine.torch_npu}
    if versions.parse(glibc) < versions.parse(wheel["glibc"]):
        args["command"] = nearest.command(machine)
        yield Finding(CODE, Status.FAIL, "ENV011.old", args)
    else:
        yield Finding(CODE, Status.OK, "ENV011.enough", args)
