"""ENV059: packages that stand in each other's way: triton-ascend installs the module triton; protobuf 4 and CANN's
compiler before 9.1.0; torch_npu versions that are early or no longer maintained (helpers/compatibility.json).

Source: https://github.com/Ascend/pytorch/blob/9e73e708ab9350d203475609f36f8a43f6a0c2ab/SUPPORT.md
Source: https://github.com/vllm-project/vllm-ascend/issues/7359
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status
from helpers.rules import CannotCheck

CODE, GROUP = "ENV059", "python"


def check(machine: Machine) -> Iterator[Finding]:
    packages = machine.python.packages
    if {"triton", "triton_ascend"} <= packages.keys():
        args: Args = {"triton": packages["triton"], "ascend": packages["triton_ascend"]}
        yield Finding(CODE, Status.FAIL if machine.needs_npu else Status.WARN, "ENV059.triton", args)
    if not machine.torch_npu:
        return
    try:
        base, exact = versions.base(machine.torch_npu), versions.parse(machine.torch_npu)
        old = base in versions.compatibility()["end_of_life"]
        early = any(exact == versions.parse(name) for name in versions.compatibility()["early"]["torch_npu"])
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error
    named: Args = {"torch_npu": machine.torch_npu}
    if machine.needs_npu and (old or early):
        yield Finding(CODE, Status.NOTE, "ENV059.old" if old else "ENV059.early", named)
