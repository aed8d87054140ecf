"""The command line of `benchmark`."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import TIERS
from ascend_workbook.profiling.benchmark.script import of_script

ROWS = {
    "device": Row(choices=("auto", *TIERS)),
    "sweep": Row(metavar="NAME=VALUES"),
    "loader": Row(metavar="NAME=VALUES"),
    "baseline": Row(metavar="FILE"),
    "out": Row(metavar="DIR"),
    "timeout_s": Row("--timeout", metavar="SECONDS"),
    **dict.fromkeys(("steps", "warmup", "repeats", "samples", "tokens", "nproc"), Row(metavar="N")),
}
EXAMPLES = """
  ascend-workbook benchmark train.py --epochs 1
  ascend-workbook benchmark --sweep batch-size=8,16,32 --repeats 3 train.py
  ascend-workbook benchmark --sweep batch-size=8..1024 --device npu train.py
  ascend-workbook benchmark --loader workers=0,2,4 --loader pin_memory --autocast train.py
  ascend-workbook benchmark --json npu.json --baseline gpu.json train.py
"""
VERB = Verb(of_script, ROWS, examples=EXAMPLES)
