"""Executed notebooks of a run held against references that somebody blessed, by nbval, without running them again."""

from ascend_workbook.batch.reference.verb import Reference, compare_runs

__all__ = ["Reference", "compare_runs"]
