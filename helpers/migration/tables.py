"""Findings as the tables that reports show: a row per place, and how many there are of each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from helpers.finding import Finding, Place, Status
from helpers.migration.repair import ADVICE, AUTO, CLASSES, MANUAL, REWRITE, UNSUPPORTED, class_of
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

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


def places(findings: Iterable[Finding]) -> Table:
    """A row for each finding with a place and a class: what needs work first, and in the order of the files."""
    ordered = sorted((finding for finding in findings if finding.place), key=lambda one: GRAVEST.index(class_of(one)))
    return Table(COLUMNS, tuple(_row(finding, finding.place) for finding in ordered if finding.place))


def _row(finding: Finding, place: Place) -> tuple[Scalar, ...]:
    args = finding.args
    action: Scalar = {"say": finding.key, "args": args}
    kind: Scalar = {"say": f"migration.class.{class_of(finding)}"}
    sure: Scalar = {"say": f"migration.confidence.{args['confidence']}"} if "confidence" in args else None
    known = (sure, args.get("effort_h"), args.get("versions"), args.get("link"))
    return place.path, place.line, place.column, args["code"], finding.rule, kind, action, *known


def classes(counts: Counter[str]) -> Report:
    """The findings by class: what the chart draws."""
    columns = (Column("repair"), Column("repair_count"), Column("repair_action"))
    rows = tuple(
        ({"say": f"migration.class.{name}"}, counts[name], {"say": f"migration.meaning.{name}"}) for name in CLASSES
    )
    left = counts[MANUAL] + counts[UNSUPPORTED]
    status = Status.WARN if left else Status.OK if counts else Status.NOTE
    numbers: dict[str, Scalar] = {name: counts[name] for name in CLASSES}
    finding = Finding(SUMMARY, status, "MIG100.classes", {"uses": sum(counts.values()), **numbers})
    chart = Chart("bars", "repair", ("repair_count",))
    return Report("migration", "scan_classes", (finding,), Table(columns, rows), chart)
