"""A report survives JSON, derives its verdict from its findings, and validates against its published schema."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as some

from ascend_workbook.findings import report as reports
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Edit, Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Listing, Report, Table, join_reports
from tests.conftest import ROOT
from tests.page.reading import read_page, said_on

SCHEMA = json.loads((ROOT / "ascend_workbook" / "findings" / "report.schema.json").read_text())


def finding(status: Status = Status.GOOD, weight: float = 0.0) -> Finding:
    place = Place("a 文件.py", 3, 7)
    return Finding("RUN400", status, "rule.broke", {"rule": "X", "error": "no"}, place, weight, (Edit(0, 1, "b"),))


def sample(*findings: Finding, tier: str = "cpu") -> Report:
    table = Table((Column("operator"), Column("time", "ms")), (("add", 1.5), ("mul", None)))
    chart = Chart("bars", "operator", ("time",), "ms")
    return Report("profiling", "run", findings, table, chart, Listing("code", "+ a\n- b", "diff"), {"n": 1}, tier)


@given(some.lists(some.sampled_from(Status), max_size=6))
def test_the_status_is_the_worst(statuses: list[Status]) -> None:
    made = sample(*(finding(status) for status in statuses))
    assert made.status == (max(statuses) if statuses else Status.NOT_LOOKED)


def test_the_verdict_is_the_heaviest_of_the_worst() -> None:
    light, heavy = finding(Status.FIX, 1), finding(Status.FIX, 9)
    assert sample(light, heavy, finding(Status.GOOD, 99)).headline is heavy


def test_nothing_looked_is_not_clean() -> None:
    assert sample().status is Status.NOT_LOOKED
    assert "not looked" in sample().verdict("en")


@pytest.mark.parametrize("tier", reports.TIERS)
def test_json_keeps_everything(tier: str) -> None:
    made = join_reports("batch", "run", [sample(finding(Status.LOOK), tier=tier), sample(tier=tier)], tier=tier)
    back = Report.from_json(made.to_json())
    assert back == made
    jsonschema.validate(json.loads(made.to_json()), SCHEMA)


def test_faults_on_purpose_and_numerics_of_any_part_are_told() -> None:
    facts = {"simulator": {"numerics": "ascend", "faults": ["softmax@3:nan", "mm:<zero>"], "fallbacks": {}}}
    faulty = replace(sample(finding(), tier="npu-simulated"), facts=facts)
    made = join_reports("batch", "run", [sample(finding()), faulty, faulty], tier="npu-simulated")
    assert made.on_purpose == ["softmax@3:nan", "mm:<zero>"]
    for shown, lang in itertools.product((faulty, made), ("en", "zh")):
        told = shown.circumstances(lang)
        assert len(told) == 4 and "numerics=ascend" in told[1] and told[2].endswith("softmax@3:nan")
        assert all(remark in shown.text(lang) for remark in told)
        assert all(remark in said_on(shown.html(lang), lang).splitlines() for remark in told)
    plain = replace(faulty, facts={"simulator": {"numerics": "cpu", "faults": [], "fallbacks": {}}})
    assert len(plain.circumstances("en")) == 1 and sample(finding()).circumstances("en") == []


def test_operators_of_unknown_dtype_support_are_named_on_every_face() -> None:
    parts = [
        replace(sample(finding(), tier="npu-simulated"), facts={"simulator": {"dtypes_unknown": names}})
        for names in (["aten::sgn"], ["aten::range", "aten::sgn"])
    ]
    made = join_reports("batch", "run", parts, tier="npu-simulated")
    assert made.dtypes_unknown == ["aten::range", "aten::sgn"]
    for lang in ("en", "zh"):
        (remark,) = (one for one in made.circumstances(lang) if "aten::range" in one)
        assert remark in made.text(lang) and remark in said_on(made.html(lang), lang).splitlines()
    assert not any("aten::" in remark for remark in sample(finding(), tier="npu-simulated").circumstances("en"))


def test_the_schema_can_fail() -> None:
    data = json.loads(sample(finding()).to_json())
    for broken in (
        {**data, "status": "GREAT"},
        {**data, "tier": "gpu"},
        {k: v for k, v in data.items() if k != "findings"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)
    assert SCHEMA["properties"]["schema_version"]["const"] == reports.SCHEMA_VERSION


def test_the_simulator_is_named_everywhere() -> None:
    made = sample(finding(), tier="npu-simulated")
    assert made.simulated and json.loads(made.to_json())["simulated"] is True
    first, *others = made.text("en").split("\n")
    assert first.endswith("[simulated NPU]") and "[simulated NPU]" not in "".join(others) + made.verdict("en")
    assert read_page(made.html("en"))["simulated"] is True, "what the tag of the page says"
    for lang, word in (("en", "simulated"), ("zh", "模拟")):
        assert word in said_on(made.html(lang), lang) and word in made.html(lang, page=False)
    assert "simulated" in made.figure("en").axes[0].get_title()
    assert join_reports("batch", "run", [made]).simulated
    assert not sample(finding(), tier="npu").simulated


def test_a_red_report_raises() -> None:
    with pytest.raises(WorkbookError):
        sample(finding(Status.FIX)).or_raise()
    assert sample(finding(Status.LOOK)).or_raise()


@pytest.mark.parametrize("text", ["", "{", '{"schema_version": 99}', "[]"])
def test_a_broken_file_is_one_clear_error(tmp_path, text: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(WorkbookError) as caught:
        reports.load_report(path)
    assert "report" in str(caught.value)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="row 0 has 1 cells for 2 columns"):
        Table((Column("a"), Column("b")), (("x",),))
    with pytest.raises(ValueError, match="chart kind"):
        Chart("pie", "a", ("b",))
    with pytest.raises(ValueError, match="tier"):
        sample(tier="gpu")


def test_a_saved_report_that_lacks_an_argument_of_todays_sentence_is_shown() -> None:
    key = "ACC270.passed"
    args: dict[str, Any] = {
        "inputs": 3,
        "low": 0.1,
        "high": 1.0,
        "layer": "head",
        "input": 0,
        "error": 1e-9,
        "allowed": 0.123,
    }
    said: Any = {"say": key, "args": args}
    table = Table((Column("verdict"),), ((said,),))
    old = Report("precision", "verify", (Finding("ACC270", Status.GOOD, key, args),), table)
    saved = old.to_json()
    again = Report.from_json(re.sub(r',\s*"allowed": 0.123', "", saved))
    assert saved.count('"allowed"') == 2
    for lang in ("en", "zh"):
        assert "head" in again.text(lang) and again.text(lang).count("1e-09") == 2
    assert "allowed -" in again.text("en")


def agreeing(count: int, *others: str) -> Report:
    words = [*["precision.agrees"] * count, *others]
    rows = tuple((number, {"say": word}) for number, word in enumerate(words))
    return Report("precision", "compare", (), Table((Column("order"), Column("judgement")), rows))


def test_many_rows_that_agree_are_counted_in_text() -> None:
    text = agreeing(37, "precision.diverges").text("en")
    assert "37 rows that agree" in text and "diverges" in text and "36 " not in text
    assert "37 rows" not in agreeing(37).text("en", details=True) and "36 " in agreeing(37).text("en", details=True)
    assert "rows that agree" not in agreeing(12, "precision.diverges").text("en")
    assert "37 行一致" in agreeing(37).text("zh")


@pytest.mark.parametrize(("old", "status"), list(zip(("OK", "NOTE", "SKIPPED", "WARN", "FAIL"), Status)))
def test_the_words_of_older_reports_are_read(old: str, status: Status) -> None:
    kept = {**finding(status).to_dict(), "status": old}
    kept.pop("remark", None)
    assert Finding.from_dict(kept) == finding(status) == Finding.from_dict(finding(status).to_dict())
    table = Table((Column("status"),), ((old,), (status.json,)))
    shown = Report("migration", "scan", (finding(status),), table).text("zh").split("\n")
    assert shown[0].startswith(f"{status.word('zh')}  ") and shown[4:6] == [status.word("zh")] * 2
