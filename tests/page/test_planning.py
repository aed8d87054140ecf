"""The planning stage on a page: there only where it was asked for, its answer in ranges, its card with the cure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.findings.sentence import NextStep, Sentence, say
from ascend_workbook.page.answers import answer_questions, find_part
from ascend_workbook.page.first import order_cards
from ascend_workbook.page.render import draw_run, render_report
from tests.page.reading import read_page
from tests.page.recorded import add_plan, unpack_run

PLACE = Place("train.py", 70)
#: What the recorded plan's verdict says: 38.65 GiB and 0.55 to 1.8 beside them, of 30.48.
NUMBERS = {"rank": 0, "cards": 1, "chip": "910B3", "memory": 30.0, "reserved": 20.0, "low": 0.5, "high": 1.5}


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    """A recorded run of four stages with a planning stage that does not fit."""
    return add_plan(unpack_run("good", tmp_path))


def read_run(folder: Path) -> dict[str, Any]:
    return read_page(draw_run(folder, "en").read_text(encoding="utf-8"))


def rehearsal(key: str, status: Status, *tried: Finding, **more: object) -> Report:
    verdict = Finding("PLN500", status, key, {**NUMBERS, **more}, PLACE, weight=200)
    return Report("planning", "rehearse", (verdict, *tried), tier="npu-simulated", answers=("PLN500",))


def answer(report: Report) -> dict[str, Any]:
    return answer_questions({"planning": report}, {}, {})[0]


def test_a_run_without_it_has_neither_tab_nor_answer(tmp_path: Path) -> None:
    data = read_run(unpack_run("good", tmp_path))
    assert [row["stage"] for row in data["answers"]] == ["environment", "migration", "precision", "profiling"]
    assert [row["tab"] for row in data["run"]["stages"]] == ["env", "code", "prec", "perf"]
    assert not any(card["stage"] == "planning" for card in data["cards"]) and "planning" not in data["tabs"]


def test_one_of_an_earlier_start_is_not_of_this_run(planned: Path) -> None:
    """A run keeps which stages it ran: a report that another start left in its folder is none of them."""
    report = load_report(planned / "report.json")
    outcomes = [outcome for outcome in report.facts["outcomes"] if outcome["stage"] != "planning"]
    replace(report, facts={**report.facts, "outcomes": outcomes}).save(planned)
    assert len(read_run(planned)["answers"]) == 4


def test_one_that_was_asked_for_and_has_not_run_is_waited_for(tmp_path: Path) -> None:
    folder = unpack_run("good", tmp_path)
    report = load_report(folder / "report.json")
    replace(report, facts={**report.facts, "commands": {"planning": ["ascend-workbook", "run"]}}).save(folder)
    data = read_run(folder)
    assert [row["status"] for row in data["answers"]] == [0, 0, 0, 2, 1]
    assert any("Plan" in str(card["cause"]) for card in data["cards"])


def test_what_does_not_fit_is_a_card_with_its_line_and_the_cure_that_was_rehearsed(planned: Path) -> None:
    data = read_run(planned)
    (card,) = [card for card in data["cards"] if card["stage"] == "planning"]
    assert data["cards"][0] == card, "nothing else is Fix"
    assert (card["kind"], card["tab"], card["place"]) == ("memory", "planning", "llama_train.py:70")
    assert card["remedy"][0].startswith("it would fit with: activations of the repeated blocks computed again")
    assert card["command"][-2:] == ["--stage", "planning"]
    row = data["answers"][-1]
    assert row["title"] == ["39.2 to 40.4 of 30.48 GiB", "占 30.48 GiB 中的 39.2 至 40.4 GiB"] and row["status"] == 3
    assert row["detail"][0] == "a step 0.7 to 1.5 s (estimated)" and row["step"] == [0.7, 1.5] and row["estimated"]
    assert [part[0] for part in row["memory"]["parts"]][-1] == "fragmentation" and row["memory"]["outside"] == [
        0.55,
        1.8,
    ]


def test_a_machine_that_is_not_ready_comes_before_what_does_not_fit() -> None:
    broken = Report("environment", "x", (Finding("ENV001", Status.FIX, "MIG142.not_shown"),))
    cards = order_cards({"environment": broken, "planning": rehearsal("PLN500.out", Status.FIX, asked=1.0)})
    assert [card.stage for card in cards[:2]] == ["environment", "planning"]


@pytest.mark.parametrize("key", ["fits", "unsure"])
def test_the_remedy_is_the_first_change_that_may_fit(key: str) -> None:
    tried = Finding("PLN507", Status.NOTE, f"PLN507.{key}", {"cure": "--batch-size 4", "reserved": 9.0})
    card = order_cards({"planning": rehearsal("PLN500.out", Status.FIX, tried, asked=1.0)})[0]
    assert card.remedy == Sentence(tried.key, **tried.args) and card.place == "train.py:70"


def test_where_no_change_helps_that_is_said_and_what_then() -> None:
    tried = Finding("PLN507", Status.NOTE, "PLN507.none", {"count": 4})
    card = order_cards({"planning": rehearsal("PLN500.out", Status.FIX, tried, asked=1.0)})[0]
    assert card.detail == Sentence("PLN507.none", count=4) and card.remedy == NextStep("PLN507.none", count=4)


@pytest.mark.parametrize(
    ("report", "title"),
    [
        (rehearsal("PLN500.fits", Status.GOOD), "20.5 to 21.5 of 30 GiB"),
        (rehearsal("PLN500.needs", Status.FIX, asked=1.0, needed=40.0), "40.5 to 41.5 of 30 GiB"),
        (rehearsal("PLN500.failed", Status.FIX, trouble="boom"), "rank 0 did not come to its steps: boom"),
    ],
)
def test_the_answer_counts_what_lies_outside_pytorch_as_a_range(report: Report, title: str) -> None:
    if "failed" in report.findings[0].key:
        report = replace(report, findings=(replace(report.findings[0], args={"rank": 0, "trouble": "boom"}),))
    told = answer(report)["title"]
    assert (told if isinstance(told, str) else told[0]) == title


def test_a_plan_alone_answers_by_formula(planned: Path) -> None:
    plan = find_part(load_report(planned / "planning" / "report.json"), "strategy")
    assert plan is not None
    row = answer(plan)
    assert row["title"][0] == "by formula 47.7 to 60.4 of 60.97 GiB" and row["step"] == [45.0, 110.0]
    assert not row["simulated"] and "memory" not in row


def test_a_page_of_its_own_has_answer_and_card(planned: Path) -> None:
    rehearsed = find_part(load_report(planned / "planning" / "report.json"), "rehearse")
    assert rehearsed is not None
    page = render_report(replace(rehearsed, command=("ascend-workbook", "rehearse", "x.py")), "zh")
    data = read_page(page)
    assert data["tab"] == "planning" and [card["command"][1] for card in data["cards"]] == ["rehearse"]
    assert say("page.question.planning", "zh") in page.split("<noscript>")[1]


def test_the_lines_that_a_rehearsal_names_can_be_read_on_its_page() -> None:
    report = rehearsal("PLN500.out", Status.FIX, asked=1.0)
    assert read_page(render_report(report, "en"))["code"] == []
    kept = replace(report, facts={"sources": {"train.py": {"before": "import torch\n"}}})
    (file,) = read_page(render_report(kept, "en"))["code"]
    assert file["path"] == "train.py" and "".join(file["before"][0][1::2]) == "import torch"
    assert [row["line"] for row in file["findings"]] == [PLACE.line]


def test_a_range_has_its_unit_in_the_heading(planned: Path) -> None:
    data = read_run(planned)
    plan = next(part for part in data["tabs"]["planning"]["parts"] if part["id"] == "strategy")
    titles = {column["name"]: column["title"] for column in plan["table"]["columns"]}
    assert titles["strategy_memory"] == ["Memory (GiB)", "内存 (GiB)"] and titles["strategy_step"][0] == "Step (s)"
