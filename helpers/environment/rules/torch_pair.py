"""ENV053: torch and torch_npu are a pair: torch_npu X.Y.Z requires torch X.Y.Z exactly (wheel metadata).

Symptoms of a wrong pair: undefined symbol at import, "torch_npu ... requires torch ==".

Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/COMPATIBILITY.md
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment import nearest
from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status
from helpers.rules import CannotCheck

CODE, GROUP = "ENV053", "python"


def check(machine: Machine) -> Iterator[Finding]:
    torch, torch_npu = machine.torch, machine.torch_npu
    if not torch or not torch_npu:
        return
    args: Args = {"torch": torch, "torch_npu": torch_npu}
    try:
        fit = versions.pair_torch(torch, torch_npu)
        wanted = versions.base(torch_npu)
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error
    status = Status.OK if fit == "matches" else Status.FAIL
    if fit == "wrong":
        args.update(wanted=wanted, command=nearest.command(machine))
    yield Finding(CODE, status, f"ENV053.{fit}", args, weight=40)
