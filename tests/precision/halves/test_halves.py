"""Where gradients lie in a 16-bit format, held against numpy's own rounding; and what a loss scale's moves say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.halves import BFLOAT16, FLOAT16, gradient_exponents, scale_history, scale_moves
from ascend_workbook.precision.halves.exponents import LOST, NORMAL, OVERFLOW, SUBNORMAL, format_scale
from ascend_workbook.show.charts import describe_chart


def dump(folder: Path, gradients: np.ndarray, direction: str = "backward", shape: bool = True) -> Path:
    """An msprobe dump of one step whose one operator gave out these gradients."""
    tensors = folder / "step0" / "rank0" / "dump_tensor_data"
    tensors.mkdir(parents=True)
    name = f"Torch.mul.0.{direction}"
    np.save(tensors / f"{name}.output.0.npy", gradients)
    record = {
        "type": "torch.Tensor",
        "dtype": "torch.float32",
        "shape": list(gradients.shape),
        "Max": 1.0,
        "Min": 0.0,
        "Mean": 0.5,
        "Norm": 1.0,
        "requires_grad": False,
        "data_name": f"{name}.output.0.npy",
    }
    entry = {"input": [], "output": [record]} if direction == "backward" else {"input_args": [], "output": [record]}
    told = {
        "task": "tensor",
        "level": "L1",
        "framework": "pytorch",
        "dump_data_dir": str(tensors),
        "data": {name: entry},
    }
    (tensors.parent / "dump.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


def log(folder: Path, *scales: float) -> Path:
    path = folder / "output.log"
    path.write_text("".join(f"step {at} loss 0.5 loss_scale {scale:.0f}\n" for at, scale in enumerate(scales, 1)))
    return path


@pytest.mark.parametrize("exponent", range(-30, 20))
def test_a_fate_is_what_rounding_makes_of_a_value(exponent: int) -> None:
    with np.errstate(over="ignore"):
        became = float(np.float32(1.5 * 2.0**exponent).astype(np.float16))
    smallest = float(np.finfo(np.float16).smallest_normal)
    kinds = {
        LOST: became == 0,
        SUBNORMAL: 0 < became < smallest,
        NORMAL: smallest <= became < np.inf,
        OVERFLOW: became == np.inf,
    }
    assert kinds[FLOAT16.fate_of_exponent(exponent)], (exponent, became)


def test_the_ends_of_both_formats() -> None:
    assert FLOAT16.largest == float(np.finfo(np.float16).max) and FLOAT16.smallest == -24
    assert float(np.float64(FLOAT16.infinite * (1 - 1e-9)).astype(np.float16)) == FLOAT16.largest
    assert BFLOAT16.largest == pytest.approx(3.3895314e38) and BFLOAT16.fate_of_exponent(-120) == NORMAL
    assert [format_scale(65536), format_scale(2.0**34), format_scale(3e9), format_scale(0.5)] == [
        "65536",
        "2**34",
        "3e+09",
        "0.5",
    ]


def test_gradients_are_counted_as_float16_would_keep_them(tmp_path: Path) -> None:
    gradients = (np.random.default_rng(0).standard_normal(20000) * 1e-7).astype(np.float32)
    gradients[:100] = 0
    report = gradient_exponents(dump(tmp_path, gradients), scale=8)
    some = gradients[gradients != 0]
    lost = float(np.mean((some * 8).astype(np.float16) == 0))
    assert report.facts["zero"] == 100 and report.facts["gradients"] == len(some)
    assert report.facts["lost"] == pytest.approx(lost, abs=0.02) and lost > 0.02
    assert report.status is Status.LOOK and report.findings[0].key == "ACC295.lost"


def test_the_scales_that_serve_are_tight(tmp_path: Path) -> None:
    gradients = (np.random.default_rng(1).standard_normal(20000) * 1e-9).astype(np.float32)
    folder = dump(tmp_path, gradients)
    low, high = (gradient_exponents(folder).facts[f"{end}_scale"] for end in ("lowest", "highest"))
    with np.errstate(over="ignore"):
        assert np.isfinite((gradients * high).astype(np.float16)).all()
        assert not np.isfinite((gradients * 2 * high).astype(np.float16)).all()
    assert np.mean((gradients * low).astype(np.float16) == 0) < 0.01
    assert np.mean((gradients * low / 2).astype(np.float16) == 0) > 0.01
    assert gradient_exponents(folder, scale=low).status is Status.GOOD
    assert gradient_exponents(folder, scale=2 * high).findings[0].key == "ACC295.overflow"


def test_a_loss_and_a_forward_are_no_gradients(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="backward"):
        gradient_exponents(dump(tmp_path / "forward", np.ones(4, np.float32), "forward"))
    with pytest.raises(WorkbookError, match="backward"):  # a single number: autocast leaves the loss in float32
        gradient_exponents(dump(tmp_path / "loss", np.array(1.0, np.float32)))


def test_gradients_that_are_all_zero_are_not_called_kept(tmp_path: Path) -> None:
    report = gradient_exponents(dump(tmp_path, np.zeros(8, np.float32)))
    assert report.status is Status.FIX and report.facts["lowest_scale"] is None


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), 2**2000])
def test_a_scale_that_cannot_be(tmp_path: Path, scale: float) -> None:
    with pytest.raises(WorkbookError, match=r"loss scale of (0|-1|nan|inf|2\*\*2000) cannot be"):
        gradient_exponents(tmp_path, scale)


def test_moves_tell_which_gradient_made_them(tmp_path: Path) -> None:
    report = scale_moves(log(tmp_path, 1024, 512, 512, 512, 1024, 1024))
    assert report.table
    rows = [row[:5] for row in report.table.rows]
    assert rows == [(2, {"say": "halves.backoff"}, "1024", "512", 2), (5, {"say": "halves.growth"}, "512", "1024", 3)]
    assert report.facts["largest_gradient_at_least"] == [65504 / 1024]
    assert "fell 1 times and grew 1 times" in report.verdict("en")


def test_the_history_marks_falls_alone(tmp_path: Path) -> None:
    report = scale_history(log(tmp_path, 1024, 512, 512, 1024))
    assert report.chart and report.chart.marks == (2,)
    assert describe_chart(report).startswith("lines by step: loss_scale (4 points 512..1024)")


def test_a_scale_that_never_moves_and_a_log_without_one(tmp_path: Path) -> None:
    assert scale_moves(log(tmp_path, 1024, 1024)).findings[0].key == "ACC296.still"
    (tmp_path / "bare.log").write_text("step 1 loss 0.5\n")
    with pytest.raises(WorkbookError, match="no loss scale"):
        scale_history(tmp_path / "bare.log")
