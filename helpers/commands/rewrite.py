"""Show the migrated script as a diff; with --out also write it. The input is never touched.

Examples:
  ascend-workbook rewrite train.py
  ascend-workbook rewrite path/to/repository --out path/to/migrated
"""

from __future__ import annotations

import argparse

from helpers.migration.rewrite import rewrite
from helpers.report import Report

NAME = "rewrite"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a Python file, or a folder of them")
    parser.add_argument("--out", metavar="FOLDER", help="write the migrated files here, under the same names")


def run(args: argparse.Namespace) -> Report:
    return rewrite(args.path, args.out)
