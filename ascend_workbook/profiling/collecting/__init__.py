"""`profile` and `recording`: steps recorded with the device's own profiler, and an account of what came.

options.py: what can be asked, and what a device does with it. folder.py: where it goes and the record beside it.
runs.py: around an unmodified script, in a child, or around a loop of the caller's own. account.py: the report.
"""

from ascend_workbook.profiling.collecting.options import METRICS, Options
from ascend_workbook.profiling.collecting.runs import Recorder, profile, recording

__all__ = ["METRICS", "Options", "Recorder", "profile", "recording"]
