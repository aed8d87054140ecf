"""Values that right and wrong devices alike give: why, by the first reason that holds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ascend_workbook.precision.pairing import Pair
from ascend_workbook.precision.record import Operator, TensorRecord
from ascend_workbook.precision.tensors.agreement import Agreement, TensorAgreement
from ascend_workbook.precision.tensors.metrics import measure_arrays


def reason(dtype: str, *ends: float, size: int = 3, error: float = 0.0, values: list[float] | None = None) -> str:
    """Of a tensor with this maximum and minimum on both sides, measured where `values` are given."""
    record = TensorRecord("output.0", dtype, (size,), *(ends or (None, None)))
    array = np.array(values, np.float32)
    metrics = None if values is None else measure_arrays(array, array)
    return TensorAgreement("output.0", dtype, (size,), error, metrics=metrics).why_equal(record, record)


@pytest.mark.parametrize(
    ("dtype", "ends", "others", "expected"),
    [
        ("int64", (2.0, 0.0), {}, "whole"),
        ("bool", (1.0, 0.0), {}, "whole"),
        ("float32", (), {"size": 0}, "empty"),
        ("float32", (math.nan, math.nan), {}, "nonfinite"),
        ("float32", (), {"values": [math.nan, math.inf, -math.inf]}, "nonfinite"),
        ("float32", (), {"values": [math.nan, math.inf, 1.0]}, ""),
        ("float32", (0.0, 0.0), {}, "zero"),
        ("float32", (), {"values": [0.0, 0.0, 0.0]}, "zero"),
        ("float32", (0.5, 0.5), {}, "constant"),
        ("float32", (0.5, 0.25), {}, ""),
        ("float32", (0.5, 0.0), {}, ""),
        ("float32", (0.5, 0.5), {"size": 1}, ""),
        ("float32", (0.5, 0.5), {"size": 2}, "constant"),
        ("float32", (), {}, ""),
        ("float32", (), {"values": [1.0, 2.0, 3.0]}, ""),
        ("int64", (2.0, 0.0), {"error": 1e-9}, ""),
        ("float32", (math.nan, 1.0), {}, "nonfinite"),
        ("float32", (math.nan, 1.0), {"values": [1.0, 2.0, 3.0]}, ""),
        ("float32", (1.0, 2.0), {"values": [1.0, 2.0, 3.0]}, ""),
    ],
)
def test_the_reason(dtype: str, ends: tuple[float, ...], others: dict[str, Any], expected: str) -> None:
    assert reason(dtype, *ends, **others) == expected


def test_both_sides_have_to_be_floating() -> None:
    record = TensorRecord("output.0", "float32", (3,), 2.0, 1.0)
    tensor = TensorAgreement("output.0", "float32", (3,), 0.0)
    assert tensor.why_equal(record, replace(record, dtype="int64")) == "whole"
    assert tensor.why_equal(record, replace(record, maximum=None)) == "", "what one side does not tell is not judged"
    alike = replace(record, maximum=1.0)
    assert tensor.why_equal(alike, replace(record, maximum=None, minimum=None)) == "", "of one side alone nothing is"
    assert not tensor.summed, "no checksum told this"


def test_the_worst_output_is_the_pairs_error() -> None:
    call = Operator("Functional.f.0.forward", "Functional.f", 0, "forward", 0, (), ())
    slots = tuple(TensorAgreement(f"output.{at}", "float32", (), error) for at, error in enumerate((0.5, 0.25, None)))
    pair = Agreement(Pair(call, call), slots, slots)
    assert pair.error_out == pair.error_in == 0.5
    assert Agreement(Pair(call, call), (), ()).error_out is None
