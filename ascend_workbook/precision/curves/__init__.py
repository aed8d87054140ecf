"""Curves of two runs: read in any format, aligned by step, and judged.

readers (a file of any kind) -> series (a Curve) -> aligned -> spikes, scale, finals -> findings, rows -> verb."""

from ascend_workbook.precision.curves.aligned import TOLERANCE
from ascend_workbook.precision.curves.follow import Follow
from ascend_workbook.precision.curves.verb import curves

__all__ = ["TOLERANCE", "Follow", "curves"]
