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

from helpers.batch.campaign.ended import DIFFERS, EXPECTED, GOOD, LEFT_OUT, NOT_RUN, RED, Ended
from helpers.batch.results.rows import Row, StageRow, stages_of
from helpers.batch.results.summary import Results
from helpers.finding import Status
from helpers.report import Report
from helpers.view.junit import count, plain, whole
from helpers.words import Scalar, say, show

#: The case of a run that is no notebook's: its process, its time, its device.
RUN = "run"


def render(results: Results, lang: str) -> str:
    """The whole file."""
    root = xml.Element("testsuites", name=f"ascend-workbook {plain(results.name)}")
    timestamp = datetime.now(timezone.utc).isoformat(timespec="seconds")[:19]
    if results.shards:
        root.append(_shards(results, timestamp, lang))
    for number, row in enumerate(results.rows, len(root)):
        root.append(_suite(row, number, timestamp, lang, red=row.red or (row in results.reds)))
    count(root, root.iter("testcase"), sum(row.ended.seconds for row in results.rows))
    return whole(root)


def render_run(report: Report, folder: Path, stages: tuple[str, ...], lang: str) -> str:
    """The whole file of one run, `helpers.batch.run`'s, with the suite that a plan's has of it; `folder` is its own."""
    own = replace(report, findings=tuple(one for one in report.findings if one.rule != "RUN402"))
    unsent = tuple(one for one in report.findings if one.rule == "RUN402" and one.status is Status.FAIL)
    rows = stages_of(own, folder, stages)
    waits = any(row.state == NOT_RUN for row in rows)
    state = RED if own.status is Status.FAIL else NOT_RUN if waits else GOOD
    verdict: Scalar = {"say": own.headline.key, "args": own.headline.args} if own.headline else ""
    ended = Ended(str(report.facts["name"]), state, own.status.name, verdict, report.tier, report.simulated,
                  sum(row.seconds or 0 for row in rows))  # fmt: skip
    row = Row(1, ended, rows, place=".", files=frozenset({"index.html"}))
    return render(Results(ended.name, (row,), not waits, shards=unsent), lang)


def _suite(row: Row, number: int, timestamp: str, lang: str, *, red: bool) -> xml.Element:
    suite = xml.Element("testsuite", id=str(number), name=plain(row.name), timestamp=timestamp, hostname="localhost")
    properties = xml.SubElement(suite, "properties")
    told = {"state": row.state, "status": row.status, "tier": row.ended.tier, "page": row.page,
            "simulated": str(row.ended.simulated).lower(), "attempts": str(row.ended.attempts),
            "reused": str(row.ended.reused).lower(), "tags": " ".join(row.tags), "change": row.change}  # fmt: skip
    for name, value in told.items():
        xml.SubElement(properties, "property", name=name, value=plain(value))
    cases = [_stage(row, stage, lang) for stage in row.stages]
    broken = any(case.find(kind) is not None for case in cases for kind in ("failure", "error"))
    if not cases or (red and not broken):
        cases.append(_whole(row, lang, red=red))
    suite.extend(cases)
    count(suite, suite.iter("testcase"), row.ended.seconds)
    return suite


def _shards(results: Results, timestamp: str, lang: str) -> xml.Element:
    """Of the parts that are joined, or of what could not be sent: no run could be red by it."""
    suite = xml.Element("testsuite", id="0", name=results.beside, timestamp=timestamp, hostname="localhost")
    for one in results.shards:
        case = xml.SubElement(suite, "testcase", classname=results.beside, name=one.key, time="0.000")
        said = plain(one.message(lang))
        if one.status is Status.FAIL:
            xml.SubElement(case, "error", message=said, type=one.key).text = said
        else:
            xml.SubElement(case, "system-out").text = said
    count(suite, suite.iter("testcase"), 0.0)
    return suite


def _case(row: Row, name: str, seconds: float | None) -> xml.Element:
    return xml.Element("testcase", classname=plain(row.name), name=plain(name), time=f"{seconds or 0:.3f}")


def _stage(row: Row, stage: StageRow, lang: str) -> xml.Element:
    case = _case(row, stage.stage, stage.seconds)
    if stage.red and row.state == EXPECTED:
        _skip(case, _expectation(row, lang))
    elif stage.red:
        kind = "failure" if stage.state == RED else "error"
        _tell(case, kind, stage.state, stage.verdict, stage.error if kind == "error" else "", lang)
    elif stage.state == NOT_RUN or stage.status == "SKIPPED":
        _skip(case, show(stage.verdict, lang))
    else:
        xml.SubElement(case, "system-out").text = plain(show(stage.verdict, lang))
    return case


def _whole(row: Row, lang: str, *, red: bool) -> xml.Element:
    """The run itself: where no notebook tells how it ended."""
    case = _case(row, RUN, row.ended.seconds if not row.stages else 0.0)
    if red:
        _tell(case, "failure" if row.state in (RED, DIFFERS) else "error", row.state, row.ended.verdict, "", lang)
    elif row.state == EXPECTED:
        _skip(case, _expectation(row, lang))
    elif row.state in (NOT_RUN, LEFT_OUT):
        state: Scalar = {"say": f"plan.state.{row.state}"}
        _skip(case, say("run.said", lang, name=state, said=row.ended.verdict))
    else:
        _skip(case, say("plan.no_stage_results", lang))
    return case


def _tell(case: xml.Element, element: str, state: str, verdict: Scalar, error: str, lang: str) -> None:
    made = xml.SubElement(case, element, message=plain(show(verdict, lang)), type=plain(state))
    made.text = plain(error or show(verdict, lang))


def _skip(case: xml.Element, message: str) -> None:
    xml.SubElement(case, "skipped", message=plain(message))


def _expectation(row: Row, lang: str) -> str:
    assert row.expected
    return say("plan.expected_until", lang, until=row.expected.until, reason=row.expected.reason)
