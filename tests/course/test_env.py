"""The unpaired server: what the command leaves is judged, not what it looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.environment.readiness import report_on
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from course import DONE, NOT_YET, PARTLY, check_task
from course.exercises import machines
from course.tasks import env

#: A student for each torch, and the answer.
STUDENTS = {env.machine(name).python.packages["torch"]: name for name in ("a", "b", "c", "d", "e", "f", "g", "h")}
RIGHT = {"2.8.0": "2.8.0.post2", "2.7.1": "2.7.1.post2", "2.6.0": "2.6.0.post5"}


def answer(torch: str, torch_npu: str, command: str) -> dict[str, str]:
    return {"torch": torch, "torch_npu": torch_npu, "command": command}


def judged(tmp_path: Path, torch: str, given: dict[str, str]) -> tuple[str, list[str]]:
    outcome = check_task("env", given, run_dir=tmp_path, student=STUDENTS[torch])
    return outcome.status, [str(one["say"]).rpartition(".")[2] for one in outcome.missing]


@pytest.mark.parametrize("torch", machines.TORCHES)
def test_the_server_is_broken_and_can_be_mended(tmp_path: Path, torch: str) -> None:
    assert report_on(machines.unpaired_machine(torch), {}).status is Status.FIX
    command = f"python3 -m pip install --no-deps torch_npu=={RIGHT[torch]}"
    assert judged(tmp_path, torch, answer(torch, RIGHT[torch], command)) == (DONE, [])


@pytest.mark.parametrize(
    ("torch", "torch_npu", "command", "status", "missing"),
    [
        ("2.8.0", "2.8.0", "pip install --no-deps torch_npu==2.8.0", PARTLY, ["no_cann"]),
        ("2.9.0", "2.9.0", "pip install torch==2.9.0", PARTLY, ["torch_replaced"]),
        ("2.8.0", "2.9.0", "pip install --no-deps torch_npu==2.9.0", NOT_YET, ["no_pair"]),
        ("2.8.0", "2.8.0.post2", "pip install torch_npu", PARTLY, ["command"]),
        ("2.8.0", "2.8.0.post2", "pip install --no-deps torch_npu==2.8.0.post4", PARTLY, ["command_leaves"]),
        ("2.8.0", "2.8.0.post2", "rm -rf / # torch_npu==2.8.0.post2", PARTLY, ["command"]),
        ("2.8.0", "2.8.0.post2", "pip install 'torch_npu==2.8.0.post2", PARTLY, ["command"]),
        ("2.8.0", "2.8.0.post2", "pip install --no-deps torch_npu＝＝2.8.0.post2", PARTLY, ["strange"]),
        ("2.8.0", "2.8.0.post2", "pip install\u00a0--no-deps torch_npu==2.8.0.post2", PARTLY, ["strange"]),
        ("2.8.0", "2.8.0.post2", "pip install --no-deps torch_npu==２.8.0.post2", PARTLY, ["strange"]),
        ("the right one", "2.8.0.post2", "pip install torch_npu==2.8.0.post2", NOT_YET, ["no_version"]),
    ],
)
def test_wrong_answers(
    tmp_path: Path, torch: str, torch_npu: str, command: str, status: str, missing: list[str]
) -> None:
    found, why = judged(tmp_path, "2.8.0", answer(torch, torch_npu, command))
    assert found == status and set(missing) <= set(why)


@pytest.mark.parametrize("before", ["!", "%", "  "])
@pytest.mark.parametrize("torch", ["2.8.0", "２．８．０", " 2.8.0\u200b", "2.8.0。"])
def test_what_an_input_method_makes_of_a_version_is_that_version(tmp_path: Path, torch: str, before: str) -> None:
    given = answer(torch, "２.8.0.post2", f"{before}pip install --no-deps torch_npu==2.8.0.post2")
    assert judged(tmp_path, "2.8.0", given) == (DONE, [])


def test_another_students_answer_does_not_fit(tmp_path: Path) -> None:
    given = answer("2.8.0", "2.8.0.post2", "pip install --no-deps torch_npu==2.8.0.post2 torch==2.8.0")
    assert judged(tmp_path, "2.7.1", given)[0] != DONE


def test_torch_npu_with_its_dependencies_brings_its_own_torch() -> None:
    after = env.outcome_of("pip install torch_npu==2.8.0.post2", {"torch": "2.7.1"})
    assert after == {"torch": "2.8.0", "torch_npu": "2.8.0.post2"}
    with pytest.raises(WorkbookError) as refused:
        env.outcome_of("pip install torch==2.7.1 torch-npu==2.8.0", {"torch": "2.7.1"})
    assert refused.value.key == "course.env.conflict"
