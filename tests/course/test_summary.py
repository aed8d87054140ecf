"""A class's grades as JUnit cases: the course enters its own, on top of a report's rules."""

from __future__ import annotations

import xml.etree.ElementTree as xml

import course
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.registry import CASES, find_function
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.show import junit
from tests.show.test_junit import check


def test_the_course_enters_its_cases() -> None:
    function = find_function(CASES, course.__name__)
    assert function is not None and function.__module__ == "course.grading.summary"


def test_grades_have_a_case_for_each_task() -> None:
    """Not yet and partly are skipped, with the word; a submission that could not be run has every task so."""
    tasks = {"李雷\x00.ipynb": {"env": "done", "loop": "partly"}, "b.zip": {"env": "not_yet", "loop": ""}}
    why: dict[str, Scalar] = {"why": "broken", "step": ""}
    found = (
        Finding("CRS001", Status.GOOD, "CRS001.graded", {"count": 2, "path": "x.csv"}),
        Finding("CRS001", Status.LOOK, "CRS001.trouble", why, Place("b.zip")),
    )
    root = xml.fromstring(junit.render_junit(Report("course", "course_grade", found, facts={"tasks": tasks}), "en"))
    check(root)
    cases = list(root.iter("testcase"))
    told = [(case.get("classname"), case.get("name"), [each.get("message") for each in case]) for case in cases]
    assert told == [
        ("course.李雷\ufffd.ipynb", "env", []),
        ("course.李雷\ufffd.ipynb", "loop", ["[部分完成 / partly]"]),
        ("course.b.zip", "env", ["[未完成 / not yet]"]),
        ("course.b.zip", "loop", ["broken"]),
        ("course.course_grade", "CRS001", []),
    ]
    assert (root.get("failures"), root.get("tests")) == ("0", "5")
