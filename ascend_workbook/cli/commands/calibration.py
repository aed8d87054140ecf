"""The command line of `calibrate`."""

from __future__ import annotations

from ascend_workbook.cli.options import Verb
from ascend_workbook.profiling.calibration import calibrate

VERBS = {"calibrate": Verb(calibrate, {"chip": "CHIP", "out": "FILE", "basis": "FILE"})}
