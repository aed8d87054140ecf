"""`set_up`: the plan as a report, the commands as a listing that can be pasted, and the kernel where it is wanted."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from ascend_workbook.environment.installing import kernel, place, plan
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.probe import probe
from ascend_workbook.environment.readiness import STAGE
from ascend_workbook.environment.system import Args
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import kernelspec

COLUMNS = (Column("installing_step"), Column("installing_command"), Column("installing_why"))
WEIGHT = 100.0
#: What a kernel can be for: the others need no environment of their own.
KERNELS = ("auto", "npu", "npu-simulated")
GOOD = ("kept", "gpu")
WARNING = ("pair_outside", "no_pair", "cann_unknown", "version", "simulator_torch")


def set_up(device: str = "auto", *, work_folder: str | os.PathLike[str] = ".", anywhere: bool = False) -> Report:
    """Look at this machine as `check` does and say which commands make it ready; none of them is run.

    `anywhere`: commands by absolute paths. FAIL where pip cannot make it ready.

    Raises WorkbookError `device.unknown` for a word that names no device.
    """
    return report_on(probe(device, work_folder=work_folder), anywhere=anywhere)


def report_on(machine: Machine, *, anywhere: bool = False) -> Report:
    """Report on facts already gathered."""
    drafted = plan.make_plan(machine, anywhere=anywhere)
    notes = tuple(
        Finding("ENV131", _status_of_note(key), f"ENV131.{key}", args, weight=10) for key, args in drafted.notes
    )
    rows = tuple(
        (number, step.command, Sentence(f"installing.step.{step.key}", **step.args))
        for number, step in enumerate(drafted.steps, 1)
    )
    text = "\n".join(step.command for step in drafted.steps)
    return Report(
        STAGE,
        "set_up",
        (_make_verdict(drafted, notes), *notes),
        Table(COLUMNS, rows),
        listing=Listing("installing_commands", text + "\n", "bash") if text else None,
        facts={
            "situation": drafted.situation,
            "commands": [step.command for step in drafted.steps],
            "held": list(drafted.held),
        },
        tier=machine.chosen.tier,
    )


def _status_of_note(key: str) -> Status:
    if key in plan.BLOCKING:
        return Status.FAIL
    return Status.WARN if key in WARNING else Status.OK if key in GOOD else Status.NOTE


def _make_verdict(drafted: plan.Plan, notes: tuple[Finding, ...]) -> Finding:
    worst = max((note.status for note in notes), default=Status.OK)
    args: Args = {
        "where": Sentence(f"installing.situation.{drafted.situation}"),
        "count": len(drafted.steps),
        "held": list(drafted.held) or "-",
    }
    if worst is Status.FAIL:
        first = next(note for note in notes if note.status is Status.FAIL)
        args["first"] = Sentence(first.key, **first.args)
        return Finding("ENV130", worst, "ENV130.blocked", args, weight=WEIGHT)
    if all(step.key == "kernel" for step in drafted.steps):
        return Finding("ENV130", worst, "ENV130.ready", args, weight=WEIGHT)
    return Finding("ENV130", max(worst, Status.NOTE), "ENV130.steps", args, weight=WEIGHT)


def write_kernel(
    name: str, *, device: str = "auto", display_name: str = "", prefix: Path | None = None, replace: bool = False
) -> Report:
    """Write the Jupyter kernel `name` with absolute values and ask a process of that environment what it sees.

    Without a `prefix` into this Python's environment, or where the server does not look there, the user's folder.

    `device` npu: of a real NPU or not at all, FAIL where the kernel sees none. Raises WorkbookError `kernelspec.name`,
    `kernelspec.exists` (and not `replace`), `kernelspec.no_cann`, `kernelspec.sourcing`, `kernelspec.device`,
    `device.absent`.
    """
    if device not in KERNELS:
        raise WorkbookError("kernelspec.device", device=device)
    environment, simulated = kernel.kernel_environment(device=device)
    shown = display_name or ("Ascend NPU (simulated)" if simulated else "Ascend NPU")
    where = place.choose_place(prefix)
    folder = kernelspec.write_kernelspec(name, shown, environment, data=where.data, replace=replace)
    npus = kernel.count_visible_npus(environment)
    args: Args = {"name": name, "path": str(folder), "seen": npus, "variables": len(environment)}
    if not isinstance(npus, int):
        status, key = Status.WARN, "ENV132.blind"
    else:
        status, key = (Status.OK, "ENV132.written") if npus else (Status.WARN, "ENV132.none")
    status = Status.FAIL if device == "npu" and status is Status.WARN else status
    findings = [Finding("ENV132", status, key, args, weight=WEIGHT)]
    if where.seen is False:
        findings.append(Finding("ENV132", Status.WARN, "ENV132.unseen", {"path": str(where.data)}))
    if not where.kept:
        findings.append(Finding("ENV132", Status.NOTE, "ENV132.instance", {"path": str(where.data), "name": name}))
    if importlib.util.find_spec("ipykernel") is None:
        findings.append(Finding("ENV132", Status.WARN, "ENV132.no_ipykernel", {}))
    rows = tuple((name, environment[name]) for name in sorted(environment))
    return Report(
        STAGE,
        "set_up_kernel",
        tuple(findings),
        Table((Column("installing_variable"), Column("value")), rows),
        facts={"folder": str(folder), "environment": environment, "npus": npus},
        tier="npu-simulated" if simulated else "",
    )
