"""Plain dumps of msprobe, without any record of the experiment: every other cause gets its own right verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.matrix import networks
from benchmarks.matrix.recorder import Recorder
from benchmarks.matrix.replaying import in_this_process
from helpers.precision.compare import compare
from helpers.report import Report

Loss = Callable[[nn.Module], Tensor]


def recorded(folder: Path, model: nn.Module, loss: Loss) -> Path:
    where = folder / "step0" / "rank0"
    recorder = Recorder(where)
    with recorder:
        value = loss(model)
    value.backward()
    recorder.save(where)
    return folder


class Decomposed(nn.Module):
    """A layer norm in several calls."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        size = (centred * centred).mean(-1, keepdim=True).add(self.norm.eps).sqrt()
        return centred / size * self.norm.weight + self.norm.bias


def seed(model: nn.Module, loss: Loss) -> tuple[nn.Module, Loss]:
    return networks.build("gpt", 6)


def weights(model: nn.Module, loss: Loss) -> tuple[nn.Module, Loss]:
    return networks.build("gpt", 6)[0], loss


def data(model: nn.Module, loss: Loss) -> tuple[nn.Module, Loss]:
    return model, networks.build("gpt", 6)[1]


def scaled(model: nn.Module, loss: Loss) -> tuple[nn.Module, Loss]:
    with torch.no_grad():
        model.blocks[1].up.weight.mul_(1.02)  # type: ignore[index,union-attr,operator]
    return model, loss


def missing(model: nn.Module, loss: Loss) -> tuple[nn.Module, Loss]:
    model.blocks[1].norm_two = nn.Identity()  # type: ignore[index,union-attr]
    return model, loss


def decomposed(model: nn.Module, loss: Loss) -> tuple[nn.Module, Loss]:
    model.blocks[1].norm_two = Decomposed(model.blocks[1].norm_two)  # type: ignore[index,union-attr,arg-type]
    return model, loss


def bf16(model: nn.Module, loss: Loss) -> tuple[nn.Module, Loss]:
    return model.bfloat16(), loss


def shifted(model: nn.Module, loss: Loss) -> tuple[nn.Module, Loss]:
    def later(given: nn.Module) -> Tensor:
        F.softmax(torch.ones(2, 3), -1)
        F.linear(torch.ones(2, 3), torch.ones(4, 3))
        return loss(given)

    return model, later


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("baseline"), *networks.build("gpt", 5))


@pytest.mark.parametrize(("change", "key", "named"), [
    (seed, "ACC204.seed", None), (weights, "ACC204.weights", None), (data, "ACC204.data", None),
    (scaled, "ACC204.few", None), (missing, "ACC230.missing", "Functional.layer_norm.3.forward"),
    (decomposed, "ACC210.only", None), (bf16, "ACC215.dtype", None), (shifted, "ACC210.only", None),
])  # fmt: skip
def test_each_gets_its_own_verdict(
    baseline: Path, tmp_path: Path, change: Callable[[nn.Module, Loss], tuple[nn.Module, Loss]], key: str,
    named: str | None,
) -> None:  # fmt: skip
    with in_this_process():
        report: Report = compare(baseline, recorded(tmp_path, *change(*networks.build("gpt", 5))))
    assert report.headline is not None and report.headline.key == key, report.verdict("en")
    assert report.facts["first_divergence"] == named
    if change is scaled:
        assert "1.02" in report.verdict("en") and "Functional.linear.6.forward input.1" in report.verdict("zh")


def test_the_same_is_the_same(baseline: Path, tmp_path: Path) -> None:
    with in_this_process():
        report: Report = compare(baseline, recorded(tmp_path, *networks.build("gpt", 5)))
    assert report.headline is not None and report.headline.key == "ACC230.identical"
