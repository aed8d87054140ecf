"""Stage 1, environment: what this machine is, whether it can train on an NPU, and what to do where it cannot.

Facts: `machine.Machine`, gathered by `probe.probe`. Rules: rules/, one file each, codes ENV0xx. Verbs: below.
"""

from ascend_workbook.environment.compute import compute_check, environment_check, join
from ascend_workbook.environment.installing import set_up
from ascend_workbook.environment.launching import launch_facts
from ascend_workbook.environment.readiness import check
from ascend_workbook.environment.settings import compare_settings, save_settings

__all__ = [
    "check",
    "compare_settings",
    "compute_check",
    "environment_check",
    "join",
    "launch_facts",
    "save_settings",
    "set_up",
]
