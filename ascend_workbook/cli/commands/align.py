"""The command line of `align`."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.precision.align import align
from ascend_workbook.precision.views.questions import CLASSES

ROWS = {
    "replaying": Row("--no-replay"),
    "only": Row(metavar="NAME", nargs="+"),
    "sample": Row(metavar="SHARE"),
    "attempts": Row(metavar="RUN"),
    "fail_on": Row(metavar="CLASS", choices=CLASSES),
}
EXAMPLES = """
  ascend-workbook align runs/demo/baseline runs/demo/npu --html precision.html
  ascend-workbook align gpu npu --fail-on experiment --fail-on divergence --fail-on incomplete --junit precision.xml
"""
VERB = Verb(align, ROWS, details="--all", examples=EXAMPLES)
