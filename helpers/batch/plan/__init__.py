"""A plan: which runs there shall be. Read from YAML, expanded, and checked before anything starts."""

from helpers.batch.plan.model import Expected, Item, LeftOut, MetricTarget, Plan, Targets
from helpers.batch.plan.reading import read

__all__ = ["Expected", "Item", "LeftOut", "MetricTarget", "Plan", "Targets", "read"]
