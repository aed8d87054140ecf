"""Twelve things that a reader wants of a run's page: each is found with at most three clicks, from its first screen.

The pictures of the answers are stored; docs/page.md tells the same tasks in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ascend_workbook.page.render import draw_run
from tests.browser.test_cockpit import show
from tests.page.recorded import NAMES, unpack_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MOST = 3


@dataclass(frozen=True)
class Task:
    """What is asked of which run, what is clicked, and where the answer is then read. `words` all stand there."""

    asked: str
    run: str
    clicks: tuple[str, ...]
    where: str
    words: tuple[str, ...]


TASKS = (
    Task("what is to be fixed first", "fault", (), ".first .cause", ("conv2d.2",)),
    Task("its line of code", "fault", (), ".first .where", ("resnet_digits.py:50", "self.conv1(x)")),
    Task("the command that repeats the stage", "fault", (), ".first .command", ("--stage precision",)),
    Task("that line in its file", "fault", (".first .where .place",), ".row.target", ("50", "self.conv1(x)")),
    Task("how far the first operator is off", "fault", ('.answer[href="#prec"]',), ".readout", ("conv2d.2", "0.01")),
    Task("in which module it runs", "fault", ('.answer[href="#prec"]',), ".tree .mark", ("conv1",)),
    Task("the slowest operator", "good", ('.answer[href="#perf"]',), ".bars tr:first-child", ("convolution_backward",)),
    Task("the versions", "good", ("#tab-run",), ".facts", ("torch_npu", "2.13.0")),
    Task("what is left to be accepted", "good", ("#tab-run", "details.card summary"), "details table", ("not looked",)),
    Task("what was not looked at", "good", (), ".pictures", ("Not looked at",)),
    Task("why the migrated script stops", "broken", (), ".first", ("grad_scaler", "train.py:27")),
    Task("what no NPU runs", "broken", ('.answer[href="#code"]',), ".findings", ("unsupported", "monitor.py:11")),
)  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return {name: draw_run(unpack_run(name, folder), "en") for name in NAMES}


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    yield context.new_page()
    context.close()


def test_there_are_twelve() -> None:
    assert len(TASKS) == 12 and len({task.asked for task in TASKS}) == 12


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.asked.replace(" ", "_"))
def test_a_task_takes_at_most_three_clicks(pages: dict[str, Path], page: Page, pictures: Path, task: Task) -> None:
    assert len(task.clicks) <= MOST
    show(page, pages[task.run], "overview")
    for place in task.clicks:
        page.locator(place).first.click()
        page.wait_for_timeout(700)
    answer = page.locator(task.where).first
    answer.scroll_into_view_if_needed()
    text = " ".join(page.locator(task.where).all_inner_texts())
    assert all(word in text for word in task.words), text
    page.screenshot(path=pictures / f"task_{TASKS.index(task) + 1:02}_{task.asked.replace(' ', '_')}.png")
