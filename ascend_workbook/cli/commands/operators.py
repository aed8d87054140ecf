"""The command line of `operators`."""

from __future__ import annotations

from ascend_workbook.cli.commands.dry_run import run
from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import TIERS
from ascend_workbook.migration.operators import operators
from ascend_workbook.migration.rewrite.work import MODES

ROWS = {
    "device": Row(choices=("auto", *TIERS, "meta")),
    "mode": Row(choices=MODES),
    "out": Row(metavar="FOLDER"),
    "timeout_s": Row("--timeout", metavar="S"),
    "seed": None,
    **dict.fromkeys(("steps", "warmup", "nproc"), Row(metavar="N")),
}
EXAMPLES = """
  ascend-workbook operators train.py
  ascend-workbook operators --device npu-simulated --steps 1 train.py --batch-size 8
  ascend-workbook operators --device meta --json operators.json train.py --layers 80
  ascend-workbook operators --mode explicit torchrun --nproc_per_node=2 train.py
"""
VERB = Verb(operators, ROWS, run, examples=EXAMPLES)
