"""The planner's times beside published throughput: enough rows near, each printed, too few an exit code."""

from __future__ import annotations

import json

import pytest

from tools.estimates import published

RECORD = json.loads(published.ROWS.read_text(encoding="utf-8"))


def test_published_throughput_lies_near_what_the_planner_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert published.main(["--chip", "910B3", "--batch", "64"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(RECORD["rows"]) + 2 == 23
    assert told[-1].lstrip().startswith("21 of 21 within a factor of 1.5, 21 inside their range")


def test_times_that_are_twice_as_short_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**row, "tokens_per_second_per_card": row["tokens_per_second_per_card"] / 2} for row in RECORD["rows"][:3]]
    near = [published.compare_row(row, "910B3", 64) for row in (*rows, *RECORD["rows"][:3])]
    assert [row is not None and row.is_near for row in near] == [False] * 3 + [True] * 3
    monkeypatch.setattr(published, "compare_row", lambda *_: near[0])
    assert not published.judge_rows("910B3", 64)
