"""A plan: which runs there shall be. Read from YAML, expanded, and checked before anything starts."""

from helpers.batch.plan.listing import chosen, list_plan
from helpers.batch.plan.model import Expected, Item, LeftOut, MetricTarget, Plan, Targets
from helpers.batch.plan.reading import read
from helpers.batch.plan.selection import Selection, parse_shard, select

__all__ = ["Expected", "Item", "LeftOut", "MetricTarget", "Plan", "Selection", "Targets", "chosen", "list_plan",
           "parse_shard", "read", "select"]  # fmt: skip
