"""What the verdicts of `scan`, `assess` and `rewrite` speak of: the same words, statuses and exit codes for all three.

scan and assess speak of the source as it stands, and so have one status; rewrite speaks of what it did and what is
left in its result.

  OK       nothing to do: handled at run time | every edit made, nothing left
  NOTE     advice                             | nothing was to be added, and why
  SKIPPED  something could not be read, so nothing is known of it (all three)
  WARN     to rewrite, by hand, unsupported   | left to do by hand, unsupported
  FAIL     a class of --fail-on occurs        | is left; or an edit could not be made or written

FAIL ends in exit code 1. A path with nothing at all that could be looked at is an error, exit code 2.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.gates import asked
from helpers.migration.files import Tree
from helpers.migration.repair import CLASSES, UNSUPPORTED, class_of, places_of
from helpers.migration.texts.lines import kind_of
from helpers.report import Report
from helpers.words import Scalar

GATE_WEIGHT = 1500.0
UNREAD, NO_FILE = "MIG100.unreadable", "MIG100.no_file"


def gates(fail_on: Iterable[str]) -> tuple[str, ...]:
    """The classes of --fail-on. Raises WorkbookError for one that is none."""
    return asked(fail_on, CLASSES)


def gate(rule: str, counts: Mapping[str, int], wanted: Iterable[str]) -> list[Finding]:
    """A finding that fails for each class that was not to occur and does."""
    kinds: dict[str, Scalar] = {name: {"say": f"migration.class.{name}"} for name in wanted if counts[name]}
    return [
        Finding(rule, Status.FAIL, "migration.gate", {"kind": kind, "count": counts[name]}, weight=GATE_WEIGHT)
        for name, kind in kinds.items()
    ]


def counted(where: Tree) -> list[Scalar]:
    """How many files were looked at, by kind; setup.py is counted once, as Python."""
    kinds = {"python": len(where.python), "notebook": len(where.notebooks)}
    texts = Counter(kind_of(file.name) for file in {*where.texts} - {*where.python})
    kinds |= {kind: texts[kind] for kind in ("launch", "requirements", "container", "settings")}
    return [{"say": f"migration.files.{kind}", "args": {"count": count}} for kind, count in kinds.items() if count]


def grave(findings: Iterable[Finding]) -> Scalar:
    """What stands first in a verdict where something is unsupported: how much, and where it first is; else nothing."""
    found = [finding for finding in findings if class_of(finding) == UNSUPPORTED]
    if not found:
        return ""
    first = next(filter(stops, found), found[0])
    at = str(first.place) if first.place else str(first.args.get("first", ""))
    return {"say": "migration.grave", "args": {"count": sum(map(places_of, found)), "first": at}}


def unread(findings: Iterable[Finding]) -> Scalar:
    """What stands last in a verdict where files could not be read; else nothing."""
    count = len({str(finding.args["path"]) for finding in findings if finding.key == UNREAD})
    return {"say": "migration.unread", "args": {"count": count}} if count else ""


def stops(finding: Finding) -> bool:
    """An unsupported place that is reached whenever its file is: no `if` and no `try` stands over it."""
    return bool(finding.args.get("stops"))


def no_file(path: str | os.PathLike[str], where: Tree) -> list[Finding]:
    """A path that holds nothing to look at is not clean."""
    if where.looked:
        return []
    return [Finding("MIG100", Status.SKIPPED, NO_FILE, {"path": os.fspath(path)}, weight=2000.0)]


def refuse_unlooked(report: Report) -> Report:
    """The report, or the error of its first file where nothing at all could be looked at."""
    untold = [finding for finding in report.findings if finding.key in (UNREAD, NO_FILE)]
    if untold and len(untold) >= report.facts["files"] and not any(map(class_of, report.findings)):
        raise WorkbookError(untold[0].key, **untold[0].args)
    return report
