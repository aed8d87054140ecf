"""The arguments of `ascend-workbook simulator coverage` and what they ask for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from helpers.report import Report
from helpers.simulator import coverage
from helpers.simulator.coverage import document


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dtype", action="append", choices=coverage.DTYPES, help="only this data type (may be repeated; default: all)"
    )
    parser.add_argument(
        "--direction", action="append", choices=coverage.DIRECTIONS, help="only this way to call (may be repeated)"
    )
    parser.add_argument("--backward", action="store_true", help="the same as --direction backward")
    parser.add_argument("--operator", action="append", default=[], metavar="NAME", help="only this entry of op_db")
    parser.add_argument("--samples", type=int, default=coverage.SAMPLES, metavar="N", help="at most N samples an entry")
    parser.add_argument("--workers", type=int, metavar="N", help="processes at a time (default: one per core)")
    parser.add_argument("--document", type=Path, metavar="FILE", help="write the table as Markdown too")


def slices(dtypes: list[str] | None, directions: list[str] | None) -> list[tuple[str, str]]:
    """The slices of the whole table that are asked for; one that is not in it but named in full is run too."""
    if dtypes and directions:
        return [(direction, dtype) for direction in directions for dtype in dtypes]
    return [
        (direction, dtype)
        for direction, dtype in coverage.EVERYTHING
        if (not dtypes or dtype in dtypes) and (not directions or direction in directions)
    ]


def run(args: argparse.Namespace) -> Report:
    directions = [*(args.direction or []), *(["backward"] if args.backward else [])]
    report = coverage.cover(
        slices(args.dtype, directions), args.operator, samples=args.samples, workers=args.workers, progress=_progress
    )
    if args.document:
        document.write(report, args.document)
    return report


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty() and (done % 20 == 0 or done == total):
        print(f"\r{done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)
