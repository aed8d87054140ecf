"""Dump the tensors of a training script through msprobe, on the NPU or on the baseline.

The script runs unmodified in a child process: under transfer_to_npu on an NPU, as it is on CUDA, with the CPU
in CUDA's place otherwise. Recorded are the initial weights' fingerprints, the batches' and all operators from
the first training forward of each chosen step to its update. Options stand before the script, its own behind.
Before it starts it tells how much it will write, and does not start where that is more than --limit-mib. Level debug
records what the script itself gives to msprobe's PrecisionDebugger.save; task md5 is statistics with checksums.

Examples:
  ascend-workbook capture --device baseline --out runs/demo/baseline train.py --batch-size 16
  ascend-workbook capture --device npu --out runs/demo/npu train.py --batch-size 16
  ascend-workbook capture --task statistics --steps 5 --dump-steps 0,4 --out runs/demo/statistics train.py
  ascend-workbook capture --list conv2d --data-mode forward --out runs/demo/conv train.py
  ascend-workbook capture --bisect --device npu --out runs/demo/bisect train.py
  ascend-workbook capture --device npu-simulated --fault "aten::convolution@3:scale=1.01" --out runs/sick train.py
"""

from __future__ import annotations

import argparse

from helpers.commands import add_numbers, behind, progress_line
from helpers.precision.bisect import bisect
from helpers.precision.capture import capture
from helpers.precision.capturing.options import DATA_MODES, LEVELS, TASKS
from helpers.report import Report

NAME = "capture"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--out", required=True, help="folder that receives the capture")
    parser.add_argument("--device", default="auto", help="auto, npu, npu-simulated, cuda, cpu or baseline")
    parser.add_argument("--steps", type=int, default=1, help="training steps to run (default 1)")
    add_numbers(parser, "--dump-steps", "steps to dump", [0], "0")
    parser.add_argument("--level", choices=LEVELS, default="L1", help="msprobe's level (default L1: APIs)")
    parser.add_argument("--task", choices=TASKS, default="tensor",
                        help="whole tensors, statistics, or the weights' and batches' fingerprints alone (no msprobe)")
    parser.add_argument("--seed", type=int, default=1234, help="seed set before the script's own")
    parser.add_argument("--limit-mib", type=int, default=2048, help="most that may be written, per side")
    parser.add_argument("--nproc", type=int, default=1, help="processes under torchrun")
    add_numbers(parser, "--ranks", "dump these ranks alone", [], "all")
    parser.add_argument("--scope", nargs=2, default=[], metavar="NAME", help="first and last operator, by whole name")
    parser.add_argument("--list", action="append", default=[], metavar="PART", dest="names",
                        help="only operators whose name holds this (may be repeated)")  # fmt: skip
    parser.add_argument("--data-mode", action="append", default=[], choices=DATA_MODES, metavar="MODE",
                        help=f"only a part of each operator (may be repeated): {', '.join(DATA_MODES)}")  # fmt: skip
    parser.add_argument("--no-estimate", action="store_true", help="do not run two steps first to tell what it writes")
    parser.add_argument("--force", action="store_true",
                        help="replace a whole capture of another device, script or arguments in --out")  # fmt: skip
    parser.add_argument("--bisect", action="store_true",
                        help="both sides: statistics of all, then tensors around the first that parts")  # fmt: skip
    parser.add_argument("--fault", default="", help="simulated NPU only: a fault to inject")
    parser.add_argument("--numerics", choices=("cpu", "ascend"), default="",
                        help="simulated NPU only: ascend rounds as an NPU's matrix unit does")  # fmt: skip
    parser.add_argument("script", help="training script, as it runs on a GPU")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the script's own arguments")


def run(args: argparse.Namespace) -> Report:
    """Captures and reports what was written."""
    settings = {"ASCEND_WORKBOOK_SIM_FAULT": args.fault} if args.fault else {}
    if args.numerics:
        settings["ASCEND_WORKBOOK_SIM_NUMERICS"] = args.numerics
    if args.bisect:
        return bisect(args.script, behind(args.args), out=args.out, device=args.device, steps=args.steps,
                      dump_steps=args.dump_steps, level=args.level, seed=args.seed, limit_mib=args.limit_mib,
                      nproc=args.nproc, settings=settings, force=args.force, progress=progress_line)  # fmt: skip
    return capture(
        args.script, behind(args.args),
        out=args.out, device=args.device, steps=args.steps, dump_steps=args.dump_steps,
        level=args.level, task=args.task, seed=args.seed, limit_mib=args.limit_mib, nproc=args.nproc,
        ranks=args.ranks, scope=args.scope, names=args.names, data_mode=args.data_mode or ("all",),
        estimate=not args.no_estimate, settings=settings, force=args.force,
        progress=progress_line,
    )  # fmt: skip
