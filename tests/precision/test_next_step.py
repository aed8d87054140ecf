"""ACC230's next step fits what lies there and what was done already."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.machine import device
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.divergence import replay
from tests.precision.dumps import as_capture
from tests.precision.networks import convolutions

NAME = "Functional.conv2d.1.forward"
RUN: dict[str, Any] = {"script": "my net.py", "args": ["--lr", "{x}"], "steps": 3, "tier": "npu-simulated"}


def captured(folder: Path, *, task: str = "tensor", factor: float = 1.0, **about: Any) -> Path:
    convolutions(folder / "dump", task=task, faults={NAME: lambda value: value * factor})
    return as_capture(folder, **about)


def next_step(baseline: Path, target: Path, *tiers: str) -> str:
    report = compare(baseline, target, replay_on=tiers)
    assert report.headline is not None and report.facts["first_divergence"] == NAME
    assert report.headline.hint("zh")
    return report.headline.hint("en")


@pytest.mark.parametrize("known", [True, False])
def test_without_saved_inputs_they_are_to_be_captured(tmp_path: Path, known: bool) -> None:
    run = RUN if known else {}
    told = next_step(
        captured(tmp_path / "a", task="statistics", **run),
        captured(tmp_path / "b", task="statistics", factor=1.5, **run),
    )
    assert "No inputs were saved" in told and ("ascend-workbook capture" in told) == known


def test_a_fault_that_did_not_come_again_is_to_be_captured_again_with_the_same_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the device it was captured on; the simulator's kernels are the CPU's, which stands in for it here."""
    here = replay.ask_child

    def ask(job: dict[str, Any], *_: str, tier: str = "cpu") -> Any:
        return here(job if tier == "cpu" else {**job, "device": "cpu"})

    monkeypatch.setattr(replay, "ask_child", ask)
    monkeypatch.setattr(device, "cannot_be", lambda tier: None)
    sides = captured(tmp_path / "a", **RUN), captured(tmp_path / "b", factor=1.01, **RUN)
    assert next_step(*sides).startswith("Run it alone")
    told = next_step(*sides, "npu-simulated")
    assert told.startswith("Capture again: does it return?") and "Run it alone" not in told
    words = shlex.split(told.split("`")[1])
    assert words[:4] == ["ascend-workbook", "capture", "--device", "npu-simulated"]
    assert words[-3:] == ["/home/user/my net.py", "--lr", "{x}"] and "tensor" in words
