"""Reports and the index of a run opened offline, in both themes and languages; and that the check can fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Callable

import pytest

from ascend_workbook.batch import workbook
from ascend_workbook.batch.execute import FAILED, GOOD, Outcome
from ascend_workbook.batch.plan.model import Plan
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.diagnose import explain
from ascend_workbook.findings.report import Chart, Report, join_reports
from ascend_workbook.migration.scan import scan
from ascend_workbook.precision.views.factors import tolerances
from ascend_workbook.profiling import analyse
from helpers import assess
from tests.batch.results.made import ended, item
from tests.browser.pages import faults
from tests.browser.test_boxes import OOM, SCRIPT, TRACE, comparison

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def scanned(folder: Path, lang: str) -> str:
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    return scan(folder).html(lang)


def assessed(folder: Path, lang: str) -> str:
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    return assess(folder).html(lang)


def compared(folder: Path, lang: str) -> str:
    report = comparison()
    chart = Chart("errors", "order", ("error_out",), mark=1, limit="allowed")
    drawn = Report("precision", "compare", report.findings, report.table, chart)
    return join_reports("precision", "align", [drawn, tolerances(report)]).html(lang)


def analysed(folder: Path, lang: str) -> str:
    return analyse(TRACE).html(lang)


def explained(folder: Path, lang: str) -> str:
    return explain(OOM).html(lang)


def run_index(folder: Path, lang: str) -> str:
    """One notebook that ran, one that failed with an error we know, one that was never begun."""
    analyse(TRACE).save(folder / "profiling")
    outcomes = [Outcome("profiling", GOOD, "k", 12.0), Outcome("precision", FAILED, "k", 3.0, 4, OOM)]
    workbook._publish_run("演示", folder, ("migration", "precision", "profiling"), lang, outcomes, tier="npu")
    return (folder / "index.html").read_text(encoding="utf-8")


def plan_index(folder: Path, lang: str) -> str:
    """Runs that ended in every way there is."""
    done = {how: ended(folder, how, how) for how in ("good", "red", "oom", "error", "died", "timed_out", "not_run")}
    publish_results(Plan("批量", tuple(map(item, done))), done, folder, lang, finished=True)
    return (folder / "index.html").read_text(encoding="utf-8")


PAGES = (scanned, assessed, compared, analysed, explained, run_index, plan_index)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("made", PAGES, ids=lambda made: str(made.__name__))
def test_it_opens_offline(
    made: Callable[[Path, str], str], lang: str, dark: bool, chromium: Browser, pictures: Path, tmp_path: Path
) -> None:
    file = tmp_path / "页面.html"
    file.write_text(made(tmp_path, lang), encoding="utf-8")
    assert faults(chromium, file, dark, pictures, f"{made.__name__}-{lang}") == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<img src="https://example.invalid/a.png">', "asked for https://example.invalid/a.png"),
        ("<script>console.error('bad')</script>", "the console says bad"),
        ("<script>nothing.here()</script>", "the console says nothing is not defined"),
        ("<p>\U00031350</p>", "no font has \U00031350"),
        ("<p style='width: 1500px'>x</p>", "pixels wider than the window"),
        ("<p style='color: #888; background: #777'>faint</p>", "hardly to be read: P"),
    ],
)
def test_the_check_can_fail(body: str, said: str, chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html><html><meta charset=utf-8><body>{body}</body></html>", encoding="utf-8")
    assert any(said in fault for fault in faults(chromium, file, False, tmp_path, "bad"))


def test_a_good_page_has_no_fault(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<!doctype html><html><meta charset=utf-8><body><p>好，good</p></body></html>", encoding="utf-8")
    assert faults(chromium, file, False, tmp_path, "good") == []
