"""The advisor's findings are folded in with its name; where it fails or is absent, that is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report, join_reports
from ascend_workbook.profiling import advisor, analyse
from tests.profiling.conftest import DATA

HEADS = ["category", "description", "suggestion", "problem count", "total_time(us)", "time ratio", "income(us)"]
ROWS = [
    ["Overall Summary", "Model", "", "", "", "", ""],
    ["Affinity API", "found\n 1 api", "1. replace", "", "", "", ""],
    ["AICPU", "slow", "cast", 1, 9, "", 1500.0],
]


def program(folder: Path, printed: str, code: str = "") -> str:
    """A stand-in for the program that prints this, and writes into the folder it is told to."""
    path = folder / "msprof-analyze"
    path.write_text(f"#!/bin/sh\n{code}\ntouch \"$6/written\"\ncat <<'END'\nnoise\n{printed}\nEND\n")
    path.chmod(0o755)
    return str(path)


def asked(folder: Path, printed: str, code: str = "") -> Report:
    answer = join_reports("profiling", "analyse", [Report("profiling", "time_by_kind")])
    return advisor.add_advisor_part(answer, folder, "en", program=program(folder, printed, code))


def success(rows: list[list[object]]) -> str:
    return json.dumps({"status": "success", "message": {"problems": {"headers": HEADS, "data": rows}}})


def test_its_findings_carry_its_name_and_a_bound_only_where_it_gives_one(tmp_path: Path) -> None:
    report = asked(tmp_path, success(ROWS))
    part = report.parts[-1]
    assert [(one.key, one.args["gain_ms"]) for one in part.findings] == [("PRF329.found", None), ("PRF329.bound", 1.5)]
    assert part.findings[0].message("en").startswith("msprof-analyze, Affinity API: found 1 api (what it saves is not")
    assert report.table is not None and len(report.table.rows) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["msprof-analyze"]


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("Do analysis error", "no result"),
        (json.dumps({"status": "error", "message": "argument of type"}), "argument of type"),
        (json.dumps({"status": "success", "message": {"other": 1}}), "no problems among"),
        (json.dumps({"status": "success", "message": {"problems": {"data": [["short"]]}}}), "no problems among"),
        ("{broken", "no result"),
    ],
)
def test_it_ends_with_0_though_it_failed(tmp_path: Path, printed: str, said: str) -> None:
    part = asked(tmp_path, printed).parts[-1]
    assert part.status is Status.NOT_LOOKED
    assert said in part.verdict("en")


def test_its_chinese_answer_is_read_too(tmp_path: Path) -> None:
    rows = [["整网耗时分析", "", "", "", "", "", ""], ["亲和API", "发现 1 个", "替换", "", "", "", ""]]
    answer = json.dumps({"status": "success", "message": {"问题综述": {"headers": [], "data": rows}}})
    assert [one.args["category"] for one in asked(tmp_path, answer).parts[-1].findings] == ["亲和API"]


def test_nothing_found_is_said(tmp_path: Path) -> None:
    assert asked(tmp_path, success(ROWS[:1])).parts[-1].findings[0].key == "PRF329.nothing"


def test_it_has_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advisor, "SECONDS", 0.2)
    assert asked(tmp_path, "", "exec sleep 5").parts[-1].findings[0].key == "PRF329.late"


def test_where_it_is_absent_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advisor, "PROGRAM", "no-such-program")
    report = analyse(DATA / "timeline_ascend_pt", advisor=True)
    assert report.parts[-1].findings[0].key == "PRF329.absent"
    assert "pip install -c held.txt msprof-analyze" in report.text("en")
