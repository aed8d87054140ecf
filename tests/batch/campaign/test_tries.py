"""Tries of a run, as the lines in its folder tell them; and tiers, keys and probes without a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.batch.campaign import cards, ended
from ascend_workbook.batch.campaign.ended import Try
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine.device import Device
from tests.batch.campaign.conftest import Start, item


def test_a_try_that_never_ended_is_told_until_the_run_ends(tmp_path: Path) -> None:
    assert ended.tries_since_end(tmp_path) == []
    ended.note_try(tmp_path, start="a", where="here")
    ended.note_try(tmp_path, state="died", last=False)
    ended.note_try(tmp_path, start="a", where="there")
    with (tmp_path / ended.TRIES_FILE).open("a") as stream:
        stream.write('{"state": "go')  # the machine was lost while it wrote
    assert ended.tries_since_end(tmp_path) == [Try("a", "here", "died"), Try("a", "there")]
    ended.note_try(tmp_path, start="b", where="elsewhere")  # behind the line that was cut
    assert ended.tries_since_end(tmp_path)[2:] == [Try("b", "elsewhere")]


def test_a_run_that_ended_has_no_tries_left(tmp_path: Path) -> None:
    ended.note_try(tmp_path, start="a", where="here")
    ended.note_try(tmp_path, state="red", last=True)
    assert ended.tries_since_end(tmp_path) == []


def test_a_device_that_is_not_there_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def find(wanted: str) -> Device:
        asked.append(wanted)
        raise WorkbookError("device.unknown", wanted=wanted)

    monkeypatch.setattr(cards.device, "find", find)
    assert all(isinstance(cards._probe_once("never-there"), WorkbookError) for _ in range(2))
    assert asked == ["never-there"]


@pytest.mark.full
def test_force_does_all_again_and_keep_red_leaves_what_is_red(start: Start) -> None:
    runs, _ = start([item("raises")])
    assert runs["raises"].state == "red" and not runs["raises"].reused
    kept, lines = start([item("raises")], keep_red=True)
    assert kept["raises"].reused and lines == [
        say("plan.run_reused", "en", number=1, of=1, run="raises", state={"say": "plan.state.red"})
    ]
    begun = (start.folder / "raises" / ended.TRIES_FILE).read_text().count("where")
    again, _ = start([item("raises")], keep_red=True, force=True)
    assert not again["raises"].reused
    assert (start.folder / "raises" / ended.TRIES_FILE).read_text().count("where") == begun + 1


def test_a_plan_whose_time_is_over_starts_nothing(start: Start) -> None:
    runs, _ = start([item("good")], deadline_s=-1)
    assert runs["good"].state == "timed_out" and runs["good"].verdict == {"say": "plan.no_time"}
