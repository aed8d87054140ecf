"""Findings as the tables that reports show: a row per place, and how many there are of each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.repair import ADVICE, AUTO, CLASSES, MANUAL, REWRITE, UNSUPPORTED, class_of

SUMMARY = "MIG100"
#: What needs work comes first; without a class last.
GRAVEST = (UNSUPPORTED, MANUAL, REWRITE, ADVICE, AUTO, "")
COLUMNS = (
    *(Column(name) for name in ("file", "line", "column", "code", "rule", "repair", "repair_action")),
    Column("confidence", detail=True),
    Column("effort", "h", detail=True),
    Column("versions_hold", detail=True),
    Column("link", detail=True),
)


def make_places_table(findings: Iterable[Finding]) -> Table:
    """Make a row for each finding with a place and a class: what needs work first, and in the order of the files."""
    ordered = sorted(
        (finding for finding in findings if finding.place), key=lambda finding: GRAVEST.index(class_of(finding))
    )
    return Table(COLUMNS, tuple(_make_place_row(finding, finding.place) for finding in ordered if finding.place))


def _make_place_row(finding: Finding, place: Place) -> tuple[Scalar, ...]:
    args = finding.args
    action: Scalar = Sentence(finding.key, **args)
    kind: Scalar = Sentence(f"migration.class.{class_of(finding)}")
    sure: Scalar = Sentence(f"migration.confidence.{args['confidence']}") if "confidence" in args else None
    known = (sure, args.get("effort_h"), args.get("versions"), args.get("link"))
    return place.path, place.line, place.column, args["code"], finding.rule, kind, action, *known


def report_classes(counts: Counter[str]) -> Report:
    """The findings by class: what the chart draws."""
    columns = (Column("repair"), Column("repair_count"), Column("repair_action"))
    rows = tuple(
        (Sentence(f"migration.class.{name}"), counts[name], Sentence(f"migration.meaning.{name}")) for name in CLASSES
    )
    left = counts[MANUAL] + counts[UNSUPPORTED]
    status = Status.WARN if left else Status.OK if counts else Status.NOTE
    numbers: dict[str, Scalar] = {name: counts[name] for name in CLASSES}
    finding = Finding(SUMMARY, status, "MIG100.classes", {"uses": sum(counts.values()), **numbers})
    chart = Chart("bars", "repair", ("repair_count",))
    return Report("migration", "scan_classes", (finding,), Table(columns, rows), chart)
