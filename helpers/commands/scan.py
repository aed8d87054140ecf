"""Scan a script or folder: a row for every CUDA use, with what becomes of it on an NPU.

Classes: auto (transfer_to_npu handles it), rewrite (the edit is at hand), manual, unsupported, advice.

Examples:
  ascend-workbook scan train.py
  ascend-workbook scan path/to/repository --json scan.json
"""

from __future__ import annotations

import argparse

from helpers.errors import WorkbookError
from helpers.migration.scan import scan
from helpers.report import Report

NAME = "scan"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a Python file, notebook, launch script or list of requirements, or a folder")


def run(args: argparse.Namespace) -> Report:
    """Scans and reports; where nothing at all could be looked at, that is the error."""
    report = scan(args.path)
    unread = [finding for finding in report.findings if finding.key in ("MIG100.unreadable", "MIG100.no_file")]
    if unread and len(unread) == len(report.findings) - 1 and len(unread) >= report.facts["files"]:
        raise WorkbookError(unread[0].key, **unread[0].args)
    return report
