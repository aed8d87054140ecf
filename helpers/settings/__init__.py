"""Settings of a machine and of a run that precision depends on: recorded, saved, and held against another's.

Facts: record.Settings, read by child/settings.py in a process of its own or inside the training run. differences.py
says what differs and how great its risk is (risks.py); the environment stage reports it, the precision stage judges by
it whether two runs are the same experiment.
"""

from helpers.settings.differences import Difference, compare
from helpers.settings.record import SCHEMA, Settings, load

__all__ = ["SCHEMA", "Difference", "Settings", "compare", "load"]
