"""A report as JUnit XML, which CI servers read: one suite a report, one test case a question, a group of operators, or
a student's task.

A case fails exactly where the report does, so that the file and the exit code say the same; what was not looked at
is `skipped`. The schema is the usual one (testsuites, testsuite, properties, testcase, failure, skipped, system-out).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Iterator

from helpers.finding import Status
from helpers.precision.views.cases import Case, cases
from helpers.report import Report
from helpers.words import language, say

#: Characters that XML 1.0 cannot hold.
ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Parts that list again what cases say one by one.
RETOLD = ("suspects",)


def render(report: Report, lang: str | None = None, *, seconds: float = 0.0) -> str:
    """The whole file. `seconds` is how long it took to make the report; single cases have no time of their own."""
    lang = language(lang)
    root = xml.Element("testsuites", name=f"ascend-workbook {report.stage} {report.verb}")
    for number, part in enumerate(_suites(report)):
        root.append(_suite(part, lang, number, seconds if number == 0 else 0.0))
    count(root, root.iter("testcase"), seconds)
    return whole(root)


def whole(root: xml.Element) -> str:
    """The file's text."""
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _suites(report: Report) -> Iterator[Report]:
    """The report and its parts. One that only joins parts repeats their headlines, and so is left out unless it has a
    failure of its own."""
    told = {(one.key, repr(one.args)) for part in report.parts for one in part.findings}
    own = [one for one in report.findings if (one.key, repr(one.args)) not in told]
    if not report.parts or any(one.status is Status.FAIL for one in own):
        yield report
    for part in report.parts:
        if part.verb not in RETOLD:
            yield from _suites(part)


def _suite(report: Report, lang: str, number: int, seconds: float) -> xml.Element:
    timestamp = report.created[:19]  # the schema takes no zone; all of ours are UTC
    suite = xml.Element("testsuite", id=str(number), name=f"{report.stage}.{report.verb}", timestamp=timestamp)
    suite.set("hostname", "localhost")
    properties = xml.SubElement(suite, "properties")
    told = {"status": report.status.name, "tier": report.tier, "simulated": str(report.simulated).lower(),
            "verdict": report.verdict(lang)}  # fmt: skip
    for name, value in told.items():
        xml.SubElement(properties, "property", name=name, value=plain(value))
    suite.extend(_testcase(case) for case in _cases(report, lang))
    count(suite, suite.iter("testcase"), seconds)
    return suite


def _cases(report: Report, lang: str) -> list[Case]:
    if report.stage == "precision":
        return cases(report, lang)
    return [*_tasks(report, lang), *_rules(report, lang)]


def _tasks(report: Report, lang: str) -> list[Case]:
    """A class's grades: a case for each task of each submission. One that is not done is skipped with its status, or
    with what kept it from being judged: it is no failure of the report."""
    if report.verb != "course_grade":
        return []
    kept = {one.place.path: one.message(lang) for one in report.findings if one.place}
    made = []
    for name, tasks in report.facts["tasks"].items():
        for task, status in tasks.items():
            said = kept.get(name, "") if not status else ""
            said = said or say(f"course.status.{status or 'not_yet'}", lang)
            made.append(Case(f"course.{name}", task, Status.OK if status == "done" else Status.SKIPPED, said))
    return made


def _rules(report: Report, lang: str) -> list[Case]:
    by_rule: dict[str, list[Case]] = {}
    for one in report.findings:
        where, said = f"{report.stage}.{report.verb}", one.message(lang)
        by_rule.setdefault(one.rule, []).append(Case(where, one.rule, one.status, said, (one.hint(lang),), one.key))
    return [max(several, key=lambda case: case.status) for several in by_rule.values()]


def _testcase(case: Case) -> xml.Element:
    made = xml.Element("testcase", classname=plain(case.classname), name=plain(case.name), time="0.000")
    text = plain("\n".join(filter(None, case.details)))
    if case.status is Status.FAIL:
        xml.SubElement(made, "failure", message=plain(case.message), type=case.kind).text = text
    elif case.status is Status.SKIPPED:
        xml.SubElement(made, "skipped", message=plain(case.message))
    if text and case.status is not Status.FAIL:
        xml.SubElement(made, "system-out").text = text
    return made


def count(element: xml.Element, found: Iterator[xml.Element], seconds: float) -> None:
    """Sets the counts of what is below, and the time."""
    every = list(found)
    for name, child in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(child) is not None for case in every)))
    element.attrib.update(tests=str(len(every)), time=f"{seconds:.3f}")


def plain(text: str) -> str:
    """Without what XML cannot hold."""
    return ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
