"""A report as JUnit XML, which CI servers read: one suite a report, one test case a rule, or what its stage enters.

A case fails exactly where the report does, so that the file and the exit code say the same; what was not looked at
is `skipped`. The schema is the usual one (testsuites, testsuite, properties, testcase, failure, skipped, system-out).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from dataclasses import dataclass

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.registry import CASES, find_function
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import choose_language

#: Characters that XML 1.0 cannot hold.
ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Parts that list again what cases say one by one.
RETOLD = ("suspects",)


@dataclass(frozen=True)
class Case:
    """`classname` and `name` are the same in each run, so that a CI server can follow a case; `kind` is a code."""

    classname: str
    name: str
    status: Status
    message: str
    details: tuple[str, ...] = ()
    kind: str = ""


def render_junit(report: Report, lang: str | None = None, *, seconds: float = 0.0) -> str:
    """Render the whole file. `seconds` is how long it took to make the report; cases have no time of their own."""
    lang = choose_language(lang)
    root = xml.Element("testsuites", name=f"ascend-workbook {report.stage} {report.verb}")
    for number, part in enumerate(_walk_suites(report)):
        root.append(_make_suite(part, lang, number, seconds if number == 0 else 0.0))
    set_counts(root, root.iter("testcase"), seconds)
    return format_document(root)


def format_document(root: xml.Element) -> str:
    """Return the file's text."""
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _walk_suites(report: Report) -> Iterator[Report]:
    """Yield the report and its parts that become suites. One that only joins parts repeats their headlines, and so is
    left out unless it has a failure of its own."""
    told_keys = {(finding.key, repr(finding.args)) for part in report.parts for finding in part.findings}
    failed = [finding for finding in report.findings if finding.status is Status.FIX]
    if not report.parts or any((finding.key, repr(finding.args)) not in told_keys for finding in failed):
        yield report
    for part in report.parts:
        if part.verb not in RETOLD:
            yield from _walk_suites(part)


def _make_suite(report: Report, lang: str, number: int, seconds: float) -> xml.Element:
    timestamp = report.created[:19]  # the schema takes no zone; all of ours are UTC
    suite = xml.Element("testsuite", id=str(number), name=f"{report.stage}.{report.verb}", timestamp=timestamp)
    suite.set("hostname", "localhost")
    properties = xml.SubElement(suite, "properties")
    property_values = {
        "status": report.status.json,
        "tier": report.tier,
        "simulated": str(report.simulated).lower(),
        "verdict": report.verdict(lang),
    }
    for name, value in property_values.items():
        xml.SubElement(properties, "property", name=name, value=remove_illegal(value))
    cases = find_function(CASES, report.stage) or rules_as_cases
    suite.extend(_make_testcase(case) for case in cases(report, lang))
    set_counts(suite, suite.iter("testcase"), seconds)
    return suite


def rules_as_cases(report: Report, lang: str) -> list[Case]:
    """Return one case for each rule that said something, its worst finding: for a stage without cases of its own."""
    by_rule: dict[str, list[Case]] = {}
    for finding in report.findings:
        class_name, hint = f"{report.stage}.{report.verb}", finding.hint(lang)
        case = Case(class_name, finding.rule, finding.status, finding.message(lang), (hint,), finding.key)
        by_rule.setdefault(finding.rule, []).append(case)
    return [max(several, key=lambda case: case.status) for several in by_rule.values()]


def _make_testcase(case: Case) -> xml.Element:
    element = xml.Element(
        "testcase", classname=remove_illegal(case.classname), name=remove_illegal(case.name), time="0.000"
    )
    text = remove_illegal("\n".join(filter(None, case.details)))
    if case.status is Status.FIX:
        xml.SubElement(element, "failure", message=remove_illegal(case.message), type=case.kind).text = text
    elif case.status is Status.NOT_LOOKED:
        xml.SubElement(element, "skipped", message=remove_illegal(case.message))
    if text and case.status is not Status.FIX:
        xml.SubElement(element, "system-out").text = text
    return element


def set_counts(element: xml.Element, cases: Iterator[xml.Element], seconds: float) -> None:
    """Set the counts of what is below, and the time."""
    every = list(cases)
    for name, child in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(child) is not None for case in every)))
    element.attrib.update(tests=str(len(every)), time=f"{seconds:.3f}")


def remove_illegal(text: str) -> str:
    """Replace what XML cannot hold."""
    return ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
