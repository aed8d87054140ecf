"""Tell what to change where two captures differ: HF32, mixed precision, loss scale, random numbers, data, and more.

Every rule speaks from what was captured, names the place, the change (a line of code or a variable) and its source, or
says that its facts were not recorded. Exits 0 whatever it advises, 1 where the two are not the same
experiment, 2 where a side cannot be read.

Examples:
  ascend-workbook advise runs/demo/baseline runs/demo/npu
  ascend-workbook advise runs/demo/baseline runs/demo/npu --again runs/demo/npu-second --replay --html advice.html
"""

from __future__ import annotations

import argparse

from helpers.commands import progress_line
from helpers.precision.advice import advise
from helpers.report import Report

NAME = "advise"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("baseline", help="capture or bundle of the GPU, or of the CPU in its place")
    parser.add_argument("target", help="capture of the NPU")
    parser.add_argument("--again", metavar="DIR", help="a second capture of one side: does it repeat itself?")
    parser.add_argument("--log-baseline", metavar="LOG", help="its log (default: the capture's own)")
    parser.add_argument("--log-target", metavar="LOG", help="its log (default: the capture's own)")
    parser.add_argument("--replay", action="store_true", help="run operators again in float64 first, as compare does")
    parser.add_argument("--details", action="store_true", help="show the source under each row")


def run(args: argparse.Namespace) -> Report:
    """Judges and reports."""
    return advise(
        args.baseline, args.target, again=args.again, log_baseline=args.log_baseline, log_target=args.log_target,
        replaying=args.replay, progress=progress_line,
    )  # fmt: skip
