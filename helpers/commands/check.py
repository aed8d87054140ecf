"""Check this machine: host, NPUs, driver, CANN, torch, torch_npu, how they fit, and whether they compute right.

Examples:
  ascend-workbook check
  ascend-workbook check --device npu
  ascend-workbook check --no-compute --json check.json
  ascend-workbook check --device cpu        computes on the CPU too
  ascend-workbook check --lang zh --html check.html

With --device npu a simulated NPU does not count: where no real one works, the verdict is FAIL and the exit code 1.
"""

from __future__ import annotations

import argparse

from helpers.environment import environment_check
from helpers.report import TIERS, Report

NAME = "check"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", choices=("auto", *TIERS), help="what must be here (default: auto)")
    parser.add_argument("--no-compute", action="store_true", help="only look, compute nothing")
    parser.add_argument("--work-folder", default=".", metavar="DIR", help="where runs are written: its disk is checked")


def run(args: argparse.Namespace) -> Report:
    return environment_check(args.device, compute=not args.no_compute, work_folder=args.work_folder)
