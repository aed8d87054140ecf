"""Scripts built on transformers and accelerate, and ranks under torchrun. About 60 seconds."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.machine.launch.running import output, run


@pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")
@pytest.mark.parametrize("transform", ["none", "baseline_cpu"])
def test_a_transformers_trainer(tmp_path: Path, transform: str) -> None:
    steps = 2 if transform == "baseline_cpu" else None
    result = run(tmp_path, "trainer.py", transform=transform, steps=steps)
    assert result.ok, (result.trouble, result.error)
    assert result.outcome == ("stopped_after" if steps else "finished")
    assert len(result.steps) == (steps or 5) and all(step.micro_batches == 2 for step in result.steps)
    assert ("DEVICE cuda" in output(result)) == (transform == "baseline_cpu")
    assert all(step.loss and step.grad_norm for step in result.steps)


@pytest.mark.skipif(find_spec("accelerate") is None, reason="accelerate is not installed")
@pytest.mark.parametrize("transform", ["none", "baseline_cpu"])
def test_accelerate(tmp_path: Path, transform: str) -> None:
    result = run(tmp_path, "accelerated.py", transform=transform)
    assert result.ok, (result.trouble, result.error)
    assert [step.micro_batches for step in result.steps] == [2, 2, 2, 2]
    assert ("DEVICE cuda" in output(result)) == (transform == "baseline_cpu")


def test_ranks_under_torchrun(tmp_path: Path) -> None:
    result = run(tmp_path, "rank.py", transform="baseline_cpu", nproc=2, steps=4)
    assert result.outcome == "stopped_after", (result.trouble, result.error)
    assert [(log.meta["rank"], log.meta["world_size"], len(log.steps)) for log in result.logs] == [(0, 2, 4), (1, 2, 4)]
    assert result.logs[0].losses != result.logs[1].losses
    # gradients are averaged over the ranks, so both see the same norm
    norms = [[step.grad_norm for step in log.steps] for log in result.logs]
    assert norms[0] == pytest.approx(norms[1], rel=1e-6)
    for rank in (0, 1):
        assert f"rank {rank} backend nccl mean 0.5" in output(result)
