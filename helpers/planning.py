"""What the planning notebook uses."""

from ascend_workbook.planning.answers import join
from ascend_workbook.planning.rehearsal import rehearse
from ascend_workbook.planning.strategy.verb import plan

__all__ = ["join", "plan", "rehearse"]
