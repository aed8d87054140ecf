"""Tell whether a migration can be accepted: a checklist ticked from the reports of a run or of a plan's runs.

Environment, code, performance, precision, deployment, rollback: each item names what ticked it, with its page and
date. What no report tells is `not looked` and keeps the migration from being accepted, as does what was seen on the
simulated NPU only. Writes acceptance.html and acceptance.json into the folder.

Examples:
  ascend-workbook accept runs/demo
  ascend-workbook accept runs/demo --target loss=1% --target throughput=80%
  ascend-workbook accept runs/night --confirm ACP541 "loaded on a CPU host, 2026-05-04, Li"

Exits 0 where it is accepted, 1 where it is not, or not yet, 2 where the folder holds no reports.
"""

from __future__ import annotations

import argparse

from helpers import batch
from helpers.report import Report

NAME = "accept"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("folder", help="the folder of a run or of a plan below runs/")
    parser.add_argument(
        "--target", action="append", default=[], metavar="NAME=VALUE",
        help="a metric within VALUE of the baseline's (with %% a share), or throughput=PERCENT of it at least",
    )  # fmt: skip
    parser.add_argument(
        "--confirm", nargs=2, action="append", default=[], metavar=("CODE", "TEXT"),
        help="answer for an item that no report tells of; TEXT says who saw what, and is shown",
    )  # fmt: skip


def run(args: argparse.Namespace) -> Report:
    """Judges."""
    return batch.accept(args.folder, target=args.target, confirm=dict(args.confirm), lang=args.lang)
