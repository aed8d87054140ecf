"""The injected fault is drawn from the student, and only the whole answer counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.precision.capturing import manifest
from course import DONE, NOT_YET, check_task
from course.tasks import fault

STUDENTS = [f"student {number}" for number in range(50)]


def answer(student: str, **other: Any) -> dict[str, Any]:
    return {**vars(fault.draw_fault(student)), **other}


def test_students_have_different_faults_and_each_the_same_again() -> None:
    drawn = Counter(map(fault.draw_fault, STUDENTS))
    assert len(drawn) > 15 and fault.draw_fault("li") == fault.draw_fault("li")
    assert {one.rank for one in drawn} == {0, 1} and {one.step for one in drawn} == {2, 3, 4}
    assert {one.operator for one in drawn} == set(fault.OPERATORS)


@pytest.mark.parametrize("student", STUDENTS[:5])
def test_the_drawn_fault_is_the_answer_under_any_of_its_names(tmp_path: Path, student: str) -> None:
    for name in fault.OPERATORS[fault.draw_fault(student).operator]:
        for spelt in (name, f"F.{name}", f"Functional.{name}.0.forward", f"aten::{name}"):
            given = answer(student, operator=spelt)
            assert check_task("fault", given, run_dir=tmp_path, student=student).status == DONE


@pytest.mark.parametrize("other", [{"step": 1}, {"step": 0}, {"rank": 7}, {"operator": "relu"}, {"rank": True}])
def test_two_of_three_are_not_accepted(tmp_path: Path, other: dict[str, Any]) -> None:
    outcome = check_task("fault", answer("li", **other), run_dir=tmp_path, student="li")
    assert outcome.status == NOT_YET and not outcome.right


def test_which_of_the_three_are_right_is_not_told(tmp_path: Path) -> None:
    said = [
        str(check_task("fault", answer("li", **other), run_dir=tmp_path, student="li"))
        for other in ({"step": 9}, {"step": 9}, {"rank": 9})
    ]
    assert said[1] == said[2]


@pytest.mark.parametrize("name", ["ｓｏｆｔｍａｘ", "softmax。", "F．softmax", "Ｓoftmax\u200b ", "算子：softmax"])
def test_what_an_input_method_makes_of_a_name_is_that_name(name: str) -> None:
    assert fault.operator_of(name) == "aten::_softmax"


def test_naming_every_operator_is_naming_none() -> None:
    every = " ".join(name for names in fault.OPERATORS.values() for name in names)
    assert fault.operator_of(every) is None and fault.operator_of("softmax tanh") is None


def test_another_students_answer_is_no_answer(tmp_path: Path) -> None:
    wrong = [one for one in STUDENTS if fault.draw_fault(one) != fault.draw_fault("li")]
    assert check_task("fault", answer("li"), run_dir=tmp_path, student=wrong[0]).status == NOT_YET


def test_captures_of_another_student_are_seen(tmp_path: Path) -> None:
    folder = tmp_path / "course" / "fault" / "target"
    folder.mkdir(parents=True)
    about = {"simulator": {"faults": ["aten::relu@step=2,rank=0:scale=1.01"]}}
    manifest.Manifest(folder, True, about).write_file()
    outcome = check_task("fault", answer("li"), run_dir=tmp_path, student="li")
    assert outcome.status == NOT_YET and "another student" in str(outcome)
    about["simulator"]["faults"] = [fault.draw_fault("li").setting]
    manifest.Manifest(folder, True, about).write_file()
    assert check_task("fault", answer("li"), run_dir=tmp_path, student="li").status == DONE


@pytest.mark.full
def test_the_drawn_fault_is_the_one_that_is_injected(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    _, target = fault.evidence(tmp_path, "li")
    about = json.loads((target / "capture.json").read_text())["about"]
    assert about["simulator"]["faults"] == [fault.draw_fault("li").setting] and about["nproc"] == fault.RANKS
