"""The CPU standing in for CUDA: what GPU scripts do, and what is refused by name. About 25 seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.sentence import say
from ascend_workbook.machine.launch import RunLog
from tests.machine.launch.running import SCRIPTS, output, run

DIGITS = SCRIPTS.parents[3] / "notebooks" / "scripts" / "resnet_digits.py"


def test_idioms(tmp_path: Path) -> None:
    result = run(tmp_path, "cuda_idioms.py", transform="baseline_cpu")
    lines = output(result).splitlines()
    assert result.ok, result.error
    assert not [line for line in lines if line.startswith(("WRONG", "SILENT"))]
    assert len([line for line in lines if line.startswith("ok")]) >= 50
    refused = {line.split()[1].rstrip(":"): line for line in lines if line.startswith("raises")}
    for feature in ("CUDAGraph", "make_graphed_callables", "memory_snapshot", "jiterator"):
        assert f"NotStandIn: torch.cuda.{feature}" in refused[feature]
    assert "invalid device ordinal (cuda:3 of 1 devices" in output(result)
    assert "raises way past the map: NotStandIn" in output(result)
    assert {"code": "memory_not_measured", "args": {"call": "torch.cuda.max_memory_allocated"}} in result.logs[0].notes
    assert result.remarks
    for remark in result.remarks:
        assert say(remark.key, "zh", **remark.args)


def test_without_the_stand_in_a_gpu_script_fails(tmp_path: Path) -> None:
    result = run(tmp_path, DIGITS, transform="none")
    assert result.outcome == "failed" and "this script needs a GPU" in output(result)


def test_a_whole_script_learns_saves_and_resumes(tmp_path: Path) -> None:
    args = ("--epochs", "1", "--depth", "14", "--width", "8", "--workers", "1")
    first = run(tmp_path / "first", DIGITS, *args, transform="baseline_cpu")
    assert first.outcome == "finished" and len(first.steps) == 22, first.error
    assert first.standing_in == RunLog.load_log(tmp_path / "first" / "gpulog.json").meta["standing_in"]
    checkpoint = tmp_path / "first" / "work" / "checkpoints" / "best.pt"
    assert checkpoint.is_file()
    more = ("--epochs", "2", "--depth", "14", "--width", "8", "--resume", str(checkpoint.with_name("last.pt")))
    second = run(tmp_path / "second", DIGITS, *more, transform="baseline_cpu")
    assert len(second.steps) == 22, second.error
    assert "resumed from" in output(second)
    means = [sum(loss or 0.0 for loss in result.losses) / 22 for result in (first, second)]
    assert 0.0 < means[1] < 0.75 * means[0]


def test_activation_checkpointing_draws_the_same_numbers_again(tmp_path: Path) -> None:
    """Its gradients are those without it, step by step, and what is drawn after it is the same too."""
    result = run(tmp_path, "checkpointed.py", transform="baseline_cpu")
    assert result.ok, result.error
    words = [line.split() for line in output(result).splitlines()]
    numbers = {line[0]: line[1:] for line in words if len(line) == 4}
    assert len(numbers) == 11, output(result)
    for way in ("reentrant", "reentrant_in_parts", "other", "other_in_parts", "nested"):
        assert numbers[way] == numbers["plain"], way
    for way in ("autocast_reentrant", "autocast_other"):
        assert numbers[way] == numbers["autocast_plain"] != numbers["plain"], way
    for way in ("reentrant_not_preserved", "other_not_preserved"):  # drawn again, as on CUDA
        assert numbers[way][0] != numbers["plain"][0], way


def test_ddp_ranks_get_a_device_each(tmp_path: Path) -> None:
    script = tmp_path / "too_many.py"
    script.write_text("import torch\ntorch.cuda.set_device(1)\n")
    result = run(tmp_path / "out", script, transform="baseline_cpu")
    assert result.error is not None and "invalid device ordinal" in result.error.message


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
