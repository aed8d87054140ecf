"""Two watched runs: a gradient that leaps or is gone at one step of the target alone is told, rounding is not."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.precision.curves import curves
from ascend_workbook.precision.watching import watch_training
from tests.precision.watching.trainings import MODELS, loss_of

STEPS = 80


def train(folder: Path, name: str, seed: int, *, factor: float = 1.0, at: int = 0, one: bool = False) -> Path:
    """Train a model; a target differs from its baseline by rounding, and by its fault at one step."""
    torch.manual_seed(seed)
    model = MODELS[name]()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    watcher = watch_training(model, optimizer, out=folder, quiet=True)
    noise = torch.Generator().manual_seed(len(folder.name))
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss = loss_of(model, 32)
        loss.backward()
        gradients = [value.grad for value in model.parameters() if value.grad is not None]
        for gradient in gradients if folder.name != "baseline" else ():
            gradient.mul_(1 + 1e-6 * torch.randn(gradient.shape, generator=noise))
        if step == at:
            matrices = [gradient for gradient in gradients if gradient.dim() > 1]
            for gradient in [random.Random(seed).choice(matrices)] if one else gradients:
                gradient.mul_(factor)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        watcher.log(loss=loss)
        optimizer.step()
    watcher.close()
    return folder


def judge(folder: Path, name: str, seed: int, **fault: float | bool) -> list[Finding]:
    baseline = train(folder / "baseline", name, seed)
    target = train(folder / "target", name, seed, **fault)  # type: ignore[arg-type]
    return [finding for finding in curves(baseline, target).findings if finding.rule == "ACC258"]


@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize("factor", [80.0, 0.0])
def test_a_gradient_that_leaps_or_is_gone_on_the_target_alone_is_told(tmp_path: Path, factor: float, one: bool) -> None:
    (finding,) = judge(tmp_path, "perceptron", 1, factor=factor, at=50, one=one)
    assert finding.args["step"] == 50 and finding.status is Status.LOOK
    assert finding.key == ("ACC258.parameter" if one and not factor else "ACC258.lone")
    assert finding.place is not None and finding.place.line == 51


@pytest.mark.full
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_every_model_tells_its_step(tmp_path: Path, name: str, seed: int) -> None:
    at = random.Random(f"{name} {seed}").randrange(20, STEPS)
    for number, (factor, one) in enumerate([(80.0, False), (80.0, True), (0.0, False), (0.0, True)]):
        (finding,) = judge(tmp_path / str(number), name, seed, factor=factor, at=at, one=one)
        assert finding.args["step"] == at


@pytest.mark.parametrize("name", MODELS)
def test_rounding_is_no_finding(tmp_path: Path, name: str) -> None:
    assert judge(tmp_path, name, 2) == []


def test_a_fault_on_both_sides_is_no_difference(tmp_path: Path) -> None:
    baseline = train(tmp_path / "baseline", "perceptron", 3, factor=80.0, at=50)
    target = train(tmp_path / "target", "perceptron", 3, factor=80.0, at=50)
    assert not [finding for finding in curves(baseline, target).findings if finding.rule == "ACC258"]
