"""What `course list` says of the exercises and of the capstone's stages, each from its notebook's own record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from course.exercises.capstone import STAGES
from course.exercises.listing import exercises
from course.exercises.outcome import DONE, PARTLY, Outcome
from course.exercises.record import keep_outcome
from course.exercises.task import CAPSTONE_FOLDER, PLANNING, load_tasks


def test_nothing_done(tmp_path: Path) -> None:
    report = exercises(tmp_path)
    assert report.table is not None
    listed = [*load_tasks(), *load_tasks(PLANNING), *(task.id for task in STAGES.values())]
    assert [row[0] for row in report.table.rows] == listed
    assert {json.dumps(row[3]) for row in report.table.rows} == {'{"say": "course.status.not_yet"}'}
    assert report.findings[0].args == {"done": 0, "count": 8, "stages_done": 0, "stages": 4}


def test_each_from_its_own_record(tmp_path: Path) -> None:
    for task, status, tries, folder in (
        ("env", DONE, 3, ""),
        ("launches", DONE, 1, ""),
        ("capstone_migration", DONE, 2, CAPSTONE_FOLDER),
        ("capstone_precision", PARTLY, 1, CAPSTONE_FOLDER),
    ):
        for _ in range(tries):
            keep_outcome(tmp_path / folder, "", Outcome(task, status), {})
    report = exercises(tmp_path)
    assert report.table is not None
    tried = {row[0]: (row[3]["say"], row[4]) for row in report.table.rows if row[4]}  # type: ignore[index, call-overload]
    assert tried == {
        "env": ("course.status.done", 3),
        "launches": ("course.status.done", 1),
        "capstone_migration": ("course.status.done", 2),
        "capstone_precision": ("course.status.partly", 1),
    }
    assert report.findings[0].args == {"done": 2, "count": 8, "stages_done": 1, "stages": 4}


def test_a_record_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / CAPSTONE_FOLDER).mkdir()
    (tmp_path / CAPSTONE_FOLDER / "course.json").write_text("[]")
    with pytest.raises(WorkbookError, match="course_capstone"):
        exercises(tmp_path)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_RUNS", str(tmp_path))
    (tmp_path / "file").write_text("")
    for given in ("none", str(tmp_path / "none"), "file"):
        with pytest.raises(WorkbookError) as caught:
            exercises(given)
        assert caught.value.key == "course.no_run_dir"
        for lang in ("en", "zh"):
            assert str(tmp_path / given) in caught.value.message(lang) and "run_dir" in caught.value.hint(lang)


def test_before_the_first_run_nothing_is_checked_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_RUNS", str(tmp_path))
    (found,) = exercises().findings
    assert found.key == "CRS004.nothing_yet"
    assert "nothing checked yet" in found.message("en") and "还没有检查过" in found.message("zh")
    (tmp_path / "runs" / "notebook").mkdir(parents=True)
    assert exercises().findings[0].key == "CRS004.listed"
