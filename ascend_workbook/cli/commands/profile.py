"""The command line of `profile`."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import TIERS
from ascend_workbook.profiling import profile
from ascend_workbook.profiling.collecting.options import Options

ROWS = {
    "device": Row(choices=("auto", *TIERS)),
    "out": Row(metavar="DIR"),
    "level": Row(choices=(0, 1, 2)),
    "metrics": Row(metavar="NAME"),
    "export": Row(metavar="FORM"),
    "gc_ms": Row(metavar="MS"),
    "simplify": Row("--keep-raw"),
    "limit_mib": Row(metavar="MIB"),
    "timeout_s": Row("--timeout", metavar="SECONDS"),
    **dict.fromkeys(("steps", "warmup", "wait", "nproc"), Row(metavar="N")),
}
EXAMPLES = """
  ascend-workbook profile train.py --epochs 1
  ascend-workbook profile --device cpu --steps 20 --out runs/before train.py
  ascend-workbook profile --nproc 8 --ranks 0,7 train.py
  ascend-workbook profile --device npu --level 2 --metrics memory --export both --op-attr train.py
"""
VERB = Verb(profile, ROWS, options_of=Options, examples=EXAMPLES)
