"""The command line of `assess`."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import Report
from ascend_workbook.migration.assess import assess
from ascend_workbook.migration.repair import CLASSES
from ascend_workbook.migration.verdict import refuse_unlooked


def run(call: partial[Report]) -> Report:
    """Assess; refuse a verdict where nothing could be looked at."""
    return refuse_unlooked(call())


EXAMPLES = """
  ascend-workbook assess path/to/repository --html assessment.html
  ascend-workbook assess path/to/repository --fail-on unsupported --json assessment.json
"""
VERB = Verb(assess, {"fail_on": Row(metavar="CLASS", choices=CLASSES)}, run, examples=EXAMPLES)
