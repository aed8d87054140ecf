"""Executed notebooks of a run held against references that somebody blessed, by nbval, without running them again."""
