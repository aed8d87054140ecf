"""Check this machine: host, NPUs, driver, CANN, torch, torch_npu, how they fit, and whether they compute right.

Examples:
  ascend-workbook check
  ascend-workbook check --device npu
  ascend-workbook check --no-compute --json check.json
  ascend-workbook check --device cpu  # computes on the CPU too
  ascend-workbook check --lang zh --html check.html
  ascend-workbook check --save npu.json
  ascend-workbook check --no-compute --save npu.json --run runs/demo/npu
  ascend-workbook check --compare gpu.json npu.json
  ascend-workbook check --compare runs/demo/baseline runs/demo/npu --xlsx settings.xlsx

With --device npu a simulated NPU does not count: where no real one works, the verdict is FAIL and the exit code 1.
--save also writes this machine's settings (packages, listed variables, torch's flags; with --run the seeds and
fingerprints of a capture). --compare holds two of them, or two captures, against each other, a row a difference by its
risk for precision: exit code 1 where one is high, 2 where a file cannot be read. --xlsx adds msprobe's own comparison.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from helpers.environment import compare_settings, environment_check, save_settings
from helpers.errors import WorkbookError
from helpers.precision.capturing import manifest
from helpers.report import TIERS, Report
from helpers.settings import Settings, load
from helpers.settings.record import checked
from helpers.storage import refuse_unwritable
from helpers.words import say

NAME = "check"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", choices=("auto", *TIERS), help="what must be here (default: auto)")
    parser.add_argument("--no-compute", action="store_true", help="only look, compute nothing")
    parser.add_argument("--work-folder", default=".", metavar="DIR", help="where runs are written: its disk is checked")
    parser.add_argument("--save", metavar="FILE", help="write this machine's settings too")
    parser.add_argument("--run", dest="capture", metavar="CAPTURE", help="with --save: the capture they belong to")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"), help="compare two settings files or captures instead")
    parser.add_argument("--xlsx", metavar="FILE", help="with --compare: msprobe's own config_check as xlsx")


def run(args: argparse.Namespace) -> Report:
    """Checks, or compares."""
    if args.capture and not args.save:
        raise WorkbookError("command.belongs", option="--run", needs="--save", verb=NAME)
    if args.xlsx and not args.compare:
        raise WorkbookError("command.belongs", option="--xlsx", needs="--compare", verb=NAME)
    if args.compare and args.save:
        raise WorkbookError("command.excludes", option="--compare", other="--save", verb=NAME)
    for path in filter(None, (args.save, args.xlsx)):
        refuse_unwritable(path)
    if args.compare:
        return _compare(args)
    captured = _capture(Path(args.capture)) if args.capture else None
    report = environment_check(args.device, compute=not args.no_compute, work_folder=args.work_folder)
    if args.save:
        save_settings(args.save, report, (captured.about, captured.sides) if captured else None)
        print(say("settings.saved", args.lang, path=args.save))
    return report


def _compare(args: argparse.Namespace) -> Report:
    left, right = (_side(Path(place)) for place in args.compare)
    report = compare_settings(left, right)
    if args.xlsx:
        from helpers.settings.msprobe import write_xlsx

        write_xlsx(left, right, Path(args.xlsx))
        print(say("settings.xlsx", args.lang, path=args.xlsx))
    return report


def _side(place: Path) -> Settings:
    if not place.is_dir():
        return load(place)
    captured = _capture(place)
    try:
        return checked(asdict(Settings.of_capture(captured.about, captured.sides)))
    except (ValueError, TypeError, AttributeError) as error:
        why = str(error) if isinstance(error, ValueError) else type(error).__name__
        raise WorkbookError("settings.unreadable", path=str(place), error=why) from error


def _capture(folder: Path) -> manifest.Manifest:
    found = manifest.load(folder)
    if found is None or not found.complete:
        raise WorkbookError("settings.no_capture", path=str(folder))
    return found
