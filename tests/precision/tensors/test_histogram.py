"""Both sides in the same bins: every finite element once, what is not finite apart, how far elements lie apart."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.tensors import histogram
from ascend_workbook.precision.tensors.histogram import BINS, NEAREST, Histogram, count_values
from ascend_workbook.precision.tensors.measuring import Job, Sample


def count_both(folder: Path, target: torch.Tensor, baseline: torch.Tensor, share: float = 1.0) -> Histogram | None:
    for name, value in (("a", target), ("b", baseline)):
        torch.save(value, folder / f"{name}.pt")
    shapes = tuple(target.shape), tuple(baseline.shape)
    return count_values(Job(folder / "a.pt", folder / "b.pt", *shapes), Sample(share))


def test_each_element_is_counted_once_in_the_same_bins(tmp_path: Path) -> None:
    baseline = torch.linspace(-1, 3, 1000)
    counted = count_both(tmp_path, baseline * 1.5, baseline)
    assert counted is not None and (counted.low, counted.high) == (-1.5, 4.5)
    assert sum(counted.baseline) == sum(counted.target) == counted.read == counted.size == 1000
    assert list(counted.baseline) == np.histogram(baseline.numpy(), BINS, (-1.5, 4.5))[0].tolist()
    assert counted.baseline != counted.target and counted.baseline[-1] == 0 < counted.target[-1]


def test_what_is_not_finite_is_counted_apart_and_moves_no_bin(tmp_path: Path) -> None:
    odd = torch.tensor([math.nan, math.inf, math.inf, -math.inf, 1.0, 2.0])
    counted = count_both(tmp_path, odd, torch.tensor([0.0, math.nan, 1.0, 1.0, 1.0, 2.0]))
    assert counted is not None and counted.odd_target == (1, 2, 1) and counted.odd_baseline == (1, 0, 0)
    assert (counted.low, counted.high) == (0.0, 2.0) and (sum(counted.target), sum(counted.baseline)) == (2, 5)
    assert counted.equal == 2 and sum(counted.apart) == 0, "pairs of which one is not finite are neither"


def test_one_wrong_element_and_all_a_little_wrong_look_different(tmp_path: Path) -> None:
    baseline = torch.ones(100)
    lone = baseline.clone()
    lone[7] += 0.5
    one, every = count_both(tmp_path, lone, baseline), count_both(tmp_path, baseline * 1.05, baseline)
    assert one is not None and every is not None
    assert one.equal == 99 and one.apart[-1 - NEAREST] == 1, "one, by a tenth to one of the size"
    assert every.equal == 0 and every.apart[-2 - NEAREST] == 100, "all, by a hundredth to a tenth"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.bool])
def test_any_dtype_and_any_layout(tmp_path: Path, dtype: torch.dtype) -> None:
    value = (torch.arange(24).reshape(4, 6) % 5).to(dtype)
    counted = count_both(tmp_path, value.t(), value.t().contiguous())
    assert counted is not None and counted.baseline == counted.target and counted.equal == 24


def test_complex_numbers_are_counted_by_their_parts(tmp_path: Path) -> None:
    value = torch.complex(torch.arange(4.0), -torch.arange(4.0))
    counted = count_both(tmp_path, value, value)
    assert counted is not None and (counted.low, counted.high, sum(counted.target)) == (-3.0, 3.0, 8)
    assert counted.read == counted.size == 8, "no share: all was read"


def test_equal_values_have_a_bin_of_some_width(tmp_path: Path) -> None:
    counted = count_both(tmp_path, torch.zeros(3), torch.zeros(3))
    assert counted is not None and counted.low < 0 < counted.high and sum(counted.target) == 3


@pytest.mark.parametrize("values", [[], [math.nan, math.inf], [1.7e308, -1.7e308]])
def test_where_there_is_nothing_to_draw_none_is_answered(tmp_path: Path, values: list[float]) -> None:
    value = torch.tensor(values, dtype=torch.float64)
    assert count_both(tmp_path, value, value) is None


def test_of_much_a_share_is_read_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histogram, "MOST", 5000)
    value = torch.randn(50_000)
    counted = count_both(tmp_path, value, value)
    assert counted is not None and counted.size == 50_000 and 2000 < counted.read < 10_000
    assert sum(counted.target) == counted.read
    part = count_both(tmp_path, value[:4000], value[:4000], share=0.25)
    assert part is not None and part.read < part.size == 4000


def test_a_file_of_another_shape_is_an_error(tmp_path: Path) -> None:
    torch.save(torch.zeros(3), tmp_path / "a.pt")
    with pytest.raises(WorkbookError):
        count_values(Job(tmp_path / "a.pt", tmp_path / "a.pt", (4,), (4,)), Sample())
