"""The command line of `advise`."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.precision.advice import advise

ROWS = {
    "again": Row(metavar="DIR"),
    "log_baseline": Row(metavar="LOG"),
    "log_target": Row(metavar="LOG"),
    "replaying": Row("--replay"),
}
EXAMPLES = """
  ascend-workbook advise runs/demo/baseline runs/demo/npu
  ascend-workbook advise runs/demo/baseline runs/demo/npu --again runs/demo/npu-second --replay --html advice.html
"""
VERB = Verb(advise, ROWS, details="--details", examples=EXAMPLES)
