"""Why a step is not shorter: each gap of the device is read, and what the host did in it summed by cause and place."""

from ascend_workbook.profiling.causes.cause import KINDS, Cause, Range
from ascend_workbook.profiling.causes.engine import find_causes

__all__ = ["KINDS", "Cause", "Range", "find_causes"]
