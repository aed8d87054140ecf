"""What a run is held against, on its page and its plan's: the reference's card, the acceptance with its conditions."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ascend_workbook.batch import accept
from ascend_workbook.batch.acceptance import judge_as_it_stands
from ascend_workbook.batch.reference.compare import Held, make_report
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.page.render import draw_run
from tests.batch.results.made import night
from tests.browser import axe
from tests.browser.test_cockpit import SIZES, TWICE, opened, show
from tests.page.recorded import unpack_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["opened"]
COMMAND = ("ascend-workbook", "run", "plan.yaml", "--reference", "references", "--only", "good")
DIFF = "--- reference\n+++ this run\n@@ -1,2 +1,2 @@\n step 1\n-loss 0.5012\n+loss 0.5034 <b>\n" + " more\n" * 40


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A plan of two runs, of which one misses a condition, and a good run that differs from its reference."""
    folder = tmp_path_factory.mktemp("plan") / "night"
    plan, done = night(folder, {"resnet_digits-npu": "good", "llama-npu-steps=9": "red"})
    publish_results(plan, done, folder, "en", finished=True)
    failed = Finding("MIG140", Status.FIX, "RUN400.stopped", {"stages": 4})
    Report("batch", "dry_run", (failed,), tier="npu").save(folder / "llama-npu-steps=9" / "migration", name="dry_run")
    accept(folder, lang="en")
    run = unpack_run("good", tmp_path_factory.mktemp("runs"))
    judge_as_it_stands(run)
    cell = {"cell": 7, "outcome": "failed", "diff": DIFF, "said": ""}
    figures = {"compared": 3, "outputs": 4}
    stages = [
        Held("precision", "differs", {**figures, "cells": [7]}, 3, 4, (cell,)),
        Held("profiling", "same", figures),
    ]
    replace(make_report(stages, "good"), command=COMMAND).save(run, name="reference")
    return {"plan": folder / "index.html", "run": draw_run(run, "en")}


PLACES = (("plan", "plan"), ("run", "overview"), ("run", "run"))


def open_folds(page: Page) -> None:
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.wait_for_timeout(400)


@axe.needed
@pytest.mark.parametrize(("lang", "theme"), list(itertools.product(["en", "zh"], ["light", "dark"])))
def test_axe_finds_nothing_and_no_text_is_told_twice(
    pages: dict[str, Path], opened: Any, pictures: Path, lang: str, theme: str
) -> None:
    for name, tab in PLACES:
        page = opened(pages[name], tab, lang=lang, theme=theme)
        open_folds(page)
        assert axe.find_violations(page) == [], (name, tab)
        assert page.evaluate(TWICE) == [], (name, tab)
        assert page.asked == [] and page.wrong == []
        page.screenshot(path=pictures / f"verdict_{name}_{tab}_{lang}_{theme}.png", full_page=True)


@pytest.mark.parametrize("width", SIZES)
def test_no_page_is_wider_than_its_window(pages: dict[str, Path], opened: Any, width: int) -> None:
    for name, tab in PLACES:
        page = opened(pages[name], tab, width=width)
        open_folds(page)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_a_run_that_differs_says_where_what_and_the_next_step_on_the_first_screen(
    pages: dict[str, Path], opened: Any
) -> None:
    page = opened(pages["run"])
    boxes = [one.bounding_box() for one in page.locator(".first, .answer").all()]
    assert len(boxes) == 5 and all(box and box["y"] + box["height"] <= 800 for box in boxes), boxes
    first = page.locator(".first")
    assert "code cells 7 differ" in first.inner_text() and "--bless" in first.inner_text()
    assert first.locator("pre .add").last.inner_text() == "+loss 0.5034 <b>", "as text, never as markup"
    assert first.locator(".command code").inner_text() == " ".join(COMMAND)
    first.locator("a.button").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.documentElement.dataset.ready === 'run'")
    assert page.locator("details[open] h2").filter(has_text="Reference").count() == 1, "the whole difference"


def test_a_plans_page_tells_which_conditions_are_missed_by_which_run_and_leads_there(
    pages: dict[str, Path], opened: Any
) -> None:
    page = opened(pages["plan"], "plan")
    table = page.locator("details table").nth(1)
    rows = table.locator("tbody tr").all_inner_texts()
    assert "llama-npu-steps=9" in rows[0] and "Fix" in rows[0] and "dry run" in rows[0]
    assert all("Fix" not in row for row in rows[1:]) and len(rows) == 20
    page.locator("details table a").nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#tab-run")
    show(page, pages["plan"].parent / "llama-npu-steps=9" / "index.html", "run")
    fold = page.locator("details").filter(has=page.locator("h2", has_text="Acceptance"))
    assert fold.locator("tbody tr").filter(has_text="Fix").count() == 1, "and the run's own page has the same"
