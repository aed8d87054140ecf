"""Which devices are here, and how a script is started on one."""

from ascend_workbook.machine.device import Device, child_environment, find
from ascend_workbook.machine.device import find_baseline as baseline
from ascend_workbook.machine.launch import LaunchSpec, launch

__all__ = ["Device", "LaunchSpec", "baseline", "child_environment", "find", "launch"]
