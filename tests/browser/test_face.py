"""A stage's notebook as a reader first meets it: title, form and verdict on one screen, worked by keys, in both themes.

What axe-core complains about is looked at where it is installed (tests/browser/axe.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import axe
from tests.browser.lab import Lab
from tests.browser.moves import wait
from tests.browser.notebook import Opened, copied, made, shown
from tests.conftest import ROOT
from tests.notebooks.test_sources import CAPTIONS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

SCREEN = {"width": 1280, "height": 800}
TOP = "() => { for (const each of document.querySelectorAll('.jp-WindowedPanel-outer')) each.scrollTop = 0; }"
FORM = """from helpers.boxes import form_box
lang, script, device, steps, compute = {lang!r}, "train.py", "auto", 4, True
form_box(globals(), "script", "device", "steps", "compute")"""
BAR = """import time
from pathlib import Path
from ascend_workbook.machine.launch import Progress
from ascend_workbook.show.bar import Bar
with Bar(Path("progress.log"), {lang!r}) as tell:
    for step in range(1, 41):
        tell(Progress(step, 40, None, ()))
        time.sleep(0.2)
"the end\""""


def is_seen(place: Locator) -> bool:
    """Whether all of it is on the screen, above JupyterLab's lowest line."""
    box = place.bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= SCREEN["height"] - 24


def complaints(seen: Opened, *places: str) -> list[str]:
    """What axe has to say of these parts of the page: of what is ours. JupyterLab has complaints of its own."""
    return axe.find_violations(seen.screen.page, *places) if axe.FILE.is_file() else []


def printed(seen: Opened, name: str) -> list[tuple[int, Any]]:
    """(cell, text) of what went to this stream."""
    return [
        (number, output["text"])
        for number, cell in enumerate(seen.cells())
        for output in cell.get("outputs", ())
        if output.get("name") == name
    ]


@pytest.mark.parametrize(("lang", "dark"), [("zh", True), ("en", False)])
def test_the_first_screen_has_title_form_and_verdict(
    lang: str, dark: bool, server: Lab, chromium: Browser, pictures: Path, tmp_path: Path
) -> None:
    source = ROOT / "notebooks" / lang / "01_environment.ipynb"
    copy = copied(source, server.folder / f"face-{lang}", tmp_path / "runs")
    with shown(chromium, server, copy, dark=dark) as seen:
        page = seen.screen.page
        page.set_viewport_size(SCREEN)
        bars = page.locator(".jp-InputPlaceholder .jp-PlaceholderText")
        assert [text.partition(":")[0].partition("：")[0] for text in bars.all_inner_texts()] == [
            f"# {caption}" for caption in CAPTIONS[lang]
        ]
        seen.run(900)
        assert seen.wrong() == [] and printed(seen, "stderr") == []
        page.evaluate(TOP)
        first = [page.locator(".jp-Notebook h1").first, page.locator(".jupyter-widgets select").first]
        card = page.locator(".aw-card").first
        wait(seen, "the verdict stands above", lambda: card.locator(".verdict").count() == 1)
        assert all(is_seen(place) for place in (*first, page.locator(".jupyter-widgets input").last, card, bars.last))
        page.screenshot(path=pictures / f"face-{lang}.png")
        assert complaints(seen, ".aw-card", ".jupyter-widgets", ".aw-chart") == []
        assert page.locator(".aw-card table tbody").evaluate_all("all => all.every(one => one.rows.length <= 10)")
        background = page.locator(".aw-chart svg").first.evaluate("one => getComputedStyle(one).backgroundColor")
        assert background == "rgba(0, 0, 0, 0)", "no box behind the chart"
        ink = page.locator(".aw-chart svg text").first
        light = ink.evaluate("one => getComputedStyle(one).fill")
        seen.theme(not dark)
        wait(
            seen,
            "the chart's letters follow the theme",
            lambda: ink.evaluate("one => getComputedStyle(one).fill") != light,
        )
        assert complaints(seen, ".aw-card", ".jupyter-widgets", ".aw-chart") == []
        seen.picture(pictures, f"face-{lang}-other-theme")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_form_is_filled_by_keys_and_the_cells_below_use_it(
    lang: str, server: Lab, chromium: Browser, pictures: Path
) -> None:
    cells = (FORM.format(lang=lang), "(script, device, steps, compute)")
    with shown(chromium, server, made(server.folder, f"form-{lang}", *cells, lang=lang)) as seen:
        page = seen.screen.page
        seen.run(120)
        assert seen.wrong() == []
        box = seen.output(0)
        controls = box.locator("input, select")
        names = controls.evaluate_all("all => all.map(one => one.labels[0]?.innerText.trim() ?? '')")
        assert len(names) == 4 and all(names), "each has its label"
        controls.first.focus()
        page.keyboard.press("End")
        page.keyboard.type("x")
        for keys in (["Tab", "ArrowDown"], ["Tab", "ArrowUp"], ["Tab", "Space"]):
            for key in keys:
                page.keyboard.press(key)
        status = box.locator("[role=status]")
        wait(
            seen,
            "what was changed is told",
            lambda: names[0] in status.inner_text() and names[3] in status.inner_text(),
        )
        page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 2; }")
        page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")
        wait(seen, "the cell took it", lambda: "train.pyx" in seen.output(1).inner_text())
        assert "('train.pyx', 'npu', 5, False)" in seen.output(1).inner_text()
        assert complaints(seen, ".jupyter-widgets") == []
        seen.picture(pictures, f"form-{lang}")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_bar_moves_and_goes(lang: str, server: Lab, chromium: Browser, pictures: Path) -> None:
    with shown(chromium, server, made(server.folder, f"bar-{lang}", BAR.format(lang=lang), lang=lang)) as seen:
        page = seen.screen.page
        seen.begin()
        bar = seen.output(0).locator("progress")
        left = {"zh": "还需", "en": "left"}[lang]
        wait(seen, "it tells how long still", lambda: bool(bar.count()) and left in seen.output(0).inner_text())
        assert bar.count() == 1 and bar.get_attribute("max") == "40" and bar.get_attribute("aria-label")
        assert complaints(seen, ".aw-bar") == []
        page.screenshot(path=pictures / f"bar-{lang}.png")
        seen.end(120)
        assert seen.wrong() == [] and printed(seen, "stderr") == []
        (cell,) = (cell for cell in seen.cells() if cell["cell_type"] == "code")
        assert [output["data"]["text/plain"] for output in cell["outputs"]] == ["'the end'"] and bar.count() == 0
