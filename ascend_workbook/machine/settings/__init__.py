"""Settings of a machine and of a run that precision depends on: recorded, saved, and held against another's.

Facts: record.Settings, read by child/settings.py in a process of its own or inside the training run. differences.py
says what differs and how great its risk is (risks.py); the environment stage reports it, the precision stage judges by
it whether two runs are the same experiment.
"""

from ascend_workbook.machine.settings.differences import Difference, find_differences
from ascend_workbook.machine.settings.record import SCHEMA, Settings, load_record

__all__ = ["SCHEMA", "Difference", "Settings", "find_differences", "load_record"]
