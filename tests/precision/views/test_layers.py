"""Fixed limits err where the judgement does not: a scale passes the cosine, honest noise fails the elements."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.views.layers import fixed_limits
from tests.precision.dumps import as_capture
from tests.precision.networks import convolutions

WRONG = "Functional.batch_norm.1.forward"


def noisy(value: torch.Tensor) -> torch.Tensor:
    """Off by what HF32 does to the inputs of a convolution."""
    draw = torch.Generator().manual_seed(0)
    return value + value.norm() / value.numel() ** 0.5 * 2e-4 * torch.randn(value.shape, generator=draw)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    root = tmp_path_factory.mktemp("thumb")
    rounded = {f"Functional.conv2d.{call}.{way}": noisy for call in range(3) for way in ("forward", "backward")}
    convolutions(root / "gpu" / "dump")
    convolutions(root / "npu" / "dump", faults={**rounded, WRONG: lambda value: value * 1.003})
    target = as_capture(root / "npu", tier="npu", numerics={"conv": "hf32"})
    return compare(as_capture(root / "gpu", tier="cuda"), target)


def test_the_three_verdicts_stand_side_by_side(report: Report) -> None:
    limits = fixed_limits(report)
    assert limits.table and limits.headline is not None
    rows = {str(row[0]): row for row in limits.table.rows}
    failed, passed = {"say": "layer.failed"}, {"say": "layer.passed"}
    assert (rows[WRONG][3], rows[WRONG][8]) == (passed, failed), "the cosine is blind to a scale"
    honest = rows["Functional.conv2d.0.forward"]
    assert (honest[5], honest[8]) == (failed, passed) and 0 < honest[4] < 1, "honest rounding fails per element"
    args = limits.headline.args
    assert args["cosine"] == 0 and args["noise"] == 1 and int(str(args["elements"])) > 5
    assert "0.003" in str(rows[WRONG][6]) or rows[WRONG][6] == pytest.approx(3e-3, rel=0.2)


def test_other_limits_reject_more(report: Report) -> None:
    strict, wide = fixed_limits(report, cosine=1.1, atol=0.0, rtol=0.0), fixed_limits(report, atol=1e9)
    assert strict.headline is not None and strict.headline.args["cosine"] == strict.headline.args["of"]
    assert wide.headline is not None and wide.headline.args["elements"] == 0


def test_statistics_have_nothing_to_hold_against(tmp_path: Path) -> None:
    plain = convolutions(tmp_path, task="statistics")
    assert fixed_limits(compare(plain, plain)).status is Status.NOT_LOOKED
