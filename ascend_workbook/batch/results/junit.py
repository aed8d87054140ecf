"""Runs as JUnit XML, those of a plan or one that is of none: a suite per run, a case per notebook with its time.

A verdict that is red is a failure; what broke (a cell, a kernel, a process, time, memory) is an error; what did not
run, was left out, could not look, or was expected to fail is skipped. The file is red exactly where the plan
is, or the one run.
"""

from __future__ import annotations

import xml.etree.ElementTree as xml
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from ascend_workbook.batch.campaign.ended import DIFFERS, EXPECTED, GOOD, LEFT_OUT, NOT_RUN, RED, Ended
from ascend_workbook.batch.results.rows import Row, StageRow, stages_of
from ascend_workbook.batch.results.summary import Results
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say, show
from ascend_workbook.show.junit import format_document, remove_illegal, set_counts

#: The case of a run that is no notebook's: its process, its time, its device.
RUN = "run"


def render_junit(results: Results, lang: str) -> str:
    """Render the whole file."""
    root = xml.Element("testsuites", name=f"ascend-workbook {remove_illegal(results.name)}")
    timestamp = datetime.now(timezone.utc).isoformat(timespec="seconds")[:19]
    if results.shards:
        suite = xml.Element("testsuite", id="0", name=results.beside, timestamp=timestamp, hostname="localhost")
        for finding in results.shards:
            case = xml.SubElement(suite, "testcase", classname=results.beside, name=finding.key, time="0.000")
            message = remove_illegal(finding.message(lang))
            if finding.status is Status.FIX:
                xml.SubElement(case, "error", message=message, type=finding.key).text = message
            else:
                xml.SubElement(case, "system-out").text = message
        set_counts(suite, suite.iter("testcase"), 0.0)
        root.append(suite)
    for number, row in enumerate(results.rows, len(root)):
        root.append(_make_suite(row, number, timestamp, lang, red=row.red or (row in results.reds)))
    set_counts(root, root.iter("testcase"), sum(row.ended.seconds for row in results.rows))
    return format_document(root)


def render_run(report: Report, folder: Path, stages: tuple[str, ...], lang: str) -> str:
    """Render the whole file of one run, with the suite that a plan's file has for it."""
    own_report = replace(report, findings=tuple(finding for finding in report.findings if finding.rule != "RUN402"))
    unsent = tuple(finding for finding in report.findings if finding.rule == "RUN402" and finding.status is Status.FIX)
    rows = stages_of(own_report, folder, stages)
    waits = any(row.state == NOT_RUN for row in rows)
    state = RED if own_report.status is Status.FIX else NOT_RUN if waits else GOOD
    verdict: Scalar = Sentence(own_report.headline.key, **own_report.headline.args) if own_report.headline else ""
    name, status, seconds = str(report.facts["name"]), own_report.status.json, sum(row.seconds or 0 for row in rows)
    ended = Ended(name, state, status, verdict, report.tier, report.simulated, seconds)
    row = Row(1, ended, rows, place=".", files=frozenset({"index.html"}))
    return render_junit(Results(ended.name, (row,), not waits, shards=unsent), lang)


def _make_suite(row: Row, number: int, timestamp: str, lang: str, *, red: bool) -> xml.Element:
    name = remove_illegal(row.name)
    suite = xml.Element("testsuite", id=str(number), name=name, timestamp=timestamp, hostname="localhost")
    properties = xml.SubElement(suite, "properties")
    property_values = {
        "state": row.state,
        "status": row.status,
        "tier": row.ended.tier,
        "page": row.page,
        **{name: str(getattr(row.ended, name)).lower() for name in ("simulated", "attempts", "reused")},
        "tags": " ".join(row.tags),
        "change": row.change,
    }
    for name, value in property_values.items():
        xml.SubElement(properties, "property", name=name, value=remove_illegal(value))
    cases = [_make_stage_case(row, stage, lang) for stage in row.stages]
    broken = any(case.find(kind) is not None for case in cases for kind in ("failure", "error"))
    if not cases or (red and not broken):
        cases.append(_make_run_case(row, lang, red=red))
    suite.extend(cases)
    set_counts(suite, suite.iter("testcase"), row.ended.seconds)
    return suite


def _make_case(row: Row, name: str, seconds: float | None) -> xml.Element:
    names = {"classname": remove_illegal(row.name), "name": remove_illegal(name)}
    return xml.Element("testcase", names, time=f"{seconds or 0:.3f}")


def _make_stage_case(row: Row, stage: StageRow, lang: str) -> xml.Element:
    case = _make_case(row, stage.stage, stage.seconds)
    if stage.red and row.state == EXPECTED:
        _mark_expected(case, row, lang)
    elif stage.red:
        kind = "failure" if stage.state == RED else "error"
        _add_verdict(case, kind, stage.state, stage.verdict, stage.error if kind == "error" else "", lang)
    elif stage.state == NOT_RUN or stage.status == Status.NOT_LOOKED.json:
        _mark_skipped(case, show(stage.verdict, lang))
    else:
        xml.SubElement(case, "system-out").text = remove_illegal(show(stage.verdict, lang))
    return case


def _make_run_case(row: Row, lang: str, *, red: bool) -> xml.Element:
    """Make the case of the run itself, where no notebook tells how it ended."""
    case = _make_case(row, RUN, row.ended.seconds if not row.stages else 0.0)
    if red:
        kind = "failure" if row.state in (RED, DIFFERS) else "error"
        _add_verdict(case, kind, row.state, row.ended.verdict, "", lang)
    elif row.state == EXPECTED:
        _mark_expected(case, row, lang)
    elif row.state in (NOT_RUN, LEFT_OUT):
        state: Scalar = Sentence(f"plan.state.{row.state}")
        _mark_skipped(case, say("run.said", lang, name=state, said=row.ended.verdict))
    else:
        _mark_skipped(case, say("plan.no_stage_results", lang))
    return case


def _add_verdict(case: xml.Element, element: str, state: str, verdict: Scalar, error: str, lang: str) -> None:
    message = remove_illegal(show(verdict, lang))
    xml.SubElement(case, element, message=message, type=remove_illegal(state)).text = remove_illegal(error) or message


def _mark_skipped(case: xml.Element, message: str) -> None:
    xml.SubElement(case, "skipped", message=remove_illegal(message))


def _mark_expected(case: xml.Element, row: Row, lang: str) -> None:
    assert row.expected
    _mark_skipped(case, say("plan.expected_until", lang, until=row.expected.until, reason=row.expected.reason))
