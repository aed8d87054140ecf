"""Exercise B tells the error that it raises on purpose from any other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.sentence import show
from ascend_workbook.machine.launch import LaunchResult, Plugin
from course.exercises.editing import original
from course.exercises.running import CHILD, Trial, run_trial
from course.exercises.task import Place
from course.tasks import script

DIES = """import torch
import torch.nn.functional as F
weight = torch.nn.Parameter(torch.zeros(2, 3))
F.cross_entropy(weight, torch.tensor([0, 1])).backward()
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> LaunchResult:
    """The real plugin in a script that does not catch what it raises, on the CPU."""
    plugin = Plugin(CHILD / "out_of_memory.py", {"step": 1, "device": "NPU"})
    return run_trial(Trial(DIES, tmp_path_factory.mktemp("ended"), "cpu", plugins=[plugin]))


def said(result: LaunchResult, lang: str) -> tuple[list[Any], str]:
    told = [one for _, one in script._explain_end(result)]
    return [one["say"] for one in told], "\n".join(show(one, lang) for one in told)


@pytest.mark.parametrize(("lang", "word"), [("en", "on purpose"), ("zh", "特意安排")])
def test_the_error_on_purpose_gets_no_general_advice(ended: LaunchResult, lang: str, word: str) -> None:
    keys, text = said(ended, lang)
    assert keys == ["course.script.uncaught"] and word in text and "NPU out of memory" in text
    assert "HCCL_BUFFSIZE" not in text and "npu-smi" not in text and "CUDA" not in text


def test_another_error_keeps_its_cause(ended: LaunchResult) -> None:
    assert ended.error is not None
    other = replace(ended, error=replace(ended.error, message="NPU out of memory. Tried to allocate 9.00 GiB"))
    keys, text = said(other, "en")
    assert keys == ["course.run.failed", "course.script.short"] and "HCCL_BUFFSIZE" in text
    early = replace(other, logs=tuple(replace(log, notes=()) for log in other.logs))
    assert said(early, "zh")[0] == ["course.run.failed"]


@pytest.mark.parametrize(("lang", "whose"), [("en", "your changed script"), ("zh", "你改后的脚本")])
def test_open_lines_are_the_changed_scripts_and_shown(tmp_path: Path, lang: str, whose: str) -> None:
    text = "# one more line\n" + original(script.SCRIPT)
    good, told = script._judge_scan(Place(tmp_path), text)
    shown = show(told, lang)
    number = 1 + next(n for n, line in enumerate(text.split("\n")) if "CUDA out of memory" in line)
    assert not good and whose in shown and f'{number} `if "CUDA out of memory" not in str(error):`' in shown
