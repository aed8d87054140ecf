"""The pairs: torch_npu with torch, and with CANN."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment import nearest
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.machine import versions

GROUP = "python"


def check_torch_pair(machine: Machine) -> Iterator[Finding]:
    """ENV053: torch and torch_npu are a pair: torch_npu X.Y.Z requires torch X.Y.Z exactly (wheel metadata).

    Symptoms of a wrong pair: undefined symbol at import, "torch_npu ... requires torch ==".

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/COMPATIBILITY.md
    """
    torch, torch_npu = machine.torch, machine.torch_npu
    if not torch or not torch_npu:
        return
    args: Args = {"torch": torch, "torch_npu": torch_npu}
    try:
        fit = versions.pair_torch(torch, torch_npu)
        wanted = versions.base_version(torch_npu)
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error
    status = Status.OK if fit == "matches" else Status.FAIL
    if fit == "wrong":
        args.update(wanted=wanted, command=nearest.nearest_versions(machine))
    yield Finding("ENV053", status, f"ENV053.{fit}", args, weight=40)


def check_cann_pair(machine: Machine) -> Iterator[Finding]:
    """ENV054: torch_npu and CANN by the vendor's table: recommended, compatible, outside the published ranges, not
    listed.

    Not listed is not wrong: about half of PyPI's versions have no published pair. Source:
    https://github.com/Ascend/pytorch COMPATIBILITY.md and release notes (ascend_workbook/machine/compatibility.json).
    """
    torch_npu, cann = machine.torch_npu, machine.real_cann
    if not torch_npu:
        return
    recommended = [f"{name} {version}" for name, version in versions.load_compatibility()["recommended"].items()]
    args: Args = {"torch_npu": torch_npu, "recommended": recommended}
    try:
        if machine.chosen.tier == "npu-simulated" or cann is None:
            yield _note_later(machine, args)
            return
        if not cann.version:
            raise CannotCheck("untold.cann_version", path=cann.path)
        yield _judge_pair(machine, {**args, "cann": cann.version}, cann.version)
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error


def _judge_pair(machine: Machine, args: Args, cann: str) -> Finding:
    fit = versions.pair_cann(machine.torch_npu, cann)
    listed: Args = {
        "wanted_cann": list(versions.cann_for(machine.torch_npu)),
        "wanted_npu": list(versions.torch_npu_for(cann, machine.torch) or versions.torch_npu_for(cann)),
        "command": nearest.nearest_versions(machine) if fit == "outside" else None,
    }
    works = machine.chosen.tier == "npu"
    status = {
        "recommended": Status.OK,
        "compatible": Status.OK,
        "not_listed": Status.NOTE,
        "outside": Status.WARN if works else Status.FAIL,
    }[fit]
    return Finding("ENV054", status, f"ENV054.{fit}", {**args, **listed}, weight=30)


def _note_later(machine: Machine, args: Args) -> Finding:
    """Say what the real machine will need where there is no real CANN to pair with."""
    wanted = versions.cann_for(machine.torch_npu)
    key = "ENV054.later" if wanted else "ENV054.later_not_listed"
    return Finding("ENV054", Status.NOTE, key, {**args, "wanted_cann": list(wanted)})


RULES = {
    "ENV053": check_torch_pair,
    "ENV054": check_cann_pair,
}
