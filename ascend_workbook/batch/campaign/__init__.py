"""All runs of a plan, side by side, each in a process of its own, and what became of them."""

from ascend_workbook.batch.campaign.run import run_plan

__all__ = ["run_plan"]
