"""Findings as the tables that reports show: a row per place, and how many there are of each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.repair import ADVICE, AUTO, CLASSES, MANUAL, REWRITE, UNSUPPORTED, class_of

# TensorFlow scripts of a scan as a report of their own: how many names stand on which level of support.

TENSORFLOW_RULE = "MIG136"
#: From good to bad.
LEVELS = tuple(
    """
    supported no_effect tool by_hand dynamic analysing deprecated listed_unsupported unsupported unknown
    """.split()
)
SHOWN = 5


def report_tensorflow(findings: Iterable[Finding]) -> Report:
    """A row per level with its places and names; as its part the places. `facts`: files, `levels` and `counts`."""
    tensorflow_findings = list(findings)
    used: dict[str, Counter[str]] = {level: Counter() for level in LEVELS}
    for finding in tensorflow_findings:
        names = finding.args.get("names")
        for name, level, count in names if isinstance(names, list) else ():
            used[level][name] += count
    levels = {level: {"places": sum(names.values()), "names": len(names)} for level, names in used.items()}
    kinds = Counter(map(class_of, tensorflow_findings))
    facts: dict[str, Any] = {
        "files": files_of(tensorflow_findings),
        "levels": levels,
        "counts": {name: kinds[name] for name in CLASSES},
    }
    numbers: dict[str, Scalar] = {
        "files": facts["files"],
        "places": sum(level["places"] for level in levels.values()),
        "names": sum(level["names"] for level in levels.values()),
        "supported": levels["supported"]["places"],
    }
    status = max((finding.status for finding in tensorflow_findings), default=Status.OK)
    rows = tuple(_make_level_row(level, names) for level, names in used.items())
    columns = tuple(map(Column, ("tf_level", "repair_count", "tf_names", "repair_action", "tf_examples")))
    places: dict[str, Scalar] = {"uses": len(tensorflow_findings), **facts["counts"]}
    heading = Finding(TENSORFLOW_RULE, Status.NOTE, "MIG136.places", places)
    listed = Report("migration", "scan_tensorflow_places", (heading,), make_places_table(tensorflow_findings))
    summary = Finding(TENSORFLOW_RULE, status, "MIG136.levels", numbers)
    chart = Chart("bars", "tf_level", ("repair_count",))
    table = Table(columns, rows)
    return Report("migration", "scan_tensorflow", (summary,), table, chart, facts=facts, parts=(listed,))


def files_of(findings: Iterable[Finding]) -> int:
    """How many files the findings stand in."""
    return len({finding.place.path for finding in findings if finding.place})


def _make_level_row(level: str, names: Counter[str]) -> tuple[Scalar, ...]:
    often: Scalar = [name for name, _ in names.most_common(SHOWN)] or None
    level_name: Scalar = Sentence(f"migration.tf.{level}")
    return level_name, sum(names.values()), len(names), Sentence(f"migration.tf_means.{level}"), often


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
