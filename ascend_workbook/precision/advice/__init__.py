"""What to change, from what was seen: one rule per cause, each with its evidence, its change and its source.

seen.py holds the facts, rules/ one file per cause, verb.py reports. A rule speaks only where the facts exist and says
so where they do not."""

from ascend_workbook.precision.advice.verb import advise

__all__ = ["advise"]
