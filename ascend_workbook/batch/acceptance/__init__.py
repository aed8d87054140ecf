"""Whether a migration can be accepted: a checklist ticked from the reports of a run, and from nothing else."""

from ascend_workbook.batch.acceptance.checklist import accept, section_of

__all__ = ["accept", "section_of"]
