"""Runs that differ for another cause than a wrong operator, as plain dumps that tell nothing of the experiment: each
has its own right verdict, and no operator is blamed that is not to blame.

A case is what was changed, the rule's sentence that must be the headline, and the operator that is named, if any.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import compare
from benchmarks.matrix import networks
from benchmarks.matrix.recorder import Recorder

Loss = Callable[[nn.Module], Tensor]
Given = tuple[nn.Module, Loss]
SEED, OTHER = 5, 6


@dataclass(frozen=True)
class Case:
    """`change` makes the target of the network and its loss; `key` is the headline's; `named` the operator, or None."""

    name: str
    change: Callable[[nn.Module, Loss], Given]
    key: str
    named: str | None = None


class Decomposed(nn.Module):
    """A layer norm in several calls."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        size = (centred * centred).mean(-1, keepdim=True).add(self.norm.eps).sqrt()
        return centred / size * self.norm.weight + self.norm.bias


def same(model: nn.Module, loss: Loss) -> Given:
    return model, loss


def seed(model: nn.Module, loss: Loss) -> Given:
    return networks.build("gpt", OTHER)


def weights(model: nn.Module, loss: Loss) -> Given:
    return networks.build("gpt", OTHER)[0], loss


def data(model: nn.Module, loss: Loss) -> Given:
    return model, networks.build("gpt", OTHER)[1]


def scaled(model: nn.Module, loss: Loss) -> Given:
    with torch.no_grad():
        model.blocks[1].up.weight.mul_(1.02)  # type: ignore[index,union-attr,operator]
    return model, loss


def missing(model: nn.Module, loss: Loss) -> Given:
    model.blocks[1].norm_two = nn.Identity()  # type: ignore[index,union-attr]
    return model, loss


def decomposed(model: nn.Module, loss: Loss) -> Given:
    model.blocks[1].norm_two = Decomposed(model.blocks[1].norm_two)  # type: ignore[index,union-attr,arg-type]
    return model, loss


def bf16(model: nn.Module, loss: Loss) -> Given:
    return model.bfloat16(), loss


def shifted(model: nn.Module, loss: Loss) -> Given:
    """Two calls before the first of the network: all call numbers behind are others."""

    def later(given: nn.Module) -> Tensor:
        F.softmax(torch.ones(2, 3), -1)
        F.linear(torch.ones(2, 3), torch.ones(4, 3))
        return loss(given)

    return model, later


CASES = (
    Case("the same", same, "ACC230.identical"),
    Case("another seed", seed, "ACC204.seed"),
    Case("other weights", weights, "ACC204.weights"),
    Case("other data", data, "ACC204.data"),
    Case("one weight scaled 2 %", scaled, "ACC204.few"),
    Case("one operator missing", missing, "ACC230.missing", "Functional.layer_norm.3.forward"),
    Case("one operator decomposed", decomposed, "ACC210.only"),
    Case("bf16 against fp32", bf16, "ACC215.dtype"),
    Case("shifted call counts", shifted, "ACC210.only"),
)


def recorded(folder: Path, model: nn.Module, loss: Loss) -> Path:
    """A plain dump of one step."""
    where = folder / "step0" / "rank0"
    recorder = Recorder(where)
    with recorder:
        value = loss(model)
    value.backward()
    recorder.save(where)
    return folder


def verdict(baseline: Path, folder: Path, case: Case) -> Report:
    """The comparison of this case with the unchanged network's dump."""
    report: Report = compare(baseline, recorded(folder, *case.change(*networks.build("gpt", SEED))))
    return report


def table(root: Path) -> list[dict[str, Any]]:
    """Every case, its verdict in words, and whether it is its own right one; printed as well."""
    rows = []
    with tempfile.TemporaryDirectory(dir=root) as base:
        baseline = recorded(Path(base), *networks.build("gpt", SEED))
        for case in CASES:
            with tempfile.TemporaryDirectory(dir=root) as folder:
                report = verdict(baseline, Path(folder), case)
            key = report.headline.key if report.headline else ""
            right = key == case.key and report.facts["first_divergence"] == case.named
            rows.append({"case": case.name, "key": key, "named": report.facts["first_divergence"], "right": right})
            print(f"{case.name:<24} {'right' if right else 'WRONG':<6} {report.verdict('en')[:150]}", flush=True)
    return rows
