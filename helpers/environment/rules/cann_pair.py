"""ENV054: torch_npu and CANN by the vendor's table: recommended, compatible, outside the published ranges, not listed.

Not listed is not wrong: about half of PyPI's versions have no published pair.
Source: https://github.com/Ascend/pytorch COMPATIBILITY.md and release notes (helpers/compatibility.json).
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment import nearest
from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status
from helpers.rules import CannotCheck

CODE, GROUP = "ENV054", "python"


def check(machine: Machine) -> Iterator[Finding]:
    torch_npu, cann = machine.torch_npu, machine.real_cann
    if not torch_npu:
        return
    recommended = [f"{name} {version}" for name, version in versions.compatibility()["recommended"].items()]
    args: Args = {"torch_npu": torch_npu, "recommended": recommended}
    try:
        if machine.chosen.tier == "npu-simulated" or cann is None:
            yield _later(machine, args)
            return
        if not cann.version:
            raise CannotCheck("untold.cann_version", path=cann.path)
        yield _judge(machine, {**args, "cann": cann.version}, cann.version)
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error


def _judge(machine: Machine, args: Args, cann: str) -> Finding:
    fit = versions.pair_cann(machine.torch_npu, cann)
    listed: Args = {
        "wanted_cann": list(versions.cann_for(machine.torch_npu)),
        "wanted_npu": list(versions.torch_npu_for(cann, machine.torch) or versions.torch_npu_for(cann)),
        "command": nearest.command(machine) if fit == "outside" else None,
    }
    works = machine.chosen.tier == "npu"
    status = {
        "recommended": Status.OK,
        "compatible": Status.OK,
        "not_listed": Status.NOTE,
        "outside": Status.WARN if works else Status.FAIL,
    }[fit]
    return Finding(CODE, status, f"ENV054.{fit}", {**args, **listed}, weight=30)


def _later(machine: Machine, args: Args) -> Finding:
    """No real CANN to pair with: say what the real machine will need."""
    wanted = versions.cann_for(machine.torch_npu)
    key = "ENV054.later" if wanted else "ENV054.later_not_listed"
    return Finding(CODE, Status.NOTE, key, {**args, "wanted_cann": list(wanted)})
