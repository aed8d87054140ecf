"""A plan: which runs there shall be. Read from YAML, expanded, and checked before anything starts."""

from ascend_workbook.batch.plan.listing import list_plan, select_runs
from ascend_workbook.batch.plan.model import Expected, Item, LeftOut, MetricTarget, Plan, Targets
from ascend_workbook.batch.plan.reading import read_plan
from ascend_workbook.batch.plan.selection import Selection, parse_shard, select_items

__all__ = [
    "Expected",
    "Item",
    "LeftOut",
    "MetricTarget",
    "Plan",
    "Selection",
    "Targets",
    "select_runs",
    "list_plan",
    "parse_shard",
    "read_plan",
    "select_items",
]
