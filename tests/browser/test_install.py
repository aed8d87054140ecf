"""What is missing is said, with the next step; a notebook that goes wrong is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser import conftest, install
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


def test_the_time_of_each_notebook_and_of_all_is_told() -> None:
    ended = [("t.py::test_runs[zh/01.ipynb]", "failed", 2.4), *((f"t.py::other{at}", "passed", 9.0) for at in range(7))]
    lines = conftest.times(ended)
    assert len(lines) == conftest.SLOWEST + 2 and lines[-1].split() == ["65", "s", "in", "8", "browser", "tests"]
    assert lines[-2].split() == ["2", "s", "failed", "test_runs[zh/01.ipynb]"]
    assert conftest.times([]) == []


def test_a_wait_that_is_too_long_says_for_what(server: Lab, chromium: Browser) -> None:
    slow = made(server.folder, "slow", "print('begun')\nimport time\ntime.sleep(60)")
    wanted = r"all cells have run: not within 6 s. At cell 1 \(print\('begun'\)\)"
    with shown(chromium, server, slow) as seen, pytest.raises(AssertionError, match=wanted):
        seen.run(6)
