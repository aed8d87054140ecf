"""Scan a script or folder: a row for every CUDA use, with what becomes of it on an NPU.

Classes: auto (transfer_to_npu handles it), rewrite (the edit is at hand), manual, unsupported, advice.

Examples:
  ascend-workbook scan train.py
  ascend-workbook scan path/to/repository --json scan.json
"""

from __future__ import annotations

import argparse

from helpers.migration.scan import scan
from helpers.report import Report

NAME = "scan"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a Python file, or a folder of them")


def run(args: argparse.Namespace) -> Report:
    return scan(args.path)
