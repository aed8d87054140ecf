"""What migrating a repository will take: effort by class, risks, libraries, baselines to collect, a plan.

The page (--html) is for whoever decides; the JSON (--json) for CI, where --fail-on makes a class a failure.

Examples:
  ascend-workbook assess path/to/repository --html assessment.html
  ascend-workbook assess path/to/repository --fail-on unsupported --json assessment.json
"""

from __future__ import annotations

import argparse

from helpers.migration.assess import assess
from helpers.migration.repair import CLASSES
from helpers.report import Report

NAME = "assess"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a Python file, notebook or launch script, or a folder")
    classes = ", ".join(CLASSES)
    told = f"exit with 1 where this class occurs (may be repeated): {classes}"
    parser.add_argument("--fail-on", action="append", default=[], choices=CLASSES, metavar="CLASS", help=told)


def run(args: argparse.Namespace) -> Report:
    return assess(args.path, args.fail_on)
