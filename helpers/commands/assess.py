"""What migrating a repository will take: hours and how they come about, risks, versions to take, libraries, a plan.

The page (--html) is for whoever decides; the JSON (--json) for CI, where --fail-on makes a class a failure.

Verdict and exit code are those of `scan`: WARN where something is to rewrite, to do by hand or unsupported, FAIL (exit
code 1) only where a class given with --fail-on occurs; 2 where there is nothing that could be looked at.

Examples:
  ascend-workbook assess path/to/repository --html assessment.html
  ascend-workbook assess path/to/repository --fail-on unsupported --json assessment.json
"""

from __future__ import annotations

import argparse

from helpers.commands import add_fail_on
from helpers.migration.assess import assess
from helpers.migration.repair import CLASSES
from helpers.migration.verdict import refuse_unlooked
from helpers.report import Report

NAME = "assess"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a folder, or a file: Python, notebook, launch script, requirements, settings")
    add_fail_on(parser, CLASSES, "the source")


def run(args: argparse.Namespace) -> Report:
    return refuse_unlooked(assess(args.path, args.fail_on))
