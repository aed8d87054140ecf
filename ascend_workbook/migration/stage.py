"""The stage as one report: what was found, what was changed, and the proof by running it."""

from __future__ import annotations

from dataclasses import replace

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, join_reports
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.verdict import stops_training

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
    Where the migrated script was not run, that is what is said of the run, and a trace elsewhere that saw no whole step
    shows nothing of an NPU: it was not looked at.
    """
    unseen = next((finding for finding in ran.findings if finding.key == NOT_RUN), None)
    if unseen:
        others = tuple(map(_without_failed_trace, others))
    both = join_reports("migration", "migration", [scanned, rewritten, ran, *others], tier=ran.tier)
    left_red = Status.FAIL if any(map(stops_training, rewritten.findings)) else Status.OK
    status = max(rewritten.status, left_red, ran.status, *(report.status for report in others if report.verb in RUNS))
    run = Sentence(unseen.key, **unseen.args) if unseen else _quote_headline(ran)
    left = tuple(finding for finding in both.findings if finding.status <= status)
    summary = Finding(RULE, status, "MIG150.joined", {"scan": _quote_headline(scanned), "run": run}, weight=WEIGHT)
    return replace(both, findings=(summary, *left))


def _without_failed_trace(report: Report) -> Report:
    skipped = (
        replace(finding, status=Status.SKIPPED) if finding.rule == FAILED_TRACE else finding
        for finding in report.findings
    )
    return replace(report, findings=tuple(skipped))


def _quote_headline(report: Report) -> Scalar:
    """A report's headline as a sentence within a sentence."""
    headline = report.headline or Finding(report.verb, Status.SKIPPED, "report.not_looked")
    return Sentence(headline.key, **headline.args)
