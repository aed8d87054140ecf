"""Scan a script or folder: a row for every CUDA use, with what becomes of it on an NPU.

Classes: auto (transfer_to_npu handles it), rewrite (the edit is at hand), manual, unsupported, advice. Each place has
its confidence, effort in person-hours, the versions it holds for and a link: on the page (to sort and filter), in the
JSON, and here with --details. TensorFlow scripts are counted by level of support, apart from the classes.

The verdict speaks of the source as it stands: WARN where something is to rewrite, to do by hand or unsupported. It is
FAIL (exit code 1) only where a class given with --fail-on occurs; 2 where there is nothing that could be looked at.

Examples:
  ascend-workbook scan train.py
  ascend-workbook scan train.py --details
  ascend-workbook scan path/to/repository --json scan.json --html scan.html
  ascend-workbook scan path/to/repository --fail-on unsupported
"""

from __future__ import annotations

import argparse

from helpers.commands import add_fail_on
from helpers.migration.repair import CLASSES
from helpers.migration.scan import scan
from helpers.migration.verdict import refuse_unlooked
from helpers.report import Report

NAME = "scan"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a folder, or a file: Python, notebook, launch script, requirements, settings")
    parser.add_argument("--details", action="store_true", help="every place, with confidence, effort, versions, link")
    add_fail_on(parser, CLASSES, "the source")


def run(args: argparse.Namespace) -> Report:
    return refuse_unlooked(scan(args.path, args.fail_on))
