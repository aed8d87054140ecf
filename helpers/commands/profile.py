"""Record some training steps of a script with the device's own profiler, and check that data came.

Examples:
  ascend-workbook profile train.py --epochs 1
  ascend-workbook profile --device cpu --steps 20 --out runs/before train.py
  ascend-workbook profile --nproc 2 gpt_text.py --steps 100

The script runs unmodified: on an NPU under torch_npu's transfer_to_npu, on CUDA as it is, on the CPU with CUDA
mapped to it. Options of this command come before the script, the script's own after it.
"""

from __future__ import annotations

import argparse
import sys

from helpers.commands import behind
from helpers.report import TIERS, Report

NAME = "profile"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", choices=("auto", *TIERS), help="where to run (default: auto)")
    parser.add_argument("--steps", type=int, default=10, metavar="N", help="steps to record (default: 10)")
    parser.add_argument("--warmup", type=int, default=2, metavar="N", help="steps before them (default: 2)")
    parser.add_argument("--out", default="profile", metavar="DIR", help="folder for the profile (default: profile)")
    parser.add_argument("--nproc", type=int, default=1, metavar="N", help="processes, under torchrun (default: 1)")
    parser.add_argument("--stack", action="store_true", help="record call stacks too (large)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="end the script after this time")
    parser.add_argument("script", help="the training script")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the script's own arguments")


def run(args: argparse.Namespace) -> Report:
    from helpers.launch import Progress
    from helpers.profiling import profile

    def progress(now: Progress) -> None:
        for line in now.lines:
            print(line, file=sys.stderr)

    return profile(
        args.script,
        behind(args.args),
        device=args.device,
        steps=args.steps,
        warmup=args.warmup,
        out=args.out,
        nproc=args.nproc,
        stack=args.stack,
        timeout_s=args.timeout,
        on_progress=progress,
    )
