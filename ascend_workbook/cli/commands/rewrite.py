"""The command line of `rewrite`."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from ascend_workbook.cli.commands.assess import run
from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.migration.repair import CLASSES
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.rewrite.work import MODES

#: How the name of a kept file ends.
BACKUPS = r"\.orig(\.\d+)?$"


def show(report: Report, *, diff: bool = False) -> bool:
    """Print the diff alone where that was asked for; return whether it was."""
    if diff and report.listing is not None:
        sys.stdout.write(report.listing.text)
    return diff


def last(report: Report, lang: str | None, path: str, mode: str, patch: str | None) -> None:
    """Print what was written where, the way back and the next step; a diff stays alone on standard output."""
    sys.stdout.flush()
    facts = report.facts
    if facts["patch"]:
        print(say("rewriting.patch_written", lang, path=str(Path(patch or "").resolve())), file=sys.stderr)
    if not facts["written"]:
        if report.listing is not None and report.listing.text and not facts["patch"]:
            print(say("rewriting.not_written", lang, path=shlex.quote(path), mode=mode), file=sys.stderr)
        return
    way = "out" if facts["out"] else "in_place"
    args: dict[str, Scalar] = {"count": facts["written"], "path": facts["root"], "next": ""}
    if facts["out"]:
        args["path"] = str(Path(facts["out"]).resolve())
    else:
        backup = str(Path(facts["root"]) / facts["backups"][0])
        args["back"] = f"mv {shlex.quote(backup)} {shlex.quote(re.sub(BACKUPS, '', backup))}"
    if facts["script"]:
        args["next"] = Sentence(f"rewriting.{way}_next", script=shlex.quote(facts["script"]))
    print(say(f"rewriting.{way}_written", lang, **args), file=sys.stderr)


ROWS = {
    "mode": Row(choices=MODES),
    "patch": Row(metavar="FILE"),
    "out": Row(metavar="FOLDER"),
    "expect": Row(metavar="SCAN.JSON"),
    "fail_on": Row(metavar="CLASS", choices=CLASSES),
}
EXAMPLES = """
  ascend-workbook rewrite train.py
  ascend-workbook rewrite train.py --mode explicit --diff
  ascend-workbook rewrite path/to/repository --mode explicit --patch npu.patch
  ascend-workbook rewrite path/to/repository --out path/to/migrated
  ascend-workbook scan path/to/repository --json scan.json
  ascend-workbook rewrite path/to/repository --in-place --expect scan.json
  ascend-workbook rewrite path/to/repository --out path/to/migrated --fail-on unsupported
"""
VERB = Verb(rewrite, ROWS, run, show, last, examples=EXAMPLES)
