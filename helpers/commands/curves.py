"""Compare the losses of two runs step by step.

Takes gpulog.json files, or folders that hold one: every command that runs a script writes it.
Exits 1 where the first loss differs by more than the tolerance, or a loss is not a number. Losses that part only
later are a warning: training amplifies honest rounding, and only the tensors tell (ascend-workbook compare).

Examples:
  ascend-workbook curves runs/demo/baseline runs/demo/npu
  ascend-workbook curves gpu/gpulog.json npu/gpulog.json --tolerance 1e-4 --html curves.html
"""

from __future__ import annotations

import argparse

from helpers.precision.curves import TOLERANCE, curves
from helpers.report import Report

NAME = "curves"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("baseline", help="log of the GPU, or of the CPU in its place")
    parser.add_argument("target", help="log of the NPU")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="largest relative difference (default 1e-3)")


def run(args: argparse.Namespace) -> Report:
    """Compares and reports."""
    return curves(args.baseline, args.target, tolerance=args.tolerance)
