"""ENV050: Python. This package needs 3.9; torch_npu's wheels exist for some versions only (tags on PyPI).

Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/COMPATIBILITY.md
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment import nearest
from helpers.environment.machine import Machine
from helpers.environment.system import Args, shown
from helpers.finding import Finding, Status

CODE, GROUP = "ENV050", "python"


def check(machine: Machine) -> Iterator[Finding]:
    python = machine.python.version
    args: Args = {"python": python, "executable": shown(machine.python.executable), "torch_npu": machine.torch_npu}
    wheel = versions.wheel(machine.torch_npu, machine.host.arch) if machine.torch_npu else None
    minor = ".".join(python.split(".")[:2])
    if wheel and minor not in wheel["python"]:
        yield Finding(
            CODE,
            Status.WARN,
            "ENV050.no_wheel",
            {**args, "listed": wheel["python"], "command": nearest.command(machine)},
        )
    else:
        yield Finding(CODE, Status.OK, "ENV050.ok", args)
