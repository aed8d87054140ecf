"""The command lines of `scan`, `rewrite` and `assess`: what is read, and nothing run."""

from __future__ import annotations

import re
import shlex
import sys
from functools import partial
from pathlib import Path

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.migration.assess import assess
from ascend_workbook.migration.repair import CLASSES
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.rewrite.change import MODES
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.verdict import refuse_unlooked
from ascend_workbook.redaction.exits import raw_writer

#: How the name of a kept file ends.
BACKUPS = r"\.orig(\.\d+)?$"
FAIL_ON = Row(metavar="CLASS", choices=CLASSES)


def show_rewrite(report: Report, *, diff: bool = False) -> bool:
    """Print the diff alone where that was asked for; return whether it was."""
    if diff and report.listing is not None:
        raw_writer(sys.stdout)(report.listing.text)  # the user's own code, which `git apply` may take from here
    return diff


def last_rewrite(report: Report, lang: str | None, path: str, mode: str, patch: str | None) -> None:
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


def run_looked(call: partial[Report]) -> Report:
    """Run the verb; refuse a verdict where nothing could be looked at."""
    return refuse_unlooked(call())


VERBS = {
    "scan": Verb(
        scan, {"fail_on": FAIL_ON, "entry": "SCRIPT", "torch_npu": "VERSION"}, run_looked, details="--details"
    ),
    "rewrite": Verb(
        rewrite,
        {
            "mode": Row(choices=MODES),
            "patch": "FILE",
            "out": "FOLDER",
            "expect": "SCAN.JSON",
            "torch_npu": "VERSION",
            "fail_on": FAIL_ON,
        },
        run_looked,
        show_rewrite,
        last_rewrite,
    ),
    "assess": Verb(
        assess, {"fail_on": FAIL_ON, "entry": "SCRIPT", "prices": "FILE", "torch_npu": "VERSION"}, run_looked
    ),
}
