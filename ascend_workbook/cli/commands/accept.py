"""The command line of `accept`."""

from __future__ import annotations

from ascend_workbook import batch
from ascend_workbook.cli.options import Row, Verb

ROWS = {
    "target": Row(metavar="NAME=VALUE"),
    "confirm": Row(metavar=("CODE", "TEXT"), nargs=2),
}
EXAMPLES = """
  ascend-workbook accept runs/demo
  ascend-workbook accept runs/demo --target loss=1% --target throughput=80%
  ascend-workbook accept runs/night --confirm ACP541 "loaded on a CPU host, 2026-05-04, Li"
"""
VERB = Verb(batch.accept, ROWS, examples=EXAMPLES)
