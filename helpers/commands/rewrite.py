"""Rewrite a script, notebook, launch script or folder for an NPU: as a diff, a patch, a copy or in place.

Modes: inject (two lines import transfer_to_npu, and what that leaves is edited) or explicit (the source says npu and
needs no transfer_to_npu). Edits change their own characters only. Without --out or --in-place the input is not touched.

The verdict speaks of what was done: OK where every edit was made and nothing is left, WARN with the count where places
are left to do by hand or are unsupported. FAIL (exit code 1) means that an edit could not be made or written, or that
a class given with --fail-on is left in the result; 2 that there is nothing to look at, or that nothing may be written.

Examples:
  ascend-workbook rewrite train.py
  ascend-workbook rewrite train.py --mode explicit --diff
  ascend-workbook rewrite path/to/repository --mode explicit --patch npu.patch
  ascend-workbook rewrite path/to/repository --out path/to/migrated
  ascend-workbook scan path/to/repository --json scan.json
  ascend-workbook rewrite path/to/repository --in-place --expect scan.json
  ascend-workbook rewrite path/to/repository --out path/to/migrated --fail-on unsupported
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from helpers.commands import add_fail_on
from helpers.migration.repair import CLASSES
from helpers.migration.rewrite import rewrite
from helpers.migration.rewrite.work import INJECT, MODES
from helpers.migration.verdict import refuse_unlooked
from helpers.report import Report
from helpers.words import Scalar, say

NAME = "rewrite"
#: How the name of a kept file ends.
BACKUPS = r"\.orig(\.\d+)?$"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a Python file, notebook or launch script, or a folder of them")
    parser.add_argument("--mode", choices=MODES, default=INJECT, help="who says npu (default: inject, transfer_to_npu)")
    parser.add_argument("--diff", action="store_true", help="print the diff and nothing else")
    parser.add_argument("--patch", metavar="FILE", help="write one diff that `git apply` and `patch -p1` take")
    parser.add_argument("--out", metavar="FOLDER", help="write all scripts here: a new or empty folder, or one of ours")
    existing = "let --out be a folder with other files; those of the same name stay as NAME.orig"
    parser.add_argument("--into-existing", action="store_true", help=existing)
    parser.add_argument("--in-place", action="store_true", help="write over the files; the old ones stay as NAME.orig")
    parser.add_argument("--expect", metavar="SCAN.JSON", help="refuse where a file has changed since this scan")
    add_fail_on(parser, CLASSES, "the result")


def run(args: argparse.Namespace) -> Report:
    report = rewrite(
        args.path, args.out, mode=args.mode, patch=args.patch, in_place=args.in_place, expect=args.expect,
        fail_on=args.fail_on, into_existing=args.into_existing,
    )  # fmt: skip
    return refuse_unlooked(report)


def show(report: Report, args: argparse.Namespace) -> bool:
    """Prints the diff alone where that was asked for; whether it did."""
    if args.diff and report.listing is not None:
        sys.stdout.write(report.listing.text)
    return bool(args.diff)


def last(report: Report, args: argparse.Namespace) -> None:
    """What was written where, the way back and the next step; a diff stays alone on standard output."""
    sys.stdout.flush()
    facts = report.facts
    if facts["patch"]:
        print(say("rewriting.patch_written", args.lang, path=str(Path(args.patch).resolve())), file=sys.stderr)
    if not facts["written"]:
        if report.listing is not None and report.listing.text and not facts["patch"]:
            again = say("rewriting.not_written", args.lang, path=shlex.quote(args.path), mode=args.mode)
            print(again, file=sys.stderr)
        return
    way = "out" if facts["out"] else "in_place"
    told: dict[str, Scalar] = {"count": facts["written"], "path": facts["root"], "next": ""}
    if facts["out"]:
        told["path"] = str(Path(facts["out"]).resolve())
    else:
        kept = str(Path(facts["root"]) / facts["backups"][0])
        told["back"] = f"mv {shlex.quote(kept)} {shlex.quote(re.sub(BACKUPS, '', kept))}"
    if facts["script"]:
        told["next"] = {"say": f"rewriting.{way}_next", "args": {"script": shlex.quote(facts["script"])}}
    print(say(f"rewriting.{way}_written", args.lang, **told), file=sys.stderr)
