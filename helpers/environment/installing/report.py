"""`set_up`: the plan as a report, the commands as a listing that can be pasted, and the kernel where it is wanted."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from helpers import kernelspec
from helpers.environment.installing import kernel, place, plan
from helpers.environment.machine import Machine
from helpers.environment.probe import probe
from helpers.environment.readiness import STAGE
from helpers.environment.system import Args
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.report import Column, Listing, Report, Table

COLUMNS = (Column("installing_step"), Column("installing_command"), Column("installing_why"))
WEIGHT = 100.0
#: What a kernel can be for: the others need no environment of their own.
KERNELS = ("auto", "npu", "npu-simulated")
GOOD = ("kept", "gpu")
WARNING = ("pair_outside", "no_pair", "cann_unknown", "version", "simulator_torch")


def set_up(device: str = "auto", *, work_folder: str | os.PathLike[str] = ".", anywhere: bool = False) -> Report:
    """Looks at this machine as `check` does and says which commands make it ready; runs none of them.

    `anywhere`: commands by absolute paths. FAIL where pip cannot make it ready.

    Raises WorkbookError `device.unknown` for a word that names no device.
    """
    return report_on(probe(device, work_folder=work_folder), anywhere=anywhere)


def report_on(machine: Machine, *, anywhere: bool = False) -> Report:
    """The report of facts already gathered."""
    made = plan.make(machine, anywhere=anywhere)
    notes = tuple(Finding("ENV131", _status(key), f"ENV131.{key}", args, weight=10) for key, args in made.notes)
    rows = tuple(
        (number, step.command, {"say": f"installing.step.{step.key}", "args": step.args})
        for number, step in enumerate(made.steps, 1)
    )
    text = "\n".join(step.command for step in made.steps)
    return Report(
        STAGE,
        "set_up",
        (_verdict(made, notes), *notes),
        Table(COLUMNS, rows),
        listing=Listing("installing_commands", text + "\n", "bash") if text else None,
        facts={"situation": made.situation, "commands": [step.command for step in made.steps], "held": list(made.held)},
        tier=machine.chosen.tier,
    )


def _status(key: str) -> Status:
    if key in plan.BLOCKING:
        return Status.FAIL
    return Status.WARN if key in WARNING else Status.OK if key in GOOD else Status.NOTE


def _verdict(made: plan.Plan, notes: tuple[Finding, ...]) -> Finding:
    worst = max((note.status for note in notes), default=Status.OK)
    args: Args = {"where": {"say": f"installing.situation.{made.situation}"}, "count": len(made.steps),
                  "held": list(made.held) or "-"}  # fmt: skip
    if worst is Status.FAIL:
        first = next(note for note in notes if note.status is Status.FAIL)
        args["first"] = {"say": first.key, "args": first.args}
        return Finding("ENV130", worst, "ENV130.blocked", args, weight=WEIGHT)
    if all(step.key == "kernel" for step in made.steps):
        return Finding("ENV130", worst, "ENV130.ready", args, weight=WEIGHT)
    return Finding("ENV130", max(worst, Status.NOTE), "ENV130.steps", args, weight=WEIGHT)


def write_kernel(
    name: str, *, device: str = "auto", display_name: str = "", prefix: Path | None = None, replace: bool = False
) -> Report:
    """Writes the Jupyter kernel `name` with absolute values and asks a process of that environment what it sees.

    Without a `prefix` into this Python's environment, or where the server does not look there, the user's folder.

    `device` npu: of a real NPU or not at all, FAIL where the kernel sees none. Raises WorkbookError `kernelspec.name`,
    `kernelspec.exists` (and not `replace`), `kernelspec.no_cann`, `kernelspec.sourcing`, `kernelspec.device`,
    `device.absent`.
    """
    if device not in KERNELS:
        raise WorkbookError("kernelspec.device", device=device)
    environment, simulated = kernel.environment(device=device)
    shown = display_name or ("Ascend NPU (simulated)" if simulated else "Ascend NPU")
    where = place.choose(prefix)
    folder = kernelspec.write(name, shown, environment, data=where.data, replace=replace)
    seen = kernel.sees(environment)
    args: Args = {"name": name, "path": str(folder), "seen": seen, "variables": len(environment)}
    if not isinstance(seen, int):
        status, key = Status.WARN, "ENV132.blind"
    else:
        status, key = (Status.OK, "ENV132.written") if seen else (Status.WARN, "ENV132.none")
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
        STAGE, "set_up_kernel", tuple(findings), Table((Column("installing_variable"), Column("value")), rows),
        facts={"folder": str(folder), "environment": environment, "npus": seen},
        tier="npu-simulated" if simulated else "",
    )  # fmt: skip
