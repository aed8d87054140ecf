"""What the verdicts of `scan`, `assess` and `rewrite` speak of: the same words, statuses and exit codes for all three.

scan and assess speak of the source as it stands, and so have one status; rewrite speaks of what it did and what is
left in its result.

  Good        nothing to do: handled at run time | every edit made, nothing left
  (remark)    advice                             | nothing was to be added, and why
  Not looked  something could not be read, so nothing is known of it (all three)
  Look        to rewrite, by hand, unsupported   | left to do by hand, unsupported
  Fix         a class of --fail-on occurs        | is left; or an edit could not be made or written

Fix ends in exit code 1. A path with nothing at all that could be looked at is an error, exit code 2.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table, join_reports
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.kept import keep_sources
from ascend_workbook.migration.repair import UNSUPPORTED, Findings, class_of, places_of
from ascend_workbook.migration.texts.lines import kind_of

RULE = "MIG150"
WEIGHT = 2000.0
NOT_RUN = "MIG140.not_run"
FAILED_TRACE = "MIG174"
#: Other reports of the stage that ran the script: what is wrong in them is the stage's own.
RUNS = ("operator_support",)


def join(scanned: Report, rewritten: Report, ran: Report, *others: Report) -> Report:
    """The reports as parts, `others` (the assessment, the operators) behind them.

    The verdict says what the scan counted and what the dry run showed. A place that `rewrite` has mended no longer
    counts against the stage: its status is the worst of what is left to a person and of what was run. An unsupported
    place that stands where the script runs it is red here, whoever asked: the stage is about training on an NPU.
    `ran` may be a migration in rounds: where its result trains, no place stops the training any more.
    Where the migrated script was not run, that is what is said of the run, and a trace elsewhere that saw no whole step
    shows nothing of an NPU: it was not looked at. The sources are kept in its facts (kept.py)."""
    unseen = next((finding for finding in ran.findings if finding.key == NOT_RUN), None)
    if unseen:
        others = tuple(map(_without_failed_trace, others))
    both = join_reports("migration", "migration", [scanned, rewritten, ran, *others], tier=ran.tier)
    in_rounds = ran.verb == "migrate" and ran.status <= Status.NOTE  # it trains: nothing stops it any more
    stopped = any(map(stops_training, rewritten.findings)) and not in_rounds
    left_red = Status.FIX if stopped else Status.GOOD
    status = max(rewritten.status, left_red, ran.status, *(report.status for report in others if report.verb in RUNS))
    run = Sentence(unseen.key, **unseen.args) if unseen else _quote_headline(ran)
    left = tuple(finding for finding in both.findings if finding.status <= status)
    summary = Finding(RULE, status, "MIG150.joined", {"scan": _quote_headline(scanned), "run": run}, weight=WEIGHT)
    return replace(both, findings=(summary, *left), facts=keep_sources(scanned, rewritten))


def _without_failed_trace(report: Report) -> Report:
    skipped = (
        replace(finding, status=Status.NOT_LOOKED) if finding.rule == FAILED_TRACE else finding
        for finding in report.findings
    )
    return replace(report, findings=tuple(skipped))


def _quote_headline(report: Report) -> Scalar:
    """A report's headline as a sentence within a sentence."""
    headline = report.headline or Finding(report.verb, Status.NOT_LOOKED, "report.not_looked")
    return Sentence(headline.key, **headline.args)


# What a report has to say beside its verdict, as a table of its own: what was counted, and what was not shown.

COLUMNS = (Column("rule"), Column("message", wrap=110))


def report_quiet_findings(findings: Findings, tier: str = "") -> tuple[Report, ...]:
    """Report, a row each, findings that no one has to act on. `tier`: what they were measured on."""
    quiet = [finding for finding in findings if finding.status <= Status.NOTE]
    rows = tuple((finding.rule, Sentence(finding.key, **finding.args)) for finding in quiet)
    if not rows:
        return ()
    heading = Finding("MIG147", Status.NOTE, "MIG147.beside", {"count": len(rows)})
    return (Report("migration", "beside", (heading,), Table(COLUMNS, rows), tier=tier),)


GATE_WEIGHT = 1500.0
UNREAD, NO_FILE = "MIG100.unreadable", "MIG100.no_file"


def judge_gates(rule: str, counts: Mapping[str, int], wanted: Iterable[str]) -> list[Finding]:
    """Make a finding that fails for each class that was not to occur and does."""
    kinds: dict[str, Scalar] = {name: Sentence(f"migration.class.{name}") for name in wanted if counts[name]}
    return [
        Finding(rule, Status.FIX, "migration.gate", {"kind": kind, "count": counts[name]}, weight=GATE_WEIGHT)
        for name, kind in kinds.items()
    ]


def count_files(where: Tree) -> list[Scalar]:
    """How many files were looked at, by kind; setup.py is counted once, as Python."""
    kinds = {"python": len(where.python), "notebook": len(where.notebooks)}
    texts = Counter(kind_of(file.name) for file in {*where.texts} - {*where.python})
    kinds |= {kind: texts[kind] for kind in ("launch", "requirements", "container", "settings")}
    return [Sentence(f"migration.files.{kind}", count=count) for kind, count in kinds.items() if count]


def describe_grave_findings(findings: Findings) -> Scalar:
    """Describe for the head of a verdict what is unsupported, how much and where first; nothing without."""
    grave_findings = [finding for finding in findings if class_of(finding) == UNSUPPORTED]
    if not grave_findings:
        return ""
    first = next(filter(stops_training, grave_findings), grave_findings[0])
    return Sentence("migration.grave", count=sum(map(places_of, grave_findings)), first=first_place_of(first))


def first_place_of(finding: Finding) -> str:
    return str(finding.place or finding.args.get("first", ""))


def describe_unread_files(findings: Findings) -> Scalar:
    """Describe what stands last in a verdict where files could not be read; else nothing."""
    count = len({str(finding.args["path"]) for finding in findings if finding.key == UNREAD})
    return Sentence("migration.unread", count=count) if count else ""


def stops_training(finding: Finding) -> bool:
    """Return whether it is unsupported and reached whenever its file is: no `if` and no `try` stands over it."""
    return bool(finding.args.get("stops"))


def no_file(path: str | os.PathLike[str], where: Tree) -> list[Finding]:
    """A path that holds nothing to look at is not clean."""
    if where.scanned_files:
        return []
    return [Finding("MIG100", Status.NOT_LOOKED, NO_FILE, {"path": os.fspath(path)}, weight=2000.0)]


def refuse_unlooked(report: Report) -> Report:
    """The report, or the error of its first file where nothing at all could be looked at."""
    untold = [finding for finding in report.findings if finding.key in (UNREAD, NO_FILE)]
    if untold and len(untold) >= report.facts["files"] and not any(map(class_of, report.findings)):
        raise WorkbookError(untold[0].key, **untold[0].args)
    return report
