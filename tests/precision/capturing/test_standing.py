"""What is said of ranks that wait for one another."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.capturing.standing import check_standing

CALL = {"op": "all_reduce", "number": 3, "group": [0, 1], "peer": None, "place": "/x/train.py:9"}
WAITS: dict[str, Any] = {"status": "waiting", **CALL}
BUSY: dict[str, Any] = {"status": "running", "place": "/x/lib/data.py:4"}
FAILED: dict[str, Any] = {"status": "failed", "place": ""}


def say(folder: Path, *stands: dict[str, Any], outcome: str = "failed") -> str:
    for rank, stand in enumerate(stands):
        content = {"rank": rank, "step": 1, **stand}
        (folder / f"standing.rank{rank}.json").write_text(json.dumps(content), encoding="utf-8")
    result: Any = SimpleNamespace(trouble="it failed", outcome=outcome, elapsed_s=31.4)
    try:
        check_standing(folder, result, Path("/x"))
    except WorkbookError as error:
        return error.message("en")
    return ""


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({**WAITS, "op": "broadcast", "place": "/x/train.py:12"}, "rank 1 in `broadcast` number 3"),
        ({"status": "ended", "place": ""}, "rank 1 ended after step 1"),
    ],
)
def test_every_rank_is_named_with_its_place(tmp_path: Path, other: dict[str, Any], words: str) -> None:
    text = say(tmp_path, WAITS, other)
    assert text.startswith("the ranks wait for one another: rank 0 in `all_reduce` number 3 of ranks 0, 1, step 1")
    assert "at train.py:9" in text
    assert words in text


def test_an_error_of_the_script_is_the_cause_and_not_who_waits_for_it(tmp_path: Path) -> None:
    assert say(tmp_path, WAITS, FAILED) == ""
    assert say(tmp_path, WAITS, WAITS) == ""


def test_where_the_time_ran_out_the_line_of_each_rank_is_told(tmp_path: Path) -> None:
    assert say(tmp_path, WAITS, BUSY) == ""
    text = say(tmp_path, WAITS, BUSY, outcome="timeout")
    assert "did not end within 31 s" in text
    assert "rank 1 in no collective, step 1, at lib/data.py:4" in text


def test_one_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "standing.rank2.json").write_text("{", encoding="utf-8")
    assert "rank 1 ended" in say(tmp_path, WAITS, {"status": "ended", "place": ""})
