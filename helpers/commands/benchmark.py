"""Measure how fast a script trains: throughput, latency, memory, by batch size, precision and data loading.

Examples:
  ascend-workbook benchmark train.py --epochs 1
  ascend-workbook benchmark --sweep batch-size=8,16,32 --repeats 3 train.py
  ascend-workbook benchmark --sweep batch-size=8..1024 --device npu train.py
  ascend-workbook benchmark --loader workers=0,2,4 --loader pin_memory --autocast train.py
  ascend-workbook benchmark --json npu.json --baseline gpu.json train.py

The script runs unmodified, once for each combination of what is varied. --sweep varies an argument of its own:
`batch-size=8,16` runs it with --batch-size 8 and 16, `batch-size=8..64` doubles until memory runs out, `amp` runs it
without and with --amp. --loader varies its DataLoaders, --autocast the precision of its model. Options of this
command come before the script, the script's own after it. Models, functions and DataLoaders of a notebook:
`helpers.benchmark(model, inputs)`.
"""

from __future__ import annotations

import argparse

from helpers.commands import behind, progress_lines
from helpers.report import TIERS, Report

NAME = "benchmark"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", choices=("auto", *TIERS), help="where to run (default: auto)")
    parser.add_argument("--steps", type=int, default=20, metavar="N", help="steps to time in each run (default: 20)")
    parser.add_argument("--warmup", type=int, default=5, metavar="N", help="steps before them (default: 5)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="runs of each configuration (default: 1)")
    parser.add_argument("--sweep", action="append", default=[], metavar="NAME=VALUES",
                        help="vary an argument of the script (may be repeated)")  # fmt: skip
    parser.add_argument("--loader", action="append", default=[], metavar="NAME=VALUES",
                        help="vary workers, pin_memory or prefetch_factor of its DataLoaders")  # fmt: skip
    parser.add_argument("--autocast", action="store_true", help="run its model without and with bfloat16 autocast")
    parser.add_argument("--samples", type=float, metavar="N", help="samples in a step, where no DataLoader tells them")
    parser.add_argument("--tokens", type=float, metavar="N", help="tokens in a step, where no DataLoader tells them")
    parser.add_argument("--baseline", metavar="FILE", help="an earlier benchmark's JSON, from any machine")
    parser.add_argument("--out", default="benchmark", metavar="DIR", help="folder for the runs (default: benchmark)")
    parser.add_argument("--nproc", type=int, default=1, metavar="N", help="processes, under torchrun (default: 1)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="end a run after this time")
    parser.add_argument("script", help="the training script")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the script's own arguments")


def run(args: argparse.Namespace) -> Report:
    from helpers.profiling import benchmark

    names = ("device", "steps", "warmup", "repeats", "sweep", "loader", "autocast", "samples", "tokens", "baseline",
             "out", "nproc")  # fmt: skip
    options = {name: getattr(args, name) for name in names}
    return benchmark(args.script, behind(args.args), timeout_s=args.timeout, on_progress=progress_lines, **options)
