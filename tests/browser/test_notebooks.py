"""Every notebook in both languages, and the solved ones, opened in JupyterLab and run to its end by the browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

from course import DONE, read_record
from course.exercises.listing import tasks_of
from course.exercises.task import CAPSTONE, CAPSTONE_FOLDER, EXERCISES
from course.packing.solving import write_solved
from tests.browser.lab import Lab
from tests.browser.notebook import Opened, copied, shown
from tests.browser.pages import faults
from tests.conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NOTEBOOKS = sorted(
    path.relative_to(ROOT / "notebooks")
    for folder in ("zh", "en", "course/zh", "course/en")
    for path in (ROOT / "notebooks" / folder).glob("*.ipynb")
)
#: Longer than any of them takes on two cores that others use too.
SECONDS = 1800


#: A cell that shows a box, and how a drawn one is known on the page
BOX = re.compile(r"^(findings|tolerance|explain|timeline)_(?:box|view)\(", re.MULTILINE)
DRAWN = {
    "findings": "iframe.aw-frame",
    "tolerance": ".noUi-handle",
    "explain": ".jupyter-widgets textarea",
    "timeline": "iframe[sandbox]:not(.aw-frame)",
}


def drawn(seen: Opened) -> list[str]:
    """The kinds of boxes on the page, from top to bottom."""
    outputs = seen.screen.page.locator(".jp-CodeCell .jp-Cell-outputArea")
    return [
        kind
        for number in range(outputs.count())
        for kind, sign in DRAWN.items()
        if outputs.nth(number).locator(sign).count()
    ]


def test_every_folder_has_notebooks() -> None:
    assert {str(path.parent) for path in NOTEBOOKS} == {"zh", "en", "course/zh", "course/en"}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_it_runs_to_its_end(notebook: Path, server: Lab, chromium: Browser, pictures: Path, tmp_path: Path) -> None:
    """And every page that it wrote opens offline, in both themes."""
    copy = copied(ROOT / "notebooks" / notebook, server.folder / notebook.parent.parent, tmp_path / "runs")
    name = str(notebook.with_suffix("")).replace("/", "-")
    with shown(chromium, server, copy) as seen:
        seen.run(SECONDS)
        seen.picture(pictures, name)
        assert seen.wrong() == []
        assert drawn(seen) == BOX.findall("\n".join(cell.source for cell in nbformat.read(copy, 4).cells))
        assert seen.screen.boxes() == []
        seen.theme(dark=True)
        seen.picture(pictures, f"{name}-dark")
        assert (seen.screen.asked, seen.screen.complaints) == ([], [])
    for page in sorted((tmp_path / "runs").rglob("*.html")):
        of = f"{name}-{page.parent.name}-{page.stem}"
        assert faults(chromium, page, True, pictures, of) + faults(chromium, page, False, pictures, of) == []


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("name", [EXERCISES, CAPSTONE])
def test_solved_every_task_is_done(
    name: str, lang: str, server: Lab, chromium: Browser, pictures: Path, tmp_path: Path
) -> None:
    write_solved(name, tmp_path / lang / f"solved-{name}.ipynb", lang=lang)
    copy = copied(tmp_path / lang / f"solved-{name}.ipynb", server.folder / "solved", tmp_path / "runs")
    with shown(chromium, server, copy) as seen:
        seen.run(SECONDS)
        seen.picture(pictures, f"solved-{lang}-{name}")
        assert seen.wrong() == []
        assert seen.screen.page.inner_text(".jp-Notebook").count("[完成 / done]") >= len(tasks_of(name))
    kept = read_record(tmp_path / "runs" / (CAPSTONE_FOLDER if name == CAPSTONE else ""))
    assert {task: told.status for task, told in kept.tasks.items()} == dict.fromkeys(tasks_of(name), DONE)
