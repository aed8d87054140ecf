"""A plan: which runs there shall be. Read from YAML, expanded, and checked before anything starts."""

from helpers.batch.plan.model import Item, Plan
from helpers.batch.plan.reading import read

__all__ = ["Item", "Plan", "read"]
