"""The Precision tab opens at the operator that parts the runs: code, module, tensors and row on the first screen."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.page.render import draw_run, render_report
from ascend_workbook.precision.align import align
from ascend_workbook.precision.compare import compare
from tests.browser import axe
from tests.browser.test_cockpit import TWICE, opened, show  # noqa: F401
from tests.precision.dumps import as_capture
from tests.precision.networks import convolutions
from tests.precision.views.test_modules import GUILTY, add_modules

SCRIPT = "\n".join(
    ["import torch", *[""] * 17, "def forward(x):  # 前向", "    y = x", "    x = f(x)", "    return x", ""]
)


def make_sides(folder: Path, task: str = "tensor") -> tuple[Path, Path]:
    """Two captures of which the second convolution of the target is wrong; it is called in line 21 of the script."""
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    sides = []
    for name, faults in (("a", None), ("b", {GUILTY: lambda value: value * 1.5})):
        dump = add_modules(convolutions(folder / name / "dump", task=task, faults=faults))
        for stack in dump.rglob("stack.json"):
            stack.write_text(stack.read_text().replace("/home/user/train.py", f"{folder}/train.py"))
        about = {
            "root": str(folder),
            "script": "train.py",
            "script_sha256": hashlib.sha256(SCRIPT.encode()).hexdigest(),
        }
        sides.append(as_capture(folder / name, **about))
    return sides[0], sides[1]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("culprit")
    made = {}
    for task in ("tensor", "statistics"):
        sides = make_sides(folder / task, task)
        align(*sides, replaying=False).save(folder / task / "run" / "precision")
        made[task] = draw_run(folder / task / "run", "en")
        made[f"{task}-alone"] = folder / task / "compare.html"
        made[f"{task}-alone"].write_text(render_report(compare(*sides, replaying=False), "en"), encoding="utf-8")
    return made


def is_in_sight(page: Any, selector: str) -> bool:
    box = page.locator(selector).first.bounding_box()
    return bool(box) and box["y"] >= 0 and box["y"] + box["height"] <= 800


@pytest.mark.parametrize(("lang", "theme"), [("en", "light"), ("zh", "dark")])
def test_code_module_tensors_and_row_are_on_the_first_screen(
    pages: dict[str, Path],
    opened: Any,  # noqa: F811
    pictures: Path,
    lang: str,
    theme: str,
) -> None:
    page = opened(pages["tensor"], "prec", lang=lang, theme=theme)
    page.wait_for_selector(".tabulator-row.mark")
    page.wait_for_timeout(200)
    page.screenshot(path=pictures / f"culprit_{lang}_{theme}.png")
    assert page.locator(".culprit h2 code").inner_text() == GUILTY
    for selector in (".culprit .row.target", ".tree .mark", ".histogram", ".tabulator-row.mark"):
        assert is_in_sight(page, selector), selector
    assert "x = f(x)" in page.locator(".culprit .row.target").inner_text()
    assert GUILTY in page.locator(".tabulator-row.mark").inner_text()
    mark = page.locator(".tree .mark").inner_text()
    assert "Conv2d" in mark and ("far over" if lang == "en" else "远超") in mark, "in words, not by its colour alone"
    first = page.locator("figure").first.inner_text()
    assert first.startswith("output.0") and ("of the elements differ" if lang == "en" else "的元素不同") in first
    assert page.asked == [] and page.wrong == []


def test_both_sides_are_drawn_and_are_not_the_same(pages: dict[str, Path], opened: Any) -> None:  # noqa: F811
    page = opened(pages["tensor"], "prec")
    shapes = page.evaluate(
        """() => [...document.querySelectorAll('.histogram')].map(one => ['.filling', '.outline']
        .map(name => one.querySelector(name).getAttribute('d').split('L').slice(1, 65).join()))"""
    )
    assert len(shapes) >= 3
    assert shapes[0][0] != shapes[0][1], "the output is wrong"
    assert all(baseline == target for baseline, target in shapes[1:]), "its inputs are not"


@pytest.mark.parametrize("name", ["tensor", "tensor-alone", "statistics", "statistics-alone"])
def test_what_it_shows_is_sound(pages: dict[str, Path], opened: Any, name: str) -> None:  # noqa: F811
    tab = "report" if name.endswith("alone") else "prec"
    for lang, theme in itertools.product(("en", "zh"), ("light", "dark")):
        page = opened(pages[name], tab, lang=lang, theme=theme)
        page.wait_for_selector(".tabulator-row.mark")
        assert page.locator(".culprit h2 code").inner_text() == GUILTY
        if axe.FILE.is_file():
            assert axe.find_violations(page) == [], (lang, theme)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.wait_for_timeout(200)
        assert page.evaluate(TWICE) == [], (lang, theme)
        page.set_viewport_size({"width": 400, "height": 800})
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        assert page.asked == [] and page.wrong == []


def test_of_statistics_no_histogram_is_drawn_and_the_reason_stands_there(
    pages: dict[str, Path],
    opened: Any,  # noqa: F811
) -> None:
    page = opened(pages["statistics"], "prec")
    assert page.locator(".histogram").count() == 0
    said = page.locator("figure").first.inner_text()
    assert "values were not saved" in said and "norm" in said


def test_it_is_worked_by_keys(pages: dict[str, Path], opened: Any) -> None:  # noqa: F811
    page = opened(pages["tensor"], "prec")
    page.wait_for_selector(".tabulator-row.mark")
    fold = page.locator(".tree summary").first
    fold.focus()
    was = fold.evaluate("one => one.parentElement.open")
    page.keyboard.press("Enter")
    assert fold.evaluate("one => one.parentElement.open") != was
    page.evaluate("document.querySelector('.tabulator-tableholder').scrollTop = 1e6")
    page.wait_for_timeout(100)
    page.locator(".culprit button").focus()
    page.keyboard.press("Enter")
    page.wait_for_timeout(400)
    assert page.locator(".tabulator-row.mark").is_visible(), "the button brings the row back"
