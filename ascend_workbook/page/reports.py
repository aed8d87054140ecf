"""Any report as a page shows it: verdict, chart, table, what is left to say, and its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from ascend_workbook.findings.finding import Finding, Place
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.page.coloured import colour_lines
from ascend_workbook.page.tables import pack_table
from ascend_workbook.page.texts import in_both, number_of, say_both, show_both, title_both
from ascend_workbook.show.cells import collect_remarks, fold_findings, is_summary, join_unlooked

#: A line of a script; a profile's frames call it `train.py(41): save`
FRAME = re.compile(r"([^/\\\s]+\.py):(\d+)")
#: What a page draws from a report's facts, by name.
FACTS = ("timeline", "flame", "modules", "edges", "row", "counts", "tolerance", "culprit")


def describe_report(report: Report) -> dict[str, Any]:
    """Describe the report and its parts; all texts in both languages."""
    facts = {name: report.facts[name] for name in FACTS if report.facts.get(name)}
    if isinstance(facts.get("culprit"), Mapping):
        facts["culprit"] = _describe_culprit(facts["culprit"])
    described: dict[str, Any] = {
        "id": report.verb,
        "title": in_both(report.title),
        "status": number_of(report.status),
        "verdict": in_both(report.verdict),
        "findings": _describe_findings(report),
        "parts": [describe_report(part) for part in report.parts],
    }
    described |= {"facts": facts} if facts else {}
    if report.table and report.table.rows and not report.parts:
        described["table"] = pack_table(report.table)
    elif report.table and report.table.rows and [c.name for c in report.table.columns][:1] != ["question"]:
        described["table"] = pack_table(report.table)  # one of questions says what its parts say
    if report.chart and "table" in described:
        described["chart"] = {**asdict(report.chart), "titles": {y: title_both(y) for y in _named_columns(report)}}
    if report.listing:
        described["listing"] = {
            "title": title_both(report.listing.name),
            "text": report.listing.text,
            "language": report.listing.language,
        }
    return described


def _describe_culprit(culprit: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the operator that parts two runs: its tensors' problems in words, its code in colours."""
    tensors = []
    for tensor in culprit.get("tensors") or ():
        key = f"precision.problem_{tensor.get('problem')}"
        words = {"problem": say_both(key) if key in load_catalogue() else tensor.get("problem")}
        tensors.append({**tensor, **words} if tensor.get("problem") else tensor)
    described = {**culprit, "tensors": tensors}
    if culprit.get("source"):
        source = culprit["source"]
        name = str(culprit.get("place", "")).rpartition(":")[0]
        described["source"] = {**source, "lines": colour_lines(name, "\n".join(source["lines"]), len(source["lines"]))}
    return described


def _named_columns(report: Report) -> tuple[str, ...]:
    chart = report.chart
    assert chart is not None
    return tuple(name for name in (chart.x, *chart.y, *chart.below, chart.by, chart.limit) if name)


def _describe_findings(report: Report) -> list[dict[str, Any]]:
    """Describe what is left to say beside verdict and table; what was not looked at for one reason is one row."""
    rows = []
    for group in fold_findings(collect_remarks(report), "en"):
        first = group[0]
        if len(group) > 1:
            topics = [show_both(finding.args.get("topic", finding.rule)) for finding in group]
            rows.append(
                {
                    **describe_finding(first),
                    "text": in_both(partial(join_unlooked, group)),
                    "topics": topics,
                    "hint": "",
                }
            )
        elif is_summary(first, report):
            rows.append({**describe_finding(first), "text": ""})
        else:
            rows.append(describe_finding(first))
    return rows


def describe_finding(finding: Finding) -> dict[str, Any]:
    """Describe one finding: its status, rule, sentence, next step and place."""
    described: dict[str, Any] = {
        "status": number_of(finding.status),
        "rule": finding.rule,
        "text": in_both(finding.message),
        "hint": in_both(finding.hint),
    }
    if finding.place:
        described["place"] = describe_place(finding.place)
    if searched := find_on_timeline(finding):
        described["find"] = searched
    link = finding.args.get("link")
    return {**described, **({"link": link} if isinstance(link, str) and link.startswith("https://") else {})}


def find_on_timeline(finding: Finding) -> str:
    """Return what a search of the timeline finds a profile's finding by: the line of the script as a frame is named, or
    the operator; empty where it names neither."""
    for name in ("where", "operator", "call") if finding.rule.startswith("PRF3") else ():
        value = finding.args.get(name)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str) and value:
            frame = FRAME.search(value)
            return f"{frame[1]}({frame[2]})" if frame else value
    return ""


def describe_place(place: Place) -> str:
    """Write a place as `path:line`; a page links it where it has the file."""
    return f"{place.path}:{place.line}" if place.line else place.path
