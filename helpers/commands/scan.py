"""Scan a script or folder: a row for every CUDA use, with what becomes of it on an NPU.

Classes: auto (transfer_to_npu handles it), rewrite (the edit is at hand), manual, unsupported, advice. Each place has
its confidence, effort in person-hours, the versions it holds for and a link: on the page (to sort and filter), in the
JSON, and here with --details. TensorFlow scripts are counted by level of support, apart from the classes.

Examples:
  ascend-workbook scan train.py
  ascend-workbook scan train.py --details
  ascend-workbook scan path/to/repository --json scan.json --html scan.html
"""

from __future__ import annotations

import argparse

from helpers.errors import WorkbookError
from helpers.migration.scan import scan
from helpers.report import Report

NAME = "scan"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a Python file, notebook, launch script or list of requirements, or a folder")
    parser.add_argument("--details", action="store_true", help="every place, with confidence, effort, versions, link")


def run(args: argparse.Namespace) -> Report:
    """Scans and reports; where nothing at all could be looked at, that is the error."""
    report = scan(args.path)
    unread = [finding for finding in report.findings if finding.key in ("MIG100.unreadable", "MIG100.no_file")]
    if unread and len(unread) == len(report.findings) - 1 and len(unread) >= report.facts["files"]:
        raise WorkbookError(unread[0].key, **unread[0].args)
    return report
