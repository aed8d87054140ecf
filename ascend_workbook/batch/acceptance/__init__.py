"""Whether a migration can be accepted: a checklist ticked from the reports of a run, and from nothing else."""

from ascend_workbook.batch.acceptance.checklist import accept, judge_as_it_stands

__all__ = ["accept", "judge_as_it_stands"]
