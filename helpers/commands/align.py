"""Answer in one report: same experiment? do the curves agree? which operator parts first? what to do next?

Takes two captures (or plain msprobe dumps, which have no curve). Each answer is a part of the report, with the error
of every operator through the network, and a table of what only one side called. Exits 1 where an answer is FAIL; with
--fail-on also where a finding of that class is there or could not be looked for; 2 where a side cannot be read.

Examples:
  ascend-workbook align runs/demo/baseline runs/demo/npu --html precision.html
  ascend-workbook align gpu npu --fail-on experiment --fail-on divergence --fail-on incomplete --junit precision.xml
"""

from __future__ import annotations

import argparse

from helpers.commands import add_fail_on, progress_line
from helpers.precision.align import align
from helpers.precision.curves import TOLERANCE
from helpers.precision.views.questions import CLASSES
from helpers.report import Report

NAME = "align"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("baseline", help="capture of the GPU, or of the CPU in its place")
    parser.add_argument("target", help="capture of the NPU")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="of losses, relative (default 1e-3)")
    parser.add_argument("--no-replay", action="store_true", help="do not run operators again in float64 (no torch)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="operators of these names alone")
    parser.add_argument("--sample", type=float, default=1.0, metavar="SHARE", help="read this share of every tensor")
    parser.add_argument("--seed", type=int, default=0, help="which elements --sample takes (default: 0)")
    parser.add_argument("--attempts", metavar="RUN", help="keep this comparison in RUN and say whether a fix helped")
    parser.add_argument("--all", dest="details", action="store_true", help="show rows that agree too, with details")
    add_fail_on(parser, CLASSES, "the answers, or could not be looked for")


def run(args: argparse.Namespace) -> Report:
    """Compares curves and tensors and reports."""
    return align(
        args.baseline, args.target, tolerance=args.tolerance, replaying=not args.no_replay, only=args.only,
        sample=args.sample, seed=args.seed, attempts=args.attempts, fail_on=args.fail_on,
        progress=progress_line,
    )  # fmt: skip
