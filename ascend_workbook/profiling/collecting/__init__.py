"""`profile` and `recording`: steps recorded with the device's own profiler, and an account of what came.

options.py: what can be asked, and what a device does with it. account.py: the folder, its record, and the report.
runs.py: around an unmodified script, in a child, or around a loop of the caller's own."""

from ascend_workbook.profiling.collecting.options import METRICS, Options
from ascend_workbook.profiling.collecting.runs import Recorder, profile, recording

__all__ = ["METRICS", "Options", "Recorder", "profile", "recording"]
