"""The command line of `attempts`."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.precision.attempts.verb import attempts

EXAMPLES = """
  ascend-workbook compare gpu.zip runs/npu --attempts runs/demo
  ascend-workbook attempts runs/demo
  ascend-workbook attempts runs/demo --html attempts.html
"""
VERB = Verb(attempts, {"run": Row("folder", metavar="RUN")}, examples=EXAMPLES)
