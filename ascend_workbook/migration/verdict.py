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

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table, parse_fail_on
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.repair import CLASSES, UNSUPPORTED, class_of, places_of
from ascend_workbook.migration.texts.lines import kind_of

# What a report has to say beside its verdict, as a table of its own: what was counted, and what was not shown.

COLUMNS = (Column("rule"), Column("message", wrap=110))


def report_quiet_findings(findings: Iterable[Finding], tier: str = "") -> tuple[Report, ...]:
    """Report the findings that no one has to act on, a row for each; the verdict is not among them.

    `tier`: what they were measured on.
    """
    quiet = [finding for finding in findings if finding.status <= Status.NOTE]
    rows = tuple((finding.rule, Sentence(finding.key, **finding.args)) for finding in quiet)
    if not rows:
        return ()
    heading = Finding("MIG147", Status.NOTE, "MIG147.beside", {"count": len(rows)})
    return (Report("migration", "beside", (heading,), Table(COLUMNS, rows), tier=tier),)


GATE_WEIGHT = 1500.0
UNREAD, NO_FILE = "MIG100.unreadable", "MIG100.no_file"


def parse_gates(fail_on: Iterable[str]) -> tuple[str, ...]:
    """Read the classes of --fail-on. Raises WorkbookError for one that is none."""
    return parse_fail_on(fail_on, CLASSES)


def judge_gates(rule: str, counts: Mapping[str, int], wanted: Iterable[str]) -> list[Finding]:
    """Make a finding that fails for each class that was not to occur and does."""
    kinds: dict[str, Scalar] = {name: Sentence(f"migration.class.{name}") for name in wanted if counts[name]}
    return [
        Finding(rule, Status.FAIL, "migration.gate", {"kind": kind, "count": counts[name]}, weight=GATE_WEIGHT)
        for name, kind in kinds.items()
    ]


def count_files(where: Tree) -> list[Scalar]:
    """How many files were looked at, by kind; setup.py is counted once, as Python."""
    kinds = {"python": len(where.python), "notebook": len(where.notebooks)}
    texts = Counter(kind_of(file.name) for file in {*where.texts} - {*where.python})
    kinds |= {kind: texts[kind] for kind in ("launch", "requirements", "container", "settings")}
    return [Sentence(f"migration.files.{kind}", count=count) for kind, count in kinds.items() if count]


def describe_grave_findings(findings: Iterable[Finding]) -> Scalar:
    """Describe what stands first in a verdict where something is unsupported: how much, and where it first is; else
    nothing.
    """
    grave_findings = [finding for finding in findings if class_of(finding) == UNSUPPORTED]
    if not grave_findings:
        return ""
    first = next(filter(stops_training, grave_findings), grave_findings[0])
    at = str(first.place) if first.place else str(first.args.get("first", ""))
    return Sentence("migration.grave", count=sum(map(places_of, grave_findings)), first=at)


def describe_unread_files(findings: Iterable[Finding]) -> Scalar:
    """Describe what stands last in a verdict where files could not be read; else nothing."""
    count = len({str(finding.args["path"]) for finding in findings if finding.key == UNREAD})
    return Sentence("migration.unread", count=count) if count else ""


def stops_training(finding: Finding) -> bool:
    """Return whether it is an unsupported place that is reached whenever its file is: no `if` and no `try` stands over
    it.
    """
    return bool(finding.args.get("stops"))


def no_file(path: str | os.PathLike[str], where: Tree) -> list[Finding]:
    """A path that holds nothing to look at is not clean."""
    if where.scanned_files:
        return []
    return [Finding("MIG100", Status.SKIPPED, NO_FILE, {"path": os.fspath(path)}, weight=2000.0)]


def refuse_unlooked(report: Report) -> Report:
    """The report, or the error of its first file where nothing at all could be looked at."""
    untold = [finding for finding in report.findings if finding.key in (UNREAD, NO_FILE)]
    if untold and len(untold) >= report.facts["files"] and not any(map(class_of, report.findings)):
        raise WorkbookError(untold[0].key, **untold[0].args)
    return report
