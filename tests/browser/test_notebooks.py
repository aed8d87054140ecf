"""Every notebook, in both languages, opened in JupyterLab and run to its end by the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.lab import Lab
from tests.browser.notebook import copied, shown
from tests.conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NOTEBOOKS = sorted(
    path.relative_to(ROOT / "notebooks")
    for folder in ("zh", "en", "course/zh", "course/en")
    for path in (ROOT / "notebooks" / folder).glob("*.ipynb")
)
#: Longer than any of them takes on two cores that others use too.
SECONDS = 900


def test_every_folder_has_notebooks() -> None:
    assert {str(path.parent) for path in NOTEBOOKS} == {"zh", "en", "course/zh", "course/en"}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_it_runs_to_its_end(
    notebook: Path, server: Lab, chromium: Browser, pictures: Path, tmp_path: Path
) -> None:
    copy = copied(ROOT / "notebooks" / notebook, server.folder / notebook.parent.parent, tmp_path / "runs")
    name = str(notebook.with_suffix("")).replace("/", "-")
    with shown(chromium, server, copy) as seen:
        seen.run(SECONDS)
        seen.picture(pictures, name)
        assert seen.wrong() == []
        assert seen.screen.boxes() == []
        seen.theme(dark=True)
        seen.picture(pictures, f"{name}-dark")
        assert (seen.screen.asked, seen.screen.complaints) == ([], [])
