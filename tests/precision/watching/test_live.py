"""A watched run is drawn anew while its file grows, until it ends."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from helpers.precision import follow_watched
from tests.precision.watching.trainings import train


class Shown:
    """Stands in for a notebook's output."""

    def __init__(self) -> None:
        self.pictures: list[dict[str, Any]] = []

    def display(self, bundle: dict[str, Any], **options: object) -> Shown:
        assert options == {"raw": True, "display_id": True}
        self.pictures.append(bundle)
        return self

    def update(self, bundle: dict[str, Any], **options: object) -> None:
        self.pictures.append(bundle)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    import IPython.display

    output = Shown()
    monkeypatch.setattr(IPython.display, "display", output.display)
    return output


def test_the_picture_follows_the_file_until_the_run_ends(tmp_path: Path, shown: Shown) -> None:
    train(tmp_path / "whole", "perceptron", 3, fault="all x80", at=40)
    lines = (tmp_path / "whole" / "watch.jsonl").read_text().splitlines(keepends=True)
    growing = tmp_path / "growing"

    def write_slowly() -> None:
        growing.mkdir()
        with (growing / "watch.jsonl").open("w") as stream:
            for part in (lines[:10], [*lines[10:20], lines[20][:30]], [lines[20][30:], *lines[21:]]):
                drawn, began = len(shown.pictures), time.monotonic()
                stream.writelines(part)
                stream.flush()
                while len(shown.pictures) == drawn and time.monotonic() - began < 60:
                    time.sleep(0.05)

    writer = threading.Thread(target=write_slowly)
    writer.start()
    report = follow_watched(growing, lang="en", every_s=0.1, timeout_s=60)
    writer.join()
    assert report.facts["steps"] == 60 and [alarm["step"] for alarm in report.facts["alarms"]] == [40]
    texts = [picture["text/plain"] for picture in shown.pictures]
    assert len(texts) >= 3 and texts[0].startswith("9 steps") and texts[-1] == "60 steps watched, 1 alarm(s)"
    assert all(picture["image/svg+xml"].startswith("<?xml") for picture in shown.pictures)
    assert shown.pictures[0] != shown.pictures[-1]


def test_it_ends_where_nothing_comes(tmp_path: Path, shown: Shown) -> None:
    train(tmp_path / "whole", "perceptron", 3)
    text = (tmp_path / "whole" / "watch.jsonl").read_text()
    shutil.rmtree(tmp_path / "whole")
    killed = tmp_path / "watch.jsonl"
    killed.write_text(text[: text.index('{"end"')])
    report = follow_watched(killed, lang="zh", every_s=0.05, idle_s=0.2)
    assert report.facts["steps"] == 60 and len(shown.pictures) == 1 and "60" in shown.pictures[0]["text/plain"]
    with pytest.raises(WorkbookError) as error:
        follow_watched(tmp_path / "none", every_s=0.05, timeout_s=0.1)
    assert error.value.key == "watch.no_file" and len(shown.pictures) == 1
