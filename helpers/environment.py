"""What the notebook of the environment stage uses."""

from ascend_workbook.environment import (
    check,
    compute_check,
    environment_check,
    join,
    launch_facts,
    save_settings,
    set_up,
)
from ascend_workbook.environment.readiness import probe, report_on

__all__ = [
    "check",
    "compute_check",
    "environment_check",
    "join",
    "launch_facts",
    "probe",
    "report_on",
    "save_settings",
    "set_up",
]
