"""What the planning notebook uses."""

from ascend_workbook.planning.rehearsal import rehearse

__all__ = ["rehearse"]
