"""The dtype that a float32 tensor's numbers are of."""

from __future__ import annotations

import math

import pytest

from ascend_workbook.precision.divergence import _held_dtype
from ascend_workbook.precision.record import TensorRecord

#: A float16 and a bfloat16 number that are no powers of two, and one that neither holds.
HALF, BRAIN, SINGLE = 1.0009765625, 1.0078125 * 2.0**100, 1.1


@pytest.mark.parametrize(
    ("extremes", "expected"),
    [
        ((HALF, -HALF), "float16"),
        ((BRAIN, -BRAIN), "bfloat16"),
        ((SINGLE, HALF), ""),
        ((HALF, SINGLE), ""),
        ((HALF, BRAIN), ""),
        ((HALF, 2.0), ""),
        ((HALF, 0.0), ""),
        ((HALF, -0.25), ""),
        ((HALF, None), ""),
        ((HALF, math.inf), ""),
        ((1.5, 3.0), "float16"),
        ((6.0, -12.0), "float16"),
    ],
)
def test_two_numbers_that_are_no_powers_of_two_tell(extremes: tuple[float, float | None], expected: str) -> None:
    assert _held_dtype([TensorRecord("input.0", "float32", (4,), maximum=extremes[0], minimum=extremes[1])]) == expected


def test_other_dtypes_tell_nothing() -> None:
    assert _held_dtype([TensorRecord("input.0", "float16", (4,), maximum=HALF, minimum=-HALF)]) == ""
