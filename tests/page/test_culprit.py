"""The operator that parts two runs on a page: its code in colours, problems in words, nothing hostile as markup."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.page.render import render_report
from ascend_workbook.page.reports import describe_report
from tests.page.test_render import HOSTILE

CULPRIT: dict[str, Any] = {
    "operator": "Functional.relu.0.forward",
    "place": "train.py:2",
    "source": {"first": 1, "line": 2, "lines": ["# 训练", "return f(x)  # y"]},
    "tensors": [
        {"slot": "output.0", "dtype": "float32", "shape": [2], "error": None, "problem": "shape", "why": "unpaired"},
        {"slot": "input.0", "dtype": "float32", "shape": [2], "error": 0.0, "why": "unsaved"},
    ],
}


def report_of(culprit: object) -> Report:
    finding = Finding("ACC230", Status.GOOD, "ACC230.same_statistics", {"count": 1, "left": 0})
    table = Table((Column("order"), Column("operator")), ((0, "Functional.relu.0.forward"),))
    return Report("precision", "compare", (finding,), table, facts={"culprit": culprit, "row": 0})


def described(culprit: object) -> Any:
    return describe_report(report_of(culprit))["facts"]["culprit"]


def test_its_lines_are_coloured_and_its_problems_said() -> None:
    shown = described(CULPRIT)
    assert shown["source"]["lines"] == [["c", "# 训练"], ["k", "return", "", " f(x)  ", "c", "# y"]]
    assert shown["tensors"][0]["problem"] == ["other shape", "形状不同"]
    assert "problem" not in shown["tensors"][1] and shown["source"]["line"] == 2


def test_a_problem_of_a_later_version_is_shown_as_it_is() -> None:
    later = {**CULPRIT, "tensors": [{**CULPRIT["tensors"][0], "problem": "folded"}]}
    assert described(later)["tensors"][0]["problem"] == "folded"


@pytest.mark.parametrize("culprit", [None, {}, {"operator": "x"}, "damaged"])
def test_a_report_without_it_or_with_another_is_drawn(culprit: object) -> None:
    assert "compare" in json.dumps(describe_report(report_of(culprit)))
    assert render_report(report_of(culprit), "en")


def test_what_is_hostile_in_it_is_no_markup() -> None:
    bad = {**CULPRIT, "operator": HOSTILE, "place": HOSTILE, "source": {"first": 1, "line": 1, "lines": [HOSTILE]}}
    bad["tensors"] = [{**CULPRIT["tensors"][1], "slot": HOSTILE, "dtype": HOSTILE}]
    page = render_report(report_of(bad), "en")
    assert page.count("<script") == 2 + page.count('<script type="text/plain"') and "<img" not in page
