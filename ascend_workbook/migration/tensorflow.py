"""TensorFlow scripts of a scan as a report of their own: how many names stand on which level of support.

The levels are rules/tensorflow.py's. Classes are not counted together with those of PyTorch scripts: another tool
(convert_tf2npu) changes these scripts, and the look at them is coarser.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.repair import CLASSES, class_of
from ascend_workbook.migration.tables import make_places_table

RULE = "MIG136"
#: From good to bad.
LEVELS = (
    "supported",
    "no_effect",
    "tool",
    "by_hand",
    "dynamic",
    "analysing",
    "deprecated",
    "listed_unsupported",
    "unsupported",
    "unknown",
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
    listed = Report(
        "migration",
        "scan_tensorflow_places",
        (_make_places_finding(tensorflow_findings),),
        make_places_table(tensorflow_findings),
    )
    return Report(
        "migration",
        "scan_tensorflow",
        (Finding(RULE, status, "MIG136.levels", numbers),),
        Table(columns, rows),
        Chart("bars", "tf_level", ("repair_count",)),
        facts=facts,
        parts=(listed,),
    )


def files_of(findings: Iterable[Finding]) -> int:
    """How many files the findings stand in."""
    return len({finding.place.path for finding in findings if finding.place})


def _make_level_row(level: str, names: Counter[str]) -> tuple[Scalar, ...]:
    often: Scalar = [name for name, _ in names.most_common(SHOWN)] or None
    level_name: Scalar = Sentence(f"migration.tf.{level}")
    return level_name, sum(names.values()), len(names), Sentence(f"migration.tf_means.{level}"), often


def _make_places_finding(findings: list[Finding]) -> Finding:
    kinds = Counter(map(class_of, findings))
    numbers: dict[str, Scalar] = {name: kinds[name] for name in CLASSES}
    return Finding(RULE, Status.NOTE, "MIG136.places", {"uses": len(findings), **numbers})
