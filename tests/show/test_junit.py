"""JUnit files hold what CI servers need: counts that add up, names, times, messages, and nothing XML forbids."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, join_reports
from ascend_workbook.show import junit

#: element -> (required attributes, children in order), as the schema of Jenkins' xUnit plugin has them.
SCHEMA: dict[str, tuple[set[str], list[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, ["testsuite"]),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}, ["properties", "testcase"]),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": ({"name", "classname", "time"}, ["skipped", "failure", "system-out"]),
    "failure": ({"message", "type"}, []),
    "skipped": ({"message"}, []),
    "system-out": (set(), []),
}


def check(element: xml.Element) -> None:
    """Raises AssertionError where the element or one below is not as the schema has it."""
    required, children = SCHEMA[element.tag]
    assert required <= element.attrib.keys(), (element.tag, element.attrib)
    order = [children.index(child.tag) for child in element]
    assert order == sorted(order), [child.tag for child in element]
    for child in element:
        check(child)
    if "tests" in required:
        found = list(element.iter("testcase"))
        assert int(element.get("tests", "")) == len(found)
        assert int(element.get("failures", "")) == sum(case.find("failure") is not None for case in found)
        assert re.fullmatch(r"\d+\.\d{3}", element.get("time", ""))


def report(status: Status, text: str = "a") -> Report:
    key = {Status.FIX: "precision.tensor_unreadable"}.get(status, "precision.json_unreadable")
    return Report("precision", "compare", (Finding("ACC202", status, key, {"path": text, "error": "e"}),))


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_status_makes_a_valid_file(status: Status, lang: str) -> None:
    root = xml.fromstring(report(status).junit(lang, seconds=1.25))
    check(root)
    assert root.get("time") == "1.250"
    assert (root.get("failures") == "1") == (status is Status.FIX)
    assert bool(list(root.iter("skipped"))) == (status is Status.NOT_LOOKED)


def test_what_xml_cannot_hold_is_replaced() -> None:
    text = report(Status.FIX, 'a\x00\x1b<>&"\ud800 中文').junit("en")
    assert "中文" in text and "\x1b" not in text
    check(xml.fromstring(text))


def test_a_joined_report_counts_nothing_twice() -> None:
    joined = join_reports("precision", "align", [report(Status.GOOD), report(Status.FIX)])
    root = xml.fromstring(joined.junit("en"))
    check(root)
    assert root.get("failures") == "1" and len(root) == 2
    assert {suite.find("properties/property[@name='simulated']").get("value") for suite in root} == {"false"}  # type: ignore[union-attr]


def test_other_stages_have_a_case_for_each_rule() -> None:
    found = (Finding("RUN400", Status.LOOK, "RUN400.stopped"), Finding("RUN401", Status.FIX, "report.not_looked"))
    root = xml.fromstring(junit.render_junit(Report("environment", "check", found), "en"))
    check(root)
    assert [case.get("name") for case in root.iter("testcase")] == ["RUN400", "RUN401"]


def test_the_check_can_fail() -> None:
    broken = report(Status.FIX).junit("en").replace('failures="1"', 'failures="0"')
    with pytest.raises(AssertionError):
        check(xml.fromstring(broken))
