"""Executed notebooks of a run held against references that somebody blessed, by nbval, without running them again."""

from helpers.batch.reference.verb import Reference, held

__all__ = ["Reference", "held"]
