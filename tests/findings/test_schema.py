"""Schema 2 of reports: cause, command, remedy; files of schema 1 say what they said."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Report, Table, join_reports, load_report
from ascend_workbook.findings.sentence import Sentence, restore_sentence
from tests.conftest import ROOT
from tests.findings.test_report import SCHEMA

OLD_WORDS = ("OK", "NOTE", "SKIPPED", "WARN", "FAIL")
OLDER = sorted((ROOT / "tests" / "data" / "reports").glob("*.schema1.json"))

TEXTS = some.text(max_size=12)
PLACES = some.none() | some.builds(Place, TEXTS.filter(bool), some.integers(0, 99), some.integers(0, 99))
SCALARS = TEXTS | some.integers(-9, 9) | some.booleans() | some.none() | some.floats(allow_nan=False)
SENTENCES = some.sampled_from([Sentence("RUN400.not_run"), Sentence("rule.broke", rule="X", error="no")])
ARGUMENTS = some.fixed_dictionaries({"rule": SCALARS | SENTENCES, "error": SCALARS | some.lists(SCALARS | SENTENCES)})
WEIGHTS = some.floats(0, 9)
FINDINGS = some.builds(
    Finding,
    some.just("RUN400"),
    some.sampled_from(Status),
    some.just("rule.broke"),
    ARGUMENTS,
    PLACES,
    some.floats(0, 9),
)
TABLES = some.none() | some.builds(
    lambda rows: Table((Column("status"), Column("time", "ms")), tuple(rows)),
    some.lists(some.tuples(some.sampled_from([status.json for status in Status]), SCALARS), max_size=3),
)
SINGLE = some.builds(
    Report,
    some.sampled_from(["migration", "batch"]),
    some.just("scan"),
    some.lists(FINDINGS, max_size=4).map(tuple),
    TABLES,
    facts=some.dictionaries(TEXTS.filter(lambda name: name != "cause"), SCALARS, max_size=3),
    tier=some.sampled_from(["", "npu", "npu-simulated"]),
    command=some.lists(TEXTS, max_size=3).map(tuple),
    blocked_by=some.sampled_from(["", "migration"]),
)
REPORTS = SINGLE | some.builds(lambda parts: join_reports("batch", "run", parts), some.lists(SINGLE, max_size=3))


@settings(max_examples=40, deadline=None)
@given(REPORTS)
def test_any_report_survives_json(made: Report) -> None:
    written = json.loads(made.to_json())
    jsonschema.validate(written, SCHEMA)
    back = Report.from_json(made.to_json())
    assert back == made and back.to_dict() == made.to_dict()


@settings(deadline=None)
@given(REPORTS)
def test_a_report_of_schema_1_reads_as_the_same(made: Report) -> None:
    back = Report.from_dict(as_schema_1(json.loads(made.to_json())))
    today = Report.from_dict({**json.loads(made.to_json())})
    assert back.status == made.status and [back.text(lang) for lang in ("en", "zh")] == [
        today.text(lang) for lang in ("en", "zh")
    ]
    assert [finding.status for finding in back.findings] == [finding.status for finding in made.findings]


def as_schema_1(data: dict[str, Any]) -> dict[str, Any]:
    """Take out what schema 2 brought, and say statuses in the older words."""
    data = copy.deepcopy(data)
    for name in ("command", "cause", "blocked_by"):
        del data[name]
    data["schema_version"] = 1
    data["status"] = OLD_WORDS[Status.from_json(data["status"])]
    for finding in data["findings"]:
        finding["status"] = OLD_WORDS[Status.from_json(finding["status"], remark=finding.pop("remark", False))]
        del finding["remedy"]
    if data["table"]:
        at = [column["name"] for column in data["table"]["columns"]].index("status") if data["table"]["columns"] else 0
        for row in data["table"]["rows"]:
            row[at] = OLD_WORDS[Status.from_json(row[at])]
    data["parts"] = [as_schema_1(part) for part in data["parts"]]
    return data


def test_a_report_of_each_stage_was_kept() -> None:
    assert [path.name.partition(".")[0] for path in OLDER] == [
        "environment",
        "migration",
        "precision",
        "profiling",
        "run",
    ]


@pytest.mark.parametrize("path", OLDER, ids=lambda path: path.name.partition(".")[0])
def test_a_kept_report_of_schema_1_opens(path: Path) -> None:
    written = json.loads(path.read_text(encoding="utf-8"))
    report = load_report(path)
    assert report.status is Status.from_json(written["status"], remark=written["status"] == "NOTE")
    for old, part in zip(written["parts"], report.parts):
        assert part.status is Status.from_json(old["status"], remark=old["status"] == "NOTE")
    said = report.text("en") + report.text("zh")
    assert "None" not in said and not [word for word in OLD_WORDS if f"{word} " in said]
    assert "[simulated NPU]" in report.text("en").split("\n")[0]
    today = json.loads(report.to_json())
    jsonschema.validate(today, SCHEMA)
    assert today["schema_version"] == 2 and Report.from_dict(today) == report


def finding(status: Status, key: str = "rule.broke", **more: Any) -> Finding:
    return Finding("RUN400", status, key, {"rule": "X", "error": "no"}, **more)


def test_the_cause_is_what_a_headline_quotes() -> None:
    inner = finding(Status.FIX, place=Place("train.py", 7, 3))
    outer = Finding("ENV000", Status.FIX, "ENV000.blocked", {"count": 1, "first": Sentence(inner.key, **inner.args)})
    outer = replace(outer, weight=9.0)
    expected = {"key": "rule.broke", "args": inner.args, "place": {"path": "train.py", "line": 7, "column": 3}}
    whole = Report("environment", "machine_check", (outer, finding(Status.LOOK), inner))
    assert whole.cause == expected
    assert join_reports("batch", "run", [Report("migration", "scan", (finding(Status.GOOD),)), whole]).cause == expected
    assert Report("environment", "machine_check", (outer,)).cause == outer.cause
    assert (
        Report("migration", "scan", (finding(Status.LOOK),)).cause is None and Report("migration", "scan").cause is None
    )


def test_the_next_step_stands_beside_the_message() -> None:
    step = Finding("RUN400", Status.FIX, "RUN400.stopped").to_dict()["remedy"]
    assert step == {"en": "The same command goes on from there.", "zh": "用同一命令可从此处继续。"}
    assert Finding("RUN400", Status.GOOD, "RUN400.not_run").to_dict()["remedy"] == {"en": "", "zh": ""}


def test_the_arguments_and_sentences_of_older_reports_are_todays() -> None:
    rest = restore_sentence({"say": "ENV000.rest", "args": {"WARN": 2, "SKIPPED": 1}})
    assert rest.text("en") == "2 to look at, 1 not looked at"
    assert restore_sentence({"say": "run.red"}).text("zh") == "待修"
    args = {"verdict": {"say": "RUN400.not_run"}}
    kept = {**finding(Status.GOOD).to_dict(), "key": "RUN400.reused", "args": args, "status": "OK"}
    assert Finding.from_dict(kept).message("en") == "not run yet"


def test_simulated_is_said_once() -> None:
    parts = [Report("migration", "scan", (finding(Status.LOOK),), tier="npu-simulated") for _ in range(2)]
    whole = join_reports("migration", "migration", parts, tier="npu-simulated")
    assert whole.text("en").count("[simulated NPU]") == 1 and whole.text("zh").count("[模拟 NPU]") == 1
