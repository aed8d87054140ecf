"""The progress bar: how far, how long still, gone at the end; nothing on standard error, nothing without a reader."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import IPython.display
import pytest

from ascend_workbook.machine.launch import Progress
from ascend_workbook.show import bar
from ascend_workbook.show.bar import Bar, Step
from ascend_workbook.show.boxed import HEADLESS


class Handle:
    def __init__(self) -> None:
        self.drawn: list[str] = []

    def update(self, shown: Any) -> None:
        self.drawn.append(shown.data)


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Handle:
    """A reader; a second goes by from one look at the clock to the next."""
    monkeypatch.setenv(HEADLESS, "0")
    made, clock = Handle(), iter(range(10**6))

    def display(shown: Any, display_id: bool) -> Handle:
        made.update(shown)
        return made

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(IPython.display, "clear_output", lambda: made.drawn.append("gone"))
    monkeypatch.setattr(bar.time, "monotonic", lambda: float(next(clock)))
    return made


def test_it_tells_how_far_and_how_long_and_goes(handle: Handle, tmp_path: Path) -> None:
    with Bar(tmp_path / "progress.log", "en") as tell:
        tell("opening")
        for step in range(3):
            tell(Progress(step, 2, None, ()))
    start, opening, first, second, last, end = handle.drawn
    assert "starting" in start and "value" not in opening and "opening · for" in opening
    assert 'value="0" max="2"' in first and "step 0 of 2" in first
    assert "step 1 of 2 · 2 s left" in second and "step 2 of 2 · 0 s left" in last and end == "gone"
    assert all('aria-label="' in one and 'role="status"' in one for one in handle.drawn[:-1])


def test_a_second_training_counts_anew(handle: Handle, tmp_path: Path) -> None:
    with Bar(tmp_path / "progress.log", "zh") as tell:
        for side in ("baseline", "target"):
            for step in range(1, 4):
                tell(side, Progress(step, 4, None, ()))
    assert "第 3 步，共 4 步 · 还需 2 秒" in handle.drawn[3] and "已用" in handle.drawn[4]


def test_it_goes_where_the_work_fails(handle: Handle, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), Bar(tmp_path / "progress.log", "en"):
        raise ValueError("broken")
    assert handle.drawn[-1] == "gone"


def test_without_a_reader_only_the_log_is_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Bar(tmp_path / "progress.log", "en") as tell:
        tell(Step("step 1/2 <b>", 1, 2))
    assert re.fullmatch(r"\d\d:\d\d:\d\d step 1/2 <b>\n", (tmp_path / "progress.log").read_text())
    assert capfd.readouterr() == ("", "")


def test_a_long_time_is_told_in_minutes(tmp_path: Path) -> None:
    assert [bar.format_seconds(seconds, "en") for seconds in (0.4, 59.6, 125)] == ["0 s", "1 min 0 s", "2 min 5 s"]
    assert "&lt;b&gt;" in Bar(tmp_path, "en").render("<b>", 1, 2, 3.0)
