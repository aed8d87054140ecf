"""The page of a run that goes on: it takes what the run wrote since, keeps the reader's place, and stops at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ascend_workbook.batch.execute import Outcome
from ascend_workbook.batch.workbook import summarize_run
from ascend_workbook.findings.report import Report
from ascend_workbook.page.render import draw_run
from tests.browser import screen
from tests.browser.test_cockpit import show
from tests.page.reading import read_page
from tests.page.recorded import unpack_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STAGES = ("environment", "migration", "precision", "profiling")
#: Milliseconds between two loadings of the page, and some more.
EVERY, LATER = 5_000, 3_000
#: Marks the loaded page; a new one has no mark.
MARK = "window.marked = true"


def write_run(folder: Path, ended: int, *, running: bool, created: str = "") -> Path:
    """Write report and page of a run, of whose stages so many have ended."""
    outcomes = [Outcome(stage, "good", "k", 9.0, 3) for stage in STAGES[:ended]]
    report = summarize_run("live", folder, outcomes, STAGES, "npu-simulated")
    report = replace(report, facts={**report.facts, "running": running}, created=created or report.created)
    (folder / "report.json").write_text(report.to_json(), encoding="utf-8")
    return draw_run(folder, "en")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = unpack_run("good", tmp_path)
    (made / "acceptance.json").unlink()
    return made


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 600})
    opened = context.new_page()
    opened.set_default_timeout(screen.SECONDS * 1000)
    yield opened
    context.close()


def wait_for_new(page: Page) -> None:
    """Wait until the page has been loaded anew, and is drawn."""
    page.wait_for_function("!window.marked && document.documentElement.dataset.ready", timeout=60_000)
    page.wait_for_timeout(500)
    page.evaluate(MARK)


def test_a_page_takes_what_the_run_wrote_and_keeps_tab_focus_folds_and_place(folder: Path, page: Page) -> None:
    show(page, write_run(folder, 1, running=True), "env")
    page.evaluate(MARK)
    assert page.locator("header .tag").filter(has_text="running").count() == 1
    folds = page.locator("#main details")
    closed = [number for number in range(folds.count()) if folds.nth(number).get_attribute("open") is None]
    assert len(closed) > 2
    chosen = folds.nth(closed[-1])
    title = chosen.locator("summary h2").first.inner_text()
    chosen.locator("summary").first.click()
    opened = sum(fold.get_attribute("open") is not None for fold in folds.all())
    chosen.locator("summary").first.focus()
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_timeout(300)
    place = page.evaluate("window.scrollY")
    assert place > 300
    # the run goes on: its next stage has ended, and the environment's report has one part more, above the others
    path = folder / "environment" / "report.json"
    report = Report.from_json(path.read_text(encoding="utf-8"))
    more = replace(report.parts[-1], verb="page", parts=())
    path.write_text(replace(report, parts=(more, *report.parts)).to_json(), encoding="utf-8")
    write_run(folder, 2, running=True)
    wait_for_new(page)
    assert page.locator("#main summary h2").first.inner_text() == "Page", "what is new is there, above the rest"
    assert page.evaluate("location.hash") == "#env" and page.get_attribute("#tab-env", "aria-selected") == "true"
    open_now = [fold.locator("summary h2").first.inner_text() for fold in page.locator("#main details[open]").all()]
    assert title in open_now and len(open_now) >= opened
    assert page.evaluate("document.activeElement.querySelector('h2').innerText") == title
    assert abs(page.evaluate("window.scrollY") - place) < 150


def test_the_overview_takes_the_new_answers_and_stops_when_the_run_is_over(folder: Path, page: Page) -> None:
    show(page, write_run(folder, 1, running=True), "overview")
    page.evaluate(MARK)
    answers = page.locator(".answer")
    assert "not run yet" in answers.nth(1).inner_text() and "Not run yet" in page.locator(".first").inner_text()
    answers.nth(2).focus()
    write_run(folder, 3, running=True)
    wait_for_new(page)
    assert "places need no hand" in answers.nth(1).inner_text() and "comparisons agree" in answers.nth(2).inner_text()
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#prec"
    write_run(folder, 4, running=False)
    wait_for_new(page)
    assert page.locator("header .tag").filter(has_text="running").count() == 0
    assert "a step" in answers.nth(3).inner_text()
    write_run(folder, 1, running=True)  # another run of the name; this page is of one that is over
    page.wait_for_timeout(EVERY + LATER)
    assert page.evaluate("window.marked") is True


def test_the_code_keeps_its_lines_its_filters_and_its_place(folder: Path, page: Page) -> None:
    """Also where the address names a line, which is gone to when the page is first opened."""
    path = write_run(folder, 2, running=True)
    file = next(one for one in read_page(path.read_text(encoding="utf-8"))["code"] if one["findings"])
    show(page, path, f"code/{file['path']}:{file['findings'][0]['line']}")
    page.evaluate(MARK)
    page.locator(".fold").first.click()
    page.locator(".filters .pill").first.click()
    page.locator("#columns").click()
    lines, folds = page.locator(".lines"), page.locator(".fold").count()
    page.wait_for_timeout(300)
    lines.evaluate("box => { box.scrollTop = 333; }")
    page.locator("#columns").focus()
    write_run(folder, 3, running=True)
    wait_for_new(page)
    assert (page.locator(".fold").count(), lines.evaluate("box => box.scrollTop")) == (folds, 333)
    assert page.locator(".filters .pill").first.get_attribute("aria-pressed") == "false"
    assert page.locator(".lines.single").count() == 1 and page.evaluate("document.activeElement.id") == "columns"


def test_a_reader_who_types_or_marks_a_text_is_left_alone(folder: Path, page: Page) -> None:
    show(page, write_run(folder, 4, running=True), "prec")
    page.evaluate(MARK)
    page.locator(".bar input[type=search]").first.fill("conv")
    page.wait_for_timeout(EVERY + LATER)
    assert page.evaluate("window.marked") is True and page.locator(".bar input").first.input_value() == "conv"
    page.evaluate("document.activeElement.blur()")
    wait_for_new(page)


def test_a_page_that_nobody_has_written_for_hours_is_not_loaded_anew(folder: Path, page: Page) -> None:
    old = datetime.fromtimestamp(datetime.now(timezone.utc).timestamp() - 3 * 3600, timezone.utc).isoformat()
    show(page, write_run(folder, 1, running=True, created=old), "overview")
    page.evaluate(MARK)
    page.wait_for_timeout(EVERY + LATER)
    assert page.evaluate("window.marked") is True
