"""What was not saved on both sides is compared by what both have. Checksums are those that msprobe 26.2 gave."""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.record import TensorRecord
from ascend_workbook.precision.tensors.agreement import compare_figures
from tests.precision.networks import convolutions
from tests.precision.test_compare import keys, scaled

EIGHTHS = torch.arange(15.0).reshape(3, 5) / 8 - 1
#: Tensor, msprobe's md5, msprobe's xor.
SUMS = {
    "float32": (EIGHTHS, "42546472", "0x3f6000003f800000"),
    "bfloat16": (EIGHTHS.relu().bfloat16() + 1, "55c58d2d", "0x3fb0004000400040"),
    "transposed": (torch.arange(15.0).reshape(3, 5).t(), "16f23524", "0x3ef0000040400000"),
    "int32, half a word left": (torch.arange(7).int(), "8cdeba77", "0x0000000700000000"),
    "scalar": ((EIGHTHS.relu().bfloat16() + 1).sum(), "ce2f85ff", "17.625"),
}


def saved(tensor: torch.Tensor, folder: Path) -> TensorRecord:
    torch.save(tensor, folder / "t.pt")
    return TensorRecord("output.0", str(tensor.dtype)[6:], tuple(tensor.shape), file=folder / "t.pt")


def told(tensor: torch.Tensor, **numbers: Any) -> TensorRecord:
    return TensorRecord("output.0", str(tensor.dtype)[6:], tuple(tensor.shape), **numbers)


@pytest.mark.parametrize("case", SUMS)
@pytest.mark.parametrize("manner", [1, 2])
def test_a_saved_tensor_has_msprobes_checksum(tmp_path: Path, case: str, manner: int) -> None:
    tensor, checksum = SUMS[case][0], str(SUMS[case][manner])
    record = saved(tensor, tmp_path)
    assert compare_figures(record, told(tensor, checksum=checksum)) == (0.0, 0.0, True)
    assert compare_figures(told(tensor, checksum=checksum), record)[2] is True
    other = saved(tensor + 1, tmp_path)
    assert compare_figures(other, told(tensor, checksum=checksum)) == (None, None, False)


def test_before_late_2025_a_bfloat16_is_summed_as_float32(tmp_path: Path) -> None:
    tensor = SUMS["bfloat16"][0]
    old = f"{zlib.crc32(tensor.float().numpy().tobytes()):08x}"
    assert compare_figures(saved(tensor, tmp_path), told(tensor, checksum=old))[2] is True


FLOATS = st.floats(-(2.0**99), 2.0**99, width=32, allow_subnormal=False)


@settings(max_examples=25, deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=40), st.floats(0.5, 2))
def test_statistics_are_held_against_a_saved_tensor(tmp_path_factory: Any, values: list[float], factor: float) -> None:
    tensor = torch.tensor(values)
    wide = tensor.double() * factor
    numbers = {"maximum": float(wide.max()), "minimum": float(wide.min()), "norm": float(wide.norm())}
    error, _, same = compare_figures(saved(tensor, tmp_path_factory.mktemp("t")), told(tensor, **numbers))
    assert same is None and error is not None
    assert error == pytest.approx(abs(1 / factor - 1) if tensor.any() else 0.0, abs=1e-9)


def test_odd_numbers(tmp_path: Path) -> None:
    tensor = torch.tensor([1.0, math.nan, -2.0])
    numbers = {"maximum": math.nan, "minimum": math.nan, "norm": math.nan}
    assert compare_figures(saved(tensor, tmp_path), told(tensor, **numbers))[0] == 0.0
    assert compare_figures(saved(tensor, tmp_path), told(tensor, **{**numbers, "maximum": 1.0}))[0] == math.inf
    empty = torch.ones(0)
    assert compare_figures(saved(empty, tmp_path), told(empty, maximum=1.0)) == (None, None, None)
    (tmp_path / "t.pt").write_bytes(b"")
    with pytest.raises(WorkbookError, match=r"t\.pt"):
        compare_figures(TensorRecord("o", "float32", (3,), file=tmp_path / "t.pt"), told(tensor, checksum="00000000"))


def test_another_dtype_has_another_checksum() -> None:
    left, right = told(EIGHTHS, checksum="0"), told(EIGHTHS.half(), checksum="0")
    assert compare_figures(left, right) == (None, None, None)


@pytest.fixture(scope="module")
def summed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return convolutions(tmp_path_factory.mktemp("summed"), task="md5")


def test_equal_checksums_are_equal_tensors(summed: Path, tmp_path: Path) -> None:
    for other in (convolutions(tmp_path / "tensors"), convolutions(tmp_path / "md5", task="md5")):
        report = compare(summed, other, replaying=False)
        assert report.headline is not None and report.headline.key == "ACC230.same_checksums"
        assert "ACC215.summed" in keys(report) and not keys(report) & {"ACC215.checksum", "ACC215.statistics"}


@pytest.mark.parametrize("task", ["tensor", "md5"])
def test_another_checksum_is_told_and_blames_nobody(summed: Path, tmp_path: Path, task: str) -> None:
    other = convolutions(tmp_path, task=task, faults={"Functional.relu.1.forward": scaled(1 + 1e-6)})
    report = compare(summed, other, replaying=False)
    (odd,) = (one for one in report.findings if one.key == "ACC215.checksum")
    assert odd.status is Status.LOOK and odd.args["names"][0] == "Functional.relu.1.forward output.0"  # type: ignore[index]
    assert report.facts["first_divergence"] is None and report.status >= Status.LOOK
    assert "by how much is not known" in report.text("en") and "ACC215.autograd" not in keys(report)


@pytest.mark.parametrize("factor", [1.0, 1.2])
def test_statistics_against_tensors(tmp_path: Path, factor: float) -> None:
    name = "Functional.conv2d.1.forward"
    left = convolutions(tmp_path / "a", task="statistics")
    report = compare(left, convolutions(tmp_path / "b", faults={name: scaled(factor)}))
    assert report.facts["first_divergence"] == (name if factor != 1.0 else None)
    assert "ACC215.statistics" in keys(report)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_norm_of_a_saved_side_is_held_against_the_one_that_was_told(tmp_path: Path, dtype: torch.dtype) -> None:
    """3, 4 and 0: norm 5. The extremes agree, so that the norm alone tells; without one it is not asked for."""
    mine = saved(torch.tensor([3.0, 4.0, 0.0], dtype=dtype), tmp_path)
    ends = {"maximum": 4.0, "minimum": 0.0}
    other = torch.zeros(3, dtype=dtype)
    assert compare_figures(mine, told(other, **ends, norm=5.0)) == (0.0, 0.0, None)
    assert compare_figures(mine, told(other, **ends, norm=4.0)) == (0.25, 1.0, None)
    assert compare_figures(mine, told(other, **ends)) == (0.0, 0.0, None)
