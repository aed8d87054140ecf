"""List every operator of one training step, and how torch_npu runs each on an NPU: native, on the CPU, or not at all.

The script is run for a step or two on the best NPU that is here, real or simulated; without one on the CPU, where the
answers come from a table of torch_npu 2.13.0's registrations. Our options stand before the script, its own behind it.

Examples:
  ascend-workbook operators train.py
  ascend-workbook operators --device npu-simulated --steps 1 train.py --batch-size 8
  ascend-workbook operators --device meta --json operators.json train.py --layers 80
  ascend-workbook operators --mode explicit torchrun --nproc_per_node=2 train.py
"""

from __future__ import annotations

import argparse
from functools import partial

from helpers.commands import behind
from helpers.commands.dry_run import tell
from helpers.migration.operators import operators
from helpers.migration.rewrite.work import INJECT, MODES
from helpers.report import TIERS, Report

NAME = "operators"


def configure(parser: argparse.ArgumentParser) -> None:
    choices = ("auto", *TIERS, "meta")
    parser.add_argument("--device", default="auto", choices=choices, help="where to run (default: auto)")
    parser.add_argument("--steps", type=int, default=1, metavar="N", help="steps to trace (default: 1)")
    parser.add_argument("--warmup", type=int, default=1, metavar="N", help="steps before them (default: 1)")
    parser.add_argument("--nproc", type=int, default=1, metavar="N", help="processes under torchrun (default: 1, none)")
    parser.add_argument("--mode", choices=MODES, default=INJECT, help="how to migrate, as in rewrite (default: inject)")
    parser.add_argument("--out", metavar="FOLDER", help="keep logs and the migrated script here")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds allowed")
    parser.add_argument("script", help="the training script or notebook as it runs on a GPU, or what launches it")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the script's own arguments")


def run(args: argparse.Namespace) -> Report:
    return operators(
        args.script,
        behind(args.args),
        args.device,
        args.steps,
        warmup=args.warmup,
        out=args.out,
        nproc=args.nproc,
        mode=args.mode,
        timeout_s=args.timeout,
        on_progress=partial(tell, lang=args.lang),
    )
