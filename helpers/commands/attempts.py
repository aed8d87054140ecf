"""List earlier comparisons of a run and say whether the last change helped.

`ascend-workbook compare --attempts RUN` keeps one file for each comparison in RUN/attempts and never writes over one.
Each says where the runs parted first, how many operators were out of tolerance, how far the losses were apart, and what
the target was made of: script, arguments, settings, versions, commit. Exits 0; it judges no run.

Examples:
  ascend-workbook compare gpu.zip runs/npu --attempts runs/demo
  ascend-workbook attempts runs/demo
  ascend-workbook attempts runs/demo --html attempts.html
"""

from __future__ import annotations

import argparse

from helpers.precision.attempts.verb import attempts
from helpers.report import Report

NAME = "attempts"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("folder", metavar="RUN", help="folder given to `compare --attempts`")


def run(args: argparse.Namespace) -> Report:
    """Reads and reports."""
    return attempts(args.folder)
