"""The table of what rounding explains, each number computed by hand."""

from __future__ import annotations

import pytest

from ascend_workbook.precision.tensors import tolerance


@pytest.mark.parametrize(
    ("dtype", "bits", "sums"),
    [
        ("float64", 53, 32),
        ("float32", 24, 32),
        ("float16", 11, 4),
        ("bfloat16", 8, 4),
        ("complex128", 53, 32),
        ("complex64", 24, 32),
        ("float8_e4m3fn", 4, 4),
        ("float8_e5m2", 3, 4),
    ],
)
def test_a_dtypes_rounding(dtype: str, bits: int, sums: int) -> None:
    assert tolerance.unit_roundoff(dtype) == 1 / 2**bits
    assert tolerance.rounding_floor([dtype]) == sums / 2**bits
    assert tolerance.allowed_roundings([dtype]) == sums / 2


def test_the_coarsest_dtype_decides() -> None:
    assert tolerance.rounding_floor(["float32", "bfloat16", "float64"]) == 4 / 256
    assert tolerance.allowed_roundings(["float64", "float16", "float32"]) == 2.0
    assert (tolerance.unit_roundoff("int64"), tolerance.rounding_floor(["int64"]), tolerance.rounding_floor([])) == (
        0.0,
        0.0,
        0.0,
    )


def test_reduced_formats_are_those_of_their_kind() -> None:
    told = {"conv": "hf32", "matmul": "tf32"}
    assert [tolerance.reduced_format(api, told) for api in ("conv2d", "linear", "gelu")] == ["hf32", "tf32", ""]
    assert tolerance.reduced_format("conv2d", {}) == tolerance.reduced_format("linear", {}) == ""
    assert [tolerance.reduced_unit(form) for form in ("hf32", "tf32", "")] == [1 / 4096, 1 / 2048, 0.0]
    assert [tolerance.reduced_floor(form) for form in ("hf32", "tf32", "")] == [1 / 1024, 1 / 512, 0.0]


def test_integers_and_unknown_dtypes_have_no_rounding_of_their_own() -> None:
    assert [tolerance.allowed_roundings(dtypes) for dtypes in ([], ["int64"], ["int64", "float32"])] == [2.0, 2.0, 16.0]


def test_an_error_may_grow_tenfold_and_a_hundredfold_where_extremes_are_compared() -> None:
    """More than rounding allows of the coarsest dtype."""
    assert (tolerance.AMPLIFICATION, tolerance.AMPLIFICATION_OF_STATISTICS) == (10.0, 100.0)
    assert tolerance.allowed_roundings(["float8_e5m2"]) < tolerance.AMPLIFICATION
