"""One JupyterLab and one Chromium a process; without them every test here is skipped, with the reason."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import install, lab, screen

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
#: Tests without a notebook that are told with their time
SLOWEST = 5


def pytest_configure(config: pytest.Config) -> None:
    """Workers inherit the name of the folder."""
    if "ASCEND_WORKBOOK_PICTURES" not in os.environ:
        os.environ["ASCEND_WORKBOOK_PICTURES"] = tempfile.mkdtemp(prefix="workbook-pictures-")


@pytest.hookimpl(tryfirst=True)  # before those marked `full` are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = install.missing()
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.full)
            if missing:
                item.add_marker(pytest.mark.skip(reason=missing))


def times(ended: list[tuple[str, str, float]]) -> list[str]:
    """The seconds of each notebook and of what is slowest beside them, then of all tests together."""
    slowest = sorted(ended, key=lambda one: -one[2])
    shown = [one for number, one in enumerate(slowest) if ".ipynb]" in one[0] or number < SLOWEST]
    lines = [f"{seconds:7.0f} s  {how:<7} {name.rpartition('::')[2]}" for name, how, seconds in shown]
    return [*lines, f"{sum(one[2] for one in ended):7.0f} s  in {len(ended)} browser tests"] if ended else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    told = [one for how in ("passed", "failed") for one in terminalreporter.stats.get(how, ())]
    for line in times([(one.nodeid, one.outcome, one.duration) for one in told if one.when == "call"]):
        terminalreporter.write_line(line)
    folder = Path(os.environ["ASCEND_WORKBOOK_PICTURES"])
    stored = len(list(folder.glob("*.png")))
    if stored:
        terminalreporter.write_line(f"{stored} pictures are in {folder}")
    elif "PYTEST_XDIST_WORKER" not in os.environ:
        folder.rmdir()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with screen.browser() as made:
        yield made


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    folder = tmp_path_factory.mktemp("notebooks")
    with lab.started(folder, tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture
def pictures() -> Path:
    return screen.pictures()
