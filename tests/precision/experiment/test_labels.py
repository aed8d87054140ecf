"""Labels go straight to the loss, past every module: no fingerprint of a capture tells them, the record does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.capturing.manifest import DUMP
from ascend_workbook.precision.compare import compare
from benchmarks.matrix import cases, fooled
from benchmarks.matrix.replaying import in_this_process


def captured(folder: Path, labels: Tensor) -> Path:
    torch.manual_seed(1)
    batch, model = torch.randn(4, 6), nn.Linear(6, 3)
    fooled.recorded(folder / DUMP, model, lambda given: F.cross_entropy(given(batch), labels))
    cases.describe(folder, "none", "tensor")
    return folder


@pytest.mark.parametrize(("labels", "key"), [([0, 1, 2, 0], "ACC230.identical"), ([0, 1, 2, 1], "ACC204.data")])
def test_other_labels_are_other_data(tmp_path: Path, labels: list[int], key: str) -> None:
    sides = [captured(tmp_path / name, torch.tensor(told)) for name, told in (("a", [0, 1, 2, 0]), ("b", labels))]
    with in_this_process():
        report = compare(*sides)
    found = {one.key: one for one in report.findings}
    assert key in found and report.facts["first_divergence"] is None
    if key == "ACC204.data":
        assert found[key].status is Status.FIX and "cross_entropy.0.forward input.1" in found[key].message("en")
