"""The page of a run in a real browser: what the first screen answers, sizes, keys, links, and what axe finds.

The runs are recorded ones (tests/page/recorded.py). Every bar is a number of the test; none is a time alone: the ready
time of 10,000 rows is told beside that of a plain table of the same rows.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ascend_workbook.findings.report import load_report
from ascend_workbook.page.render import draw_run
from tests.browser import axe, screen
from tests.page.reading import read_page
from tests.page.recorded import NAMES, add_plan, unpack_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TABS = ("overview", "env", "code", "prec", "perf", "run")
SIZES = (1280, 800, 400)
LARGEST = 1_500_000
#: Long texts that are seen twice; a finding's line of code may be.
TWICE = """() => {
  const seen = new Map();
  for (const one of document.querySelectorAll('#app *')) {
    if (one.closest('.lines, pre, .command, script, style, .hidden') || !one.checkVisibility()) continue;
    const text = [...one.childNodes].filter(each => each.nodeType === 3).map(each => each.textContent).join('').trim();
    if (text.length >= 45) seen.set(text, (seen.get(text) ?? 0) + 1);
  }
  return [...seen].filter(([, count]) => count > 1).map(([text]) => text);
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return {name: draw_run(unpack_run(name, folder), "en") for name in NAMES}


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Any]:
    """Opens a page at a tab, in a language, theme and width; what it asked of a network is kept."""
    contexts = []

    def open_page(
        path: Path, tab: str = "overview", *, lang: str = "en", theme: str = "light", width: int = 1280
    ) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(screen.SECONDS * 1000)
        page.asked, page.wrong = [], []
        page.on("request", lambda one: page.asked.append(one.url) if not one.url.startswith(screen.INSIDE) else None)
        page.on("pageerror", lambda one: page.wrong.append(str(one)))
        page.on("console", lambda one: page.wrong.append(one.text) if one.type == "error" else None)
        page.add_init_script(
            f"try {{ localStorage.setItem('ascend-workbook.lang', '{int(lang == 'zh')}') }} catch {{ }}"
        )
        show(page, path, tab)
        return page

    yield open_page
    for context in contexts:
        context.close()


def show(page: Page, path: Path, tab: str) -> None:
    page.goto("about:blank")
    page.goto(f"{path.as_uri()}#{tab}")
    page.wait_for_function(f"document.documentElement.dataset.ready === '{tab.partition('/')[0]}'", timeout=60_000)
    page.wait_for_timeout(150)  # what stands in promises of its own: an excerpt, a table


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_five_answers_are_on_the_first_screen(
    pages: dict[str, Path], opened: Any, pictures: Path, name: str, lang: str
) -> None:
    page = opened(pages[name], lang=lang)
    boxes = [one.bounding_box() for one in page.locator(".first, .answer").all()]
    assert len(boxes) == 5 and all(box and box["y"] + box["height"] <= 800 for box in boxes), boxes
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    statuses = page.locator(".answer .chip").all_inner_texts()
    assert len(statuses) == 4 and all(text.strip() for text in statuses)
    page.screenshot(path=pictures / f"cockpit_{name}_{lang}.png")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_asked_and_nothing_goes_wrong(pages: dict[str, Path], opened: Any, name: str) -> None:
    assert pages[name].stat().st_size <= LARGEST
    page = opened(pages[name])
    for tab in TABS:
        show(page, pages[name], tab)
    assert page.asked == [] and page.wrong == []


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_no_page_is_wider_than_its_window(pages: dict[str, Path], opened: Any, name: str, width: int) -> None:
    page = opened(pages[name], width=width)
    for tab in TABS:
        show(page, pages[name], tab)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, (tab, over)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_no_long_text_is_told_twice_on_a_tab(pages: dict[str, Path], opened: Any, name: str, lang: str) -> None:
    page = opened(pages[name], lang=lang)
    for tab in TABS:
        show(page, pages[name], tab)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.wait_for_timeout(300)
        assert page.evaluate(TWICE) == [], tab


@axe.needed
@pytest.mark.parametrize(("lang", "theme"), list(itertools.product(["en", "zh"], ["light", "dark"])))
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing(pages: dict[str, Path], opened: Any, name: str, lang: str, theme: str) -> None:
    page = opened(pages[name], lang=lang, theme=theme)
    for tab in TABS:
        show(page, pages[name], tab)
        assert axe.find_violations(page) == [], tab


@pytest.mark.parametrize("name", NAMES)
def test_every_finding_with_a_line_links_to_it_in_view_and_marked(
    pages: dict[str, Path], opened: Any, name: str
) -> None:
    data = read_page(pages[name].read_text(encoding="utf-8"))
    files = {file["path"]: file for file in data["code"]}
    placed = [(path, finding) for path, file in files.items() for finding in file["findings"]]
    assert placed and all(files[path].get("before") for path, _ in placed)
    page = opened(pages[name], "code")
    links = page.locator(".findings a.place").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert len(links) == len(placed)
    for link in sorted(set(links)):
        show(page, pages[name], link[1:])
        target = page.locator(".row.target").first
        box = target.bounding_box()
        assert box and 0 <= box["y"] <= 800, link
        assert target.locator(".no").first.inner_text() == link.rpartition(":")[2]


def test_tabs_and_controls_are_worked_by_keys_and_keep_the_focus(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["fault"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#tab-overview").focus()
    for key, tab in (
        ("ArrowRight", "env"),
        ("ArrowRight", "code"),
        ("End", "run"),
        ("Home", "overview"),
        ("ArrowLeft", "run"),
    ):
        page.keyboard.press(key)
        page.wait_for_function(f"document.activeElement?.id === 'tab-{tab}'", timeout=20_000)
        assert page.get_attribute(f"#tab-{tab}", "aria-selected") == "true"
    for name in ("language", "theme"):
        page.locator(f"#{name}").focus()
        page.keyboard.press("Enter")
        page.wait_for_function(f"document.activeElement?.id === '{name}'", timeout=20_000)
    assert page.get_attribute("html", "lang") == "zh-CN" and page.get_attribute("html", "data-theme") == "dark"


def test_the_barcode_is_moved_by_keys_and_the_table_follows(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["fault"], "prec")
    code = page.locator("canvas.barcode").first
    at = int(code.get_attribute("aria-valuenow"))
    assert "conv2d.2" in code.get_attribute("aria-valuetext"), "it opens at the culprit"
    assert page.locator(".tabulator-row.mark").first.is_visible(), "and so does the table"
    code.focus()
    page.keyboard.press("ArrowRight")
    assert int(code.get_attribute("aria-valuenow")) == at + 1
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    last = code.get_attribute("aria-valuenow")
    assert page.locator(".tabulator-row").filter(has_text=last).count() > 0


def test_a_table_is_sorted_and_filtered_by_keys(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["fault"], "prec")
    head = page.locator('.tabulator-col[tabulator-field="error_out"]').first
    head.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    page.locator(".bar input[type=search]").first.fill("batch_norm")
    page.wait_for_timeout(200)
    count, whole = page.locator(".bar output").first.inner_text().split(" / ")
    assert 0 < int(count) < int(whole)


def enlarge(folder: Path, rows: int) -> None:
    """Make a recorded run's comparison as long as asked, each error another."""
    path, numbers = folder / "precision" / "report.json", random.Random(7)
    content = json.loads(path.read_text(encoding="utf-8"))
    (folder / "precision" / "comparison.json").unlink(missing_ok=True)
    for part in content["parts"]:
        if part["verb"] != "divergence":
            continue
        names = [column["name"] for column in part["table"]["columns"]]
        old, new = part["table"]["rows"], []
        for number in range(rows):
            row = list(old[number % len(old)])
            row[names.index("order")], row[names.index("step")] = number, number // 600
            row[names.index("operator")] = f"Functional.conv2d.{number}.forward"
            for name in ("error_in", "error_out", "own_error", "max_diff", "mean_diff", "cosine"):
                value = row[names.index(name)]
                row[names.index(name)] = value * numbers.uniform(0.5, 2) if value else value
            new.append(row)
        part["table"]["rows"] = new
    path.write_text(json.dumps(content), encoding="utf-8")
    assert load_report(path)


@pytest.mark.parametrize("rows", [10_000, 50_000])
def test_many_comparisons_stay_small_and_only_rows_in_sight_are_drawn(
    tmp_path: Path, opened: Any, capsys: pytest.CaptureFixture[str], rows: int
) -> None:
    folder = unpack_run("fault", tmp_path)
    enlarge(folder, rows)
    path = draw_run(folder, "en")
    assert path.stat().st_size <= LARGEST
    plain = tmp_path / "plain.html"
    cells = "".join(f"<tr>{'<td>0.123</td>' * 17}</tr>" for _ in range(rows))
    plain.write_text(f"<table>{cells}</table><script>document.documentElement.dataset.ready = 'plain'</script>")
    page = opened(plain, "plain")
    ready = "performance.getEntriesByType('navigation')[0].loadEventEnd || performance.now()"
    plainly = page.evaluate(ready)
    times = {}
    for tab in ("overview", "prec"):
        show(page, path, tab)
        times[tab] = page.evaluate("window.ready ?? performance.now()")
    assert page.evaluate("document.querySelectorAll('.tabulator-row').length") < 100
    with capsys.disabled():
        told = ", ".join(f"{tab} {time:.0f} ms" for tab, time in times.items())
        print(f"\n{rows} rows: {told}; a plain table of them {plainly:.0f} ms; {path.stat().st_size / 1e6:.2f} MB")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_run(add_plan(unpack_run("good", tmp_path_factory.mktemp("planned"))), "en")


@axe.needed
@pytest.mark.parametrize(("lang", "theme"), [("en", "light"), ("zh", "dark")])
def test_a_planning_stage_is_the_fifth_answer_and_a_tab(
    planned: Path, opened: Any, pictures: Path, lang: str, theme: str
) -> None:
    page = opened(planned, lang=lang, theme=theme)
    boxes = [one.bounding_box() for one in page.locator(".first, .answer").all()]
    assert len(boxes) == 6 and all(box and box["y"] + box["height"] <= 800 for box in boxes), boxes
    for tab in ("overview", "planning", "run"):
        show(page, planned, tab)
        assert axe.find_violations(page) == [], tab
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.wait_for_timeout(300)
        assert page.evaluate(TWICE) == [], tab
    show(page, planned, "planning")
    assert page.locator(".memory .sharebar span").count() >= 6 and page.locator(".curve canvas").count() == 1
    page.screenshot(path=pictures / f"planning_{lang}_{theme}.png", full_page=True)
    page.set_viewport_size({"width": 400, "height": 800})
    for tab in ("overview", "planning"):
        show(page, planned, tab)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, tab
    assert page.asked == [] and page.wrong == []
