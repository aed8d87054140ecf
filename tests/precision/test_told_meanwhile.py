"""What the verbs of precision tell while they work, in the language asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.launch import Progress
from ascend_workbook.precision.baselines.verb import Timed
from ascend_workbook.precision.bisect import bisect
from ascend_workbook.precision.capture import _make_progress_teller
from helpers import verify
from tests.precision.networks import convolutions

bisect_module = sys.modules["ascend_workbook.precision.bisect"]


@pytest.fixture(params=["en", "zh"])
def lang(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ASCEND_WORKBOOK_LANG", request.param)
    return str(request.param)


def test_steps_of_a_capture(lang: str, tmp_path: Path) -> None:
    said: list[str] = []
    tell = _make_progress_teller(said.append, "cpu", tmp_path, 1)
    assert tell is not None
    for step in (0, 0, 1):
        tell(Progress(step, 2, None, ()))
    assert said == {"en": ["cpu: step 0/2", "cpu: step 1/2"], "zh": ["cpu：第 0/2 步", "cpu：第 1/2 步"]}[lang]


def test_inputs_of_verify(lang: str) -> None:
    said: list[str] = []
    model = torch.nn.Linear(2, 2)
    verify(model, model, [torch.ones(1, 2), torch.zeros(1, 2)], progress=said.append)
    assert said[-1] == {"en": "input 1: 2 of 2 passed", "zh": "输入 1：2 个中 2 个通过"}[lang] and len(said) == 2


def test_where_bisect_looks(lang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place that statistics point at is told before its tensors are captured."""
    faults = {"target": {"Functional.batch_norm.1.forward": lambda value: value * 1.5}}
    said: list[str] = []

    def capture(script: str, args: list[str], *, out: Path, task: str, **options: Any) -> Report:
        said.append(f"{task} of {out.name}")
        if task == "tensor":
            raise WorkbookError("precision.in_use", path=str(out))
        convolutions(out, task=task, step=3, rank="rank1", faults=faults.get(out.name))
        return Report("precision", "capture", (), facts={"bytes": 1})

    monkeypatch.setattr(bisect_module, "capture", capture)
    with pytest.raises(WorkbookError):
        bisect("train.py", out=tmp_path, steps=4, dump_steps=(3,), nproc=2, progress=said.append)
    assert said[:2] == ["statistics of baseline", "statistics of target"] and said[3] == "tensor of baseline"
    assert said[2].startswith({"en": "captured whole next", "zh": "接下来完整采集"}[lang])
    assert {"en": "step 3 rank 1", "zh": "第 3 步 rank 1"}[lang] in said[2]
    assert "Functional.batch_norm.1.forward" in said[2]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (20, {"en": "cuda: 20 steps for", "zh": "cuda：运行 20 步"}),
        (0, {"en": "cuda: to the script", "zh": "cuda：运行至"}),
    ],
)
def test_the_second_run_of_a_baseline(lang: str, steps: int, said: dict[str, str]) -> None:
    assert Timed(steps, 3, None).describe_run("cuda").startswith(said[lang])
