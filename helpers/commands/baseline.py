"""Record a baseline on a GPU as a small bundle, to be compared with on another machine, in another region.

It needs Python, torch and msprobe, and neither torch_npu nor CANN: run it from a checkout with `python -m helpers`.
The bundle (a .zip, or a folder) holds statistics of every operator, losses, fingerprints of weights and batches,
settings by an allow-list, speed, memory and the final metric; no tensors, folders, host names or keys. Without a CUDA
device the CPU stands in, and the report says so. Options stand before the script, its own behind.

Examples:
  ascend-workbook baseline --out gpu.zip train.py --batch-size 16
  ascend-workbook baseline --out gpu.zip --steps 10 --timing-steps 0 --samples-per-step 256 train.py
  ascend-workbook baseline --out gpu.zip --nproc 8 train.py
  ascend-workbook baseline --out gpu.zip --no-statistics train.py
"""

from __future__ import annotations

import argparse

from helpers.commands import add_numbers, behind, progress_line
from helpers.precision.baselines.verb import baseline
from helpers.report import Report

NAME = "baseline"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--out", required=True, metavar="PATH", help="new bundle, here or at obs://: .zip, or a folder")
    parser.add_argument("--device", choices=("baseline", "cuda", "cpu"), default="baseline",
                        help="baseline (default): CUDA, else the CPU in its place")  # fmt: skip
    parser.add_argument("--steps", type=int, default=4, help="training steps recorded (default 4)")
    add_numbers(parser, "--dump-steps", "of these the steps with statistics", None, "the first two and the last")
    parser.add_argument("--level", choices=("L0", "L1", "mix"), default="L1", help="msprobe's level (default L1: APIs)")
    parser.add_argument("--seed", type=int, default=1234, help="seed set before the script's own")
    parser.add_argument("--no-statistics", action="store_true", help="record all but them; msprobe is not needed")
    parser.add_argument("--timing-steps", type=int, default=20, metavar="N",
                        help="steps of a second run for speed and memory (default 20; 0: to the script's end)")
    parser.add_argument("--warmup", type=int, default=3, metavar="N", help="first steps left out of the speed (3)")
    parser.add_argument("--samples-per-step", type=int, metavar="N", help="batch over all devices, for samples/s")
    parser.add_argument("--nproc", type=int, default=1, help="processes under torchrun")
    parser.add_argument("--limit-mib", type=int, default=1024, help="most that msprobe may write")
    parser.add_argument("script", help="training script, as it runs on a GPU")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the script's own arguments")  # fmt: skip


def run(args: argparse.Namespace) -> Report:
    """Records and reports."""
    return baseline(
        args.script, behind(args.args),
        out=args.out, device=args.device, steps=args.steps, dump_steps=args.dump_steps, level=args.level,
        seed=args.seed, statistics=not args.no_statistics, timing_steps=args.timing_steps, warmup=args.warmup,
        samples_per_step=args.samples_per_step, nproc=args.nproc, limit_mib=args.limit_mib,
        progress=progress_line,
    )  # fmt: skip
