"""Unsupported and manual places of public repositories, reduced to the shortest code that does the same."""

from __future__ import annotations

import json

import pytest

from ascend_workbook.migration.reading.source import parse_text
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.scan import scan_source
from tests.conftest import ROOT

CASES = json.loads((ROOT / "tests" / "data" / "migration" / "cases.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['repository']}/{case['path']}:{case['line']}")
def test_the_class_is_the_one_judged_by_hand(case: dict[str, str]) -> None:
    found = scan_source(parse_text(case["code"]), strict=True)
    assert case["class"] in {class_of(finding) for finding in found}


def test_there_are_many_of_several_repositories() -> None:
    assert len(CASES) >= 40 and len({case["repository"] for case in CASES}) >= 8
    assert len({(case["repository"], case["path"], case["line"]) for case in CASES}) == len(CASES)
