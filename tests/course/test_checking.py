"""Whatever an answer is the notebook goes on, and what came of it is kept."""

from __future__ import annotations

import itertools
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence, load_catalogue
from course import DONE, NOT_YET, Found, Place, Task, check_task, load_tasks, read_record
from course.exercises import checking
from course.exercises.checking import resolve_answer
from course.exercises.task import PLANNING


def stub() -> None:
    raise NotImplementedError


def endless() -> None:
    for number in itertools.count():
        try:
            number += 1
        except Exception:  # noqa: BLE001 - what students write
            continue


def chatty() -> None:
    while True:
        print("x" * 1000)


def leaves() -> None:
    sys.exit("enough")


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        (stub, "stub"),
        (None, "none"),
        (lambda: None, "none"),
        (lambda: 1 / 0, "raised"),
        (leaves, "raised"),
        (endless, "slow"),
        (chatty, "printed"),
    ],
)
def test_no_answer_is_told_with_its_reason(answer: Any, key: str) -> None:
    value, trouble = resolve_answer(answer, seconds=0.2)
    assert value is None and trouble is not None and trouble["say"] == f"course.trouble.{key}"


def test_an_answer_that_is_data_or_returned() -> None:
    assert resolve_answer({"a": 1}) == ({"a": 1}, None)
    assert resolve_answer(lambda: [1]) == ([1], None)


def test_an_answer_is_asked_outside_the_main_thread_too() -> None:
    kept: list[Any] = []
    thread = threading.Thread(target=lambda: kept.append(resolve_answer(lambda: 3)))
    thread.start()
    thread.join()
    assert kept == [(3, None)]


ANYTHING = [stub, None, 3, "text", [], {}, b"\0", object(), [("a",)], {"torch": 1}, float("nan")]


@pytest.mark.parametrize("answer", ANYTHING)
@pytest.mark.parametrize("name", sorted([*load_tasks(), *load_tasks(PLANNING)]))
def test_nothing_stops_the_notebook(tmp_path: Path, name: str, answer: Any) -> None:
    outcome = check_task(name, answer, run_dir=tmp_path)
    assert outcome.status == NOT_YET and outcome.missing and not outcome.right
    assert "未完成 / not yet" in str(outcome) and "未完成 / not yet" in outcome._repr_html_()
    assert read_record(tmp_path).tasks[name].status == NOT_YET


def test_a_check_that_breaks_is_no_success(tmp_path: Path) -> None:
    def broken(answer: Any, place: Place) -> Found:
        raise RuntimeError("<b>")

    found = checking.judge_answer(Task("env", "environment", broken), 1, tmp_path, "")
    assert checking.status_of(found) == NOT_YET and found.missing[0]["say"] == "course.trouble.check"


def test_nothing_found_is_not_done() -> None:
    assert checking.status_of(Found()) == NOT_YET
    assert checking.status_of(Found(right=(Sentence("course.env.ready"),))) == DONE


def test_stubs_are_no_tries_and_the_second_try_has_another_hint(tmp_path: Path) -> None:
    stubbed, first, second = (check_task("env", each, run_dir=tmp_path) for each in (stub, 1, 2))
    assert (stubbed.tries, first.tries, second.tries) == (0, 1, 2)
    assert stubbed.hint("zh") == first.hint("zh") != second.hint("zh")
    assert check_task("env", 3, run_dir=tmp_path, student="another").tries == 1


def test_an_unknown_task_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="env"):
        check_task("nothing", 1, run_dir=tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": 2}', '{"format": 1, "student": "", "tasks": {"env": {"status": "fine"}}}', "[" * 9999],
)
def test_a_record_that_is_none_is_refused_and_put_aside(tmp_path: Path, text: str) -> None:
    file = tmp_path / "course.json"
    file.write_text(text)
    with pytest.raises(WorkbookError) as caught:
        read_record(tmp_path)
    assert caught.value.key == "course.record" and str(file) in caught.value.message("en")
    outcome = check_task("env", 1, run_dir=tmp_path)
    assert outcome.remark and outcome.remark["say"] == "course.record"
    assert read_record(tmp_path).tasks["env"].tries == 1
    assert (tmp_path / "course.json.unreadable").read_text() == text
    file.write_text("later")
    check_task("env", 1, run_dir=tmp_path)
    assert (tmp_path / "course.json.unreadable").read_text() == text  # what was put aside before stays
    assert (tmp_path / "course.json.unreadable.2").read_text() == "later"


def test_a_record_keeps_the_answer_and_leaves_nothing_beside(tmp_path: Path) -> None:
    check_task("env", {"torch": "1"}, run_dir=tmp_path, student="李")
    record = read_record(tmp_path)
    assert record.student == "李" and record.tasks["env"].answer == {"torch": "1"}
    assert [path.name for path in tmp_path.glob("course.json*")] == ["course.json"]
    assert json.loads((tmp_path / "course.json").read_text())["format"] == 1


def test_a_record_holds_the_tasks_of_one_student(tmp_path: Path) -> None:
    for student, name in (("李", "env"), ("李", "loop"), ("王", "env")):
        check_task(name, 3, run_dir=tmp_path, student=student)
    assert (read_record(tmp_path).student, list(read_record(tmp_path).tasks)) == ("王", ["env"])


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = check_task("env", 1, run_dir=tmp_path / "file")
    assert outcome.remark is not None


def test_every_task_has_its_words() -> None:
    for name, task in {**load_tasks(), **load_tasks(PLANNING)}.items():
        assert task.id == name and task.title("zh") != task.title("en")
        assert load_catalogue()[f"course.hint.{name}"].hint_zh


def test_a_shared_machine_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from course.exercises import patience

    assert (patience.patient_limit(10), patience.is_shared()) == (10, False)
    monkeypatch.setenv(patience.NAME, "10")
    assert (patience.patient_limit(10), patience.is_shared()) == (100, True)
    for wrong in ("0.5", "many", "inf", "nan"):
        monkeypatch.setenv(patience.NAME, wrong)
        with pytest.raises(WorkbookError, match=patience.NAME):
            patience.patience_factor()


def test_answers_are_collected_for_who_judges_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from course.exercises import checking

    monkeypatch.setenv(checking.COLLECT, "1")
    monkeypatch.setattr(checking, "judge_answer", lambda *given: pytest.fail("judged"))
    outcome = checking.check_task("env", {"torch": "1"}, run_dir=tmp_path)
    assert outcome.status == "not_yet" and read_record(tmp_path).tasks["env"].answer == {"torch": "1"}


def test_an_operator_that_is_not_there_is_no_stub() -> None:
    def lacking() -> None:
        raise NotImplementedError("the NPU lacks aten::lu")

    _, trouble = resolve_answer(lacking)
    assert isinstance(trouble, dict) and trouble["say"] == "course.trouble.raised"
    assert "aten::lu" in str(trouble["args"])
