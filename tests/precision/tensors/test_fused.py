"""The compiled kernel and numpy find the same: every count and every largest, and sums to the last digits."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import native
from ascend_workbook.precision.tensors import fused
from ascend_workbook.precision.tensors.measuring import WHOLE, Job, Sample, measure_files
from ascend_workbook.precision.tensors.metrics import Meter
from ascend_workbook.precision.tensors.tensorfile import locate_tensor

pytestmark = pytest.mark.skipif(native.find_compiler() is None, reason="no C++ compiler")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
#: Bits of both sides: any, so that NaN, infinities, subnormals and zeros of both signs come too; alike or apart.
BITS = st.integers(0, 2**32 - 1)


@st.composite
def sides(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    dtype, size = draw(st.sampled_from(DTYPES)), draw(st.integers(1, 60))
    wide = draw(
        st.lists(st.one_of(BITS, st.sampled_from([0, 2**31, 0x7F800000, 0x7FC00000])), min_size=size, max_size=size)
    )
    finite = draw(st.booleans())
    found = []
    for _ in range(2):
        flips = draw(st.lists(st.sampled_from([0, 0, 1, 2, 4096]), min_size=size, max_size=size))
        bits = np.array(wide, np.uint32) ^ np.array(flips, np.uint32)
        value = (
            torch.from_numpy(bits.view(np.float32).copy())
            if dtype == torch.float32
            else torch.from_numpy((bits >> 16).astype(np.uint16).view(np.int16)).view(dtype)
        )
        found.append(torch.nan_to_num(value, 1.0, 2.0, -2.0) if finite else value)
    return found[0], found[1]


def both(folder: Path, one: torch.Tensor, other: torch.Tensor, sample: Sample, block: int) -> list[dict[str, object]]:
    """Metrics by the kernel and by numpy."""
    paths = [folder / "one.pt", folder / "other.pt"]
    for path, value in zip(paths, (one, other)):
        torch.save(value, path)
    job = Job(paths[0], paths[1], tuple(one.shape), tuple(other.shape))
    with pytest.MonkeyPatch.context() as patch:
        quick = measure_files(job, sample, block)
        patch.setattr(fused, "load_kernel", lambda: None)
        return [asdict(quick), asdict(measure_files(job, sample, block))]


def same(found: list[dict[str, object]]) -> None:
    for name, value in found[1].items():
        close = name in ("relative_l2", "cosine", "euclidean", "norm_target", "norm_baseline", "sampling")
        assert found[0][name] == (pytest.approx(value, rel=1e-12, abs=1e-300) if close and value is not None else value)


@given(sides(), st.integers(1, 70), st.sampled_from([1.0, 0.4]))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_finds_what_numpy_finds(
    tmp_path: Path, pair: tuple[torch.Tensor, torch.Tensor], block: int, share: float
) -> None:
    same(both(tmp_path, *pair, Sample(share, 1), block))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_more_than_one_chunk(tmp_path: Path, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(3)
    base = torch.randn(3 * 4096 + 5, generator=generator)
    other = base * (1 + 1e-3 * torch.randn(base.shape, generator=generator))
    same(both(tmp_path, other.to(dtype), base.to(dtype), WHOLE, 2 * 4096 + 3))


def test_nan_in_one_block_leaves_the_others_to_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = torch.ones(1000)
    base[450] = torch.nan
    by_python: list[int] = []
    plain = Meter.add_block
    monkeypatch.setattr(Meter, "add_block", lambda self, x, y: (by_python.append(x.size), plain(self, x, y)))
    found = both(tmp_path, base, torch.ones(1000), WHOLE, 100)
    assert by_python[:1] == [100] and len(by_python) == 11
    assert found[0] == found[1] and found[0]["nonfinite_places"] == 1


def test_every_half_has_its_value(tmp_path: Path) -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    values = torch.from_numpy(bits.view(np.int16)).view(torch.float16)
    values = values[torch.isfinite(values)]
    same(both(tmp_path, values, torch.ones_like(values), WHOLE, 512))


def test_a_file_that_ends_too_early_is_told(tmp_path: Path) -> None:
    path = tmp_path / "short.npy"
    np.save(path, np.ones(1000, np.float32))
    whole = locate_tensor(path)
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size - 40)
    meter = Meter(np.float32, np.float32, 200)
    assert fused.kernel_takes(whole, whole)
    with pytest.raises(WorkbookError, match=r"short\.npy"):
        fused.add_all(meter, whole, whole, 100, None)


def test_other_dtypes_are_left_to_python(tmp_path: Path) -> None:
    for name, value in (("double", np.ones(3)), ("single", np.ones(3, np.float32)), ("half", np.ones(3, np.float16))):
        np.save(tmp_path / f"{name}.npy", value)
    double, single, half = (locate_tensor(tmp_path / f"{name}.npy") for name in ("double", "single", "half"))
    assert not fused.kernel_takes(double, double) and not fused.kernel_takes(single, half)
    assert fused.kernel_takes(single, single) and fused.kernel_takes(half, half)


def test_a_kernel_where_there_is_a_library_and_else_none(monkeypatch: pytest.MonkeyPatch) -> None:
    fused.load_kernel.cache_clear()
    assert fused.load_kernel() is not None and fused.explain_missing_kernel() is None
    why = WorkbookError("precision.sample", given=2.0)
    monkeypatch.setattr(native, "load_library", lambda _: native.Native(None, why))
    fused.load_kernel.cache_clear()
    assert fused.load_kernel() is None and fused.explain_missing_kernel() is why
    fused.load_kernel.cache_clear()


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_dtype_is_measured_by_the_kernel_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    """3 and 4 against 3 and 5: the error is 1 of sqrt(34), and Python reads no block of it."""
    for name, values in (("a", [3.0, 4.0]), ("b", [3.0, 5.0])):
        torch.save(torch.tensor(values, dtype=dtype), tmp_path / f"{name}.pt")
    monkeypatch.setattr(Meter, "add_block", None)
    found = measure_files(Job(tmp_path / "a.pt", tmp_path / "b.pt", (2,), (2,)), WHOLE)
    assert found.relative_l2 == pytest.approx(34**-0.5) and (found.measured, found.unequal) == (2, 1)


def test_every_block_of_the_kernel_is_a_part(tmp_path: Path) -> None:
    """Blocks of two against 1, 1, 2, 2 and 3: squares of the difference 1 + 4, 4 + 9 and 4, of the baseline 2, 8, 9."""
    for name, values in (("a", [2.0, 3.0, 4.0, 5.0, 5.0]), ("b", [1.0, 1.0, 2.0, 2.0, 3.0])):
        np.save(tmp_path / f"{name}.npy", np.array(values, np.float32))
    sides = [locate_tensor(tmp_path / f"{name}.npy") for name in "ab"]
    for chosen, parts in (([0, 1, 2], [(5.0, 2.0), (13.0, 8.0), (4.0, 9.0)]), ([1], [(13.0, 8.0)])):
        meter = Meter(np.float32, np.float32, 2, parts=True)
        fused.add_all(meter, *sides, 2, chosen)
        assert meter.parts == [(*part, 0, 0) for part in parts]
    meter = Meter(np.float32, np.float32, 2)
    fused.add_all(meter, *sides, 2, None)
    assert meter.parts is None and meter.make_metrics(5).euclidean == pytest.approx(22**0.5)
