"""Run a script before and after migration for a few steps and compare the losses.

The original runs on CUDA, or on the CPU standing in for it; the migrated script on the NPU, real or
simulated. Each runs in a mirror of the script's folder, and of the folders around it that its imports reach.
Our options stand before the script, its own behind it. A notebook's code cells run as a script; of a shell
script the one launch command is taken. --meta takes one step on tensors without values instead.

Examples:
  ascend-workbook dry-run train.py
  ascend-workbook dry-run --steps 20 --device npu-simulated train.py --epochs 1 --batch-size 8
  ascend-workbook dry-run torchrun --nproc_per_node=2 train.py --epochs 1
  ascend-workbook dry-run train.ipynb
  ascend-workbook dry-run bash scripts/run.sh 8
  ascend-workbook dry-run --meta train.py --layers 80
"""

from __future__ import annotations

import argparse
from functools import partial

from helpers.commands import behind, progress_line
from helpers.launch import Progress
from helpers.migration.dry_run import SEED, dry_run
from helpers.migration.rewrite.work import INJECT, MODES
from helpers.report import Report
from helpers.words import Scalar, say

NAME = "dry-run"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="auto, npu, npu-simulated (default: auto)")
    parser.add_argument("--baseline", default="auto", help="auto, cuda or cpu (default: auto)")
    parser.add_argument("--steps", type=int, default=5, help="optimizer steps of each run (default: 5)")
    parser.add_argument("--nproc", type=int, default=1, help="processes under torchrun (default: 1, none)")
    parser.add_argument("--meta", action="store_true", help="only shapes, data types and operators, for a large model")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of random numbers, both runs (default: {SEED})")
    parser.add_argument("--mode", choices=MODES, default=INJECT, help="how to migrate, as in rewrite (default: inject)")
    parser.add_argument("--out", metavar="FOLDER", help="keep logs and the migrated script here")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds allowed for each run")
    parser.add_argument("--loss-regex", metavar="PATTERN", help="take the losses from the output")
    parser.add_argument("script", help="the training script or notebook as it runs on a GPU, or what launches it")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the script's own arguments")


def run(args: argparse.Namespace) -> Report:
    return dry_run(
        args.script,
        behind(args.args),
        args.device,
        args.steps,
        out=args.out,
        baseline=args.baseline,
        nproc=args.nproc,
        meta=args.meta,
        mode=args.mode,
        seed=args.seed,
        timeout_s=args.timeout,
        loss_regex=args.loss_regex,
        on_progress=partial(tell, lang=args.lang),
    )


def tell(side: str, progress: Progress, *, lang: str | None = None) -> None:
    """A line for each step; a side that is neither the baseline nor the target goes by its device's name."""
    if progress.loss is not None:
        told: Scalar = {"say": f"migration.side.{side}"} if side in ("baseline", "target") else side
        loss = f"{progress.loss:.6g}"
        line = say("migration.step", lang, side=told, step=progress.step, steps=progress.steps, loss=loss)
        progress_line(line)
