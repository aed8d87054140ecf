"""The command line of `baseline`."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.precision.baselines.verb import baseline

ROWS = {
    "out": Row(metavar="PATH"),
    "device": Row(choices=("baseline", "cuda", "cpu")),
    "level": Row(choices=("L0", "L1", "mix")),
    "timing_steps": Row(metavar="N"),
    "warmup": Row(metavar="N"),
    "samples_per_step": Row(metavar="N"),
}
EXAMPLES = """
  ascend-workbook baseline --out gpu.zip train.py --batch-size 16
  ascend-workbook baseline --out gpu.zip --steps 10 --timing-steps 0 --samples-per-step 256 train.py
  ascend-workbook baseline --out gpu.zip --nproc 8 train.py
  ascend-workbook baseline --out gpu.zip --no-statistics train.py
"""
VERB = Verb(baseline, ROWS, examples=EXAMPLES)
