"""The record under two notebooks at once: nothing is lost, nobody waits for ever, a process killed leaves it whole."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from course import read_record
from course.exercises import record as keeping
from course.exercises.outcome import NOT_YET, Outcome
from course.exercises.record import keep_outcome

FORK = multiprocessing.get_context("fork")
TIMES = 40


def hammer(folder: Path, mine: str, begin: object) -> None:
    begin.wait()  # type: ignore[attr-defined]
    for number in range(TIMES):
        keep_outcome(folder, "李", Outcome(mine, NOT_YET), {"number": number})
        keep_outcome(folder, "李", Outcome("both", NOT_YET), mine)


def die_in_between(folder: Path) -> None:
    Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment,method-assign]
    keep_outcome(folder, "李", Outcome("env", NOT_YET), 2)


def test_two_notebooks_lose_nothing(tmp_path: Path) -> None:
    begin = FORK.Barrier(2)
    both = [FORK.Process(target=hammer, args=(tmp_path, name, begin)) for name in ("zh", "en")]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
    assert [one.exitcode for one in both] == [0, 0]
    tasks = read_record(tmp_path).tasks
    assert {name: entry.tries for name, entry in tasks.items()} == {"zh": TIMES, "en": TIMES, "both": 2 * TIMES}
    assert tasks["zh"].answer == {"number": TIMES - 1}


def test_a_process_killed_in_between_leaves_the_record_as_it_was(tmp_path: Path) -> None:
    keep_outcome(tmp_path, "李", Outcome("env", NOT_YET), 1)
    child = FORK.Process(target=die_in_between, args=(tmp_path,))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL and len(list(tmp_path.glob("*.part"))) == 1
    assert read_record(tmp_path).tasks["env"].answer == 1
    assert keep_outcome(tmp_path, "李", Outcome("env", NOT_YET), 3)[0] == 2
    assert read_record(tmp_path).tasks["env"].answer == 3 and not list(tmp_path.glob("*.part"))


def test_a_lock_that_another_keeps_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "PATIENCE_S", 0.05)
    held = pytest.raises(WorkbookError, match=r"has held .*course\.json")
    with keeping.hold_lock(tmp_path / "course.json"), held as told:
        keep_outcome(tmp_path, "李", Outcome("env", NOT_YET), 1)
    assert "Stop the other notebook" in told.value.hint("en")
    assert keep_outcome(tmp_path, "李", Outcome("env", NOT_YET), 1)[0] == 1


def test_a_file_system_without_locks_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(path: Path) -> int:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(keeping, "take_lock", no_locks)
    first, second = (keep_outcome(tmp_path, "李", Outcome("env", NOT_YET), each) for each in (1, 2))
    assert first[1] and first[1]["say"] == "course.no_locks"
    assert second == (2, None)


def test_another_error_of_a_lock_is_no_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(keeping, "take_lock", refused)
    with pytest.raises(PermissionError):
        keep_outcome(tmp_path, "李", Outcome("env", NOT_YET), 1)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_record_that_is_no_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "course.json"
    {"pipe": lambda: os.mkfifo(path), "device": lambda: path.symlink_to("/dev/zero"), "folder": path.mkdir}[kind]()
    with pytest.raises(WorkbookError) as told:
        read_record(tmp_path)
    assert told.value.key == "course.record" and "course.json" in told.value.message("zh")


def test_the_lock_is_no_part_of_the_record(tmp_path: Path) -> None:
    keep_outcome(tmp_path, "李", Outcome("env", NOT_YET), 1)
    assert sorted(each.name for each in tmp_path.iterdir()) == [".course.json.lock", "course.json"]
    assert json.loads((tmp_path / "course.json").read_text())["tasks"]["env"]["tries"] == 1
