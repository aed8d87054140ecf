"""The command line of `scan`."""

from __future__ import annotations

from ascend_workbook.cli.commands.assess import run
from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.migration.repair import CLASSES
from ascend_workbook.migration.scan import scan

ROWS = {"fail_on": Row(metavar="CLASS", choices=CLASSES)}
EXAMPLES = """
  ascend-workbook scan train.py
  ascend-workbook scan train.py --details
  ascend-workbook scan path/to/repository --json scan.json --html scan.html
  ascend-workbook scan path/to/repository --fail-on unsupported
"""
VERB = Verb(scan, ROWS, run, details="--details", examples=EXAMPLES)
