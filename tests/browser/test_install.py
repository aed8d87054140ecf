"""What is missing is said, with the next step; a notebook that goes wrong is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser import install
from tests.browser.lab import Lab
from tests.browser.notebook import made, shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_a_browser_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(install.SETTING, "/nowhere/chromium")
    assert install.chromium() is None and "no Chromium" in install.missing()
    assert install.main() == 2
    said = capsys.readouterr().err
    assert "/nowhere/chromium is no file" in said and "next step" in said


def test_playwright_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "playwright is not installed" in install.missing()


def test_a_notebook_that_goes_wrong_is_told(server: Lab, chromium: Browser) -> None:
    """The error, and the cell behind it that was never run; a box that cannot be drawn."""
    with shown(chromium, server, made(server.folder, "bad", "1 / 0", "print('after')")) as seen:
        seen.run(60)
        assert seen.wrong() == ["cell 1: ZeroDivisionError: division by zero", "cell 2 was not run"]
    lost = "from IPython.display import display\nview = {'model_id': 'gone', 'version_major': 2, 'version_minor': 0}\n"
    lost += "display({'application/vnd.jupyter.widget-view+json': view}, raw=True)"
    with shown(chromium, server, made(server.folder, "lost", lost)) as seen:
        seen.run(60)
        seen.screen.page.wait_for_timeout(2000)
        assert any("widget" in fault for fault in seen.wrong())
    with shown(chromium, server, made(server.folder, "good", "print('well')")) as seen:
        seen.run(60)
        assert seen.wrong() == []
