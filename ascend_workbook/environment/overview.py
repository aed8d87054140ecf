"""Both questions of the stage as one report: is the machine ready, and does it compute right."""

from __future__ import annotations

import os

from ascend_workbook.environment.compute import compute_check
from ascend_workbook.environment.readiness import STAGE, check
from ascend_workbook.findings import report
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.device import Device


def environment_check(
    device: str = "auto", *, compute: bool = True, work_folder: str | os.PathLike[str] = "."
) -> Report:
    """Return the machine's report and, unless `compute` is off or there is no such device, the computation's.

    With device auto and no accelerator here there is nothing to hold against the CPU: device cpu computes all the same.
    """
    machine = check(device, work_folder=work_folder)
    if not compute or not machine.tier or (device == "auto" and machine.tier == "cpu"):
        return join(machine)
    chosen = machine.facts["machine"]["chosen"]
    return join(machine, compute_check(Device(chosen["tier"], chosen["name"], chosen["count"])))


def join(*parts: Report) -> Report:
    """Join reports of this stage into one, with the tier of the first."""
    return report.join_reports(STAGE, "environment_check", list(parts), tier=parts[0].tier)
