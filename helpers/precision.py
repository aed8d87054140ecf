"""What the notebooks of the precision stage use."""

from ascend_workbook.precision.advice import advise
from ascend_workbook.precision.align import align, join
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.compare import around, compare
from ascend_workbook.precision.curves import curves
from ascend_workbook.precision.curves.readers import read as read_curve
from ascend_workbook.precision.halves import gradient_exponents, scale_history, scale_moves
from ascend_workbook.precision.layouts import read_dump
from ascend_workbook.precision.verify import verify
from ascend_workbook.precision.views.layers import fixed_limits
from ascend_workbook.precision.views.replaying import replay_row
from ascend_workbook.precision.watching import follow_watched

__all__ = [
    "advise",
    "align",
    "around",
    "capture",
    "compare",
    "curves",
    "fixed_limits",
    "follow_watched",
    "gradient_exponents",
    "join",
    "read_curve",
    "read_dump",
    "replay_row",
    "scale_history",
    "scale_moves",
    "verify",
]
