"""Times of kernels: by hand, monotone, and always a range."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.estimates.basis import Basis, FamilyTimes, load_basis
from ascend_workbook.estimates.chips import find_chip, known_chips
from ascend_workbook.estimates.kernels import Kernel, estimate_kernel, estimate_kernels, predict_microseconds
from ascend_workbook.estimates.loads import FAMILIES, Load, Product, measure_kernel

CHIP = find_chip("910B3")
TIMES = FamilyTimes(2.0, 0.5, 1.0, 0.0, 0.5, 0.3, 0.2)
BASIS = Basis("by hand", "2026-11-27", {"elementwise": TIMES, "matmul": TIMES}, 0.8, 0.5)


def add(*sizes: int) -> Kernel:
    return Kernel("Add", (sizes, sizes), ("FLOAT", "FLOAT"), (sizes,), ("FLOAT",))


def product(rows: int, columns: int, depth: int, dtype: str = "FLOAT16") -> Kernel:
    return Kernel("MatMulV3", ((rows, depth), (depth, columns)), (dtype, dtype), ((rows, columns),), (dtype,))


def test_a_stream_by_hand() -> None:
    # 3 x 400 MB over half of 1.6 TB/s are 1500 us, and 2 us of launch
    assert estimate_kernel(add(100_000_000), CHIP, BASIS).middle == pytest.approx(1502.0)


def test_a_product_by_hand() -> None:
    # 20 tiles of 128 x 256 on 20 cores: all at work at half their peak of 294.912 TFLOPS
    told = estimate_kernel(product(1280, 512, 4096), CHIP, BASIS)
    work = 2 * 1280 * 512 * 4096 / (0.5 * 294.912e12) * 1e6
    # the first panels of a tile, 256 deep, and its last, over a core's share of half of 1.6 TB/s
    ends = 2 * ((128 + 256) * 256 + 128 * 256) / (0.5 * 1.6e12 / 20) * 1e6
    assert told.middle == pytest.approx(2.0 + work + ends)
    # one tile more needs a second round of all cores
    assert estimate_kernel(product(1281, 512, 4096), CHIP, BASIS).middle > 2.0 + 1.5 * work


def test_a_turned_operand_slows_the_cubes() -> None:
    times = replace(TIMES, turned=0.8)
    plain, turned = (
        measure_kernel(Kernel("MatMulV3", (left, (8192, 4096)), ("FLOAT16",) * 2, ((1536, 4096),), ("FLOAT16",)))
        for left in ((1536, 8192), (8192, 1536))
    )
    before, after = (predict_microseconds(load, CHIP, times) for load in (plain, turned))
    ends = before - 2.0 - plain.operations / (0.5 * CHIP.cube_flops * 96 / 100) * 1e6  # 96 tiles, five rounds of 20
    assert 0 < ends < 0.02 * before and after - 2.0 - ends == pytest.approx((before - 2.0 - ends) / 0.8)


def test_attentions_gradient_waits_for_what_its_cores_write_for_one_another() -> None:
    heads = Kernel("FlashAttentionScoreGrad", ((4096, 1, 2048),) * 3, ("DT_BF16",) * 3, (), ())
    times = replace(TIMES, cache_gain=2.0, cube=0.9)
    cubes = 10 * 4096**2 * 2048 / (0.9 * CHIP.cube_flops * CHIP.bfloat16_part) * 1e6
    written = 20 * 4096**2 * 16 / (1.6e12 * 0.5 * 2.0) * 1e6
    assert predict_microseconds(measure_kernel(heads), CHIP, times) == pytest.approx(2.0 + cubes + written)


def test_float32_takes_four_times_as_long_and_bfloat16_a_little_longer() -> None:
    sizes = (5120, 5120, 5120)
    ends = 2 * ((128 + 256) * 256 + 128 * 256) / (0.5 * 1.6e12 / 20) * 1e6
    half = estimate_kernel(product(*sizes), CHIP, BASIS).middle - 2 - ends
    assert estimate_kernel(product(*sizes, "FLOAT"), CHIP, BASIS).middle - 2 - 2 * ends == pytest.approx(4 * half)
    brain = estimate_kernel(product(*sizes, "DT_BF16"), CHIP, BASIS).middle - 2 - ends
    assert brain == pytest.approx(half / CHIP.bfloat16_part)


def test_elements_on_the_vector_cores_can_set_the_pace() -> None:
    times = replace(TIMES, cycles=2.0)
    # 1e6 elements x 2 cycles over 40 cores of 1.8 GHz
    assert predict_microseconds(Load("norm", 0.0, 1e6), CHIP, times) == pytest.approx(2.0 + 2e6 / (40 * 1.8e9) * 1e6)


def test_what_lies_in_the_cache_is_faster() -> None:
    times = replace(TIMES, cache_gain=3.0)
    small, large = Load("elementwise", 1e7, 0.0), Load("elementwise", 1e10, 0.0)
    assert predict_microseconds(small, CHIP, times) - 2 == pytest.approx(1e7 / (1.6e12 * 0.5 * 3) * 1e6, rel=1e-2)
    assert predict_microseconds(large, CHIP, times) - 2 == pytest.approx(1e10 / (1.6e12 * 0.5) * 1e6, rel=1e-2)


def test_half_of_the_gain_is_left_where_the_data_fills_a_part_of_the_cache() -> None:
    load = Load("elementwise", 0.45 * CHIP.cache_bytes, 0.0)
    told = predict_microseconds(load, CHIP, replace(TIMES, cache_gain=3.0)) - 2
    assert told == pytest.approx(load.bytes / (1.6e12 * 0.5 * 2) * 1e6)


def test_small_tiles_keep_more_cores_at_work_but_each_is_slower() -> None:
    # 20 tiles of 128 x 128 on 20 cores at 0.85 of their speed; ten of 128 x 256 would leave half of them idle
    load = measure_kernel(product(640, 512, 4096))
    ends = 2 * ((128 + 256) * 256 + 128 * 256) / (0.5 * 1.6e12 / 20) * 1e6
    assert predict_microseconds(load, CHIP, TIMES) - 2 - ends == pytest.approx(
        load.operations / (0.5 * 0.85 * CHIP.cube_flops) * 1e6
    )


def test_half_of_the_panels_is_read_anew_where_the_cores_read_two_caches_at_once() -> None:
    depth = round(2 * CHIP.cache_bytes / (20 * (128 + 256) * 2))
    load = measure_kernel(product(2560, 1024, depth))  # 20 x 4 tiles
    fast = replace(TIMES, cube=1000.0)  # so that the memory sets the pace
    ends = 2 * ((128 + 256) * 256 + 128 * 256) / (0.5 * 1.6e12 / 20)
    anew = 0.5 * 80 * (128 + 256) * depth * 2
    assert predict_microseconds(load, CHIP, fast) - 2 == pytest.approx(
        ((load.bytes + anew) / (0.5 * 1.6e12) + ends) * 1e6, rel=1e-3
    )


def test_eight_bits_are_twice_as_fast_and_attention_as_fast_in_bfloat16() -> None:
    sizes = (5120, 5120, 5120)
    half, eight = (estimate_kernel(product(*sizes, kind), CHIP, BASIS).middle - 2 for kind in ("FLOAT16", "INT8"))
    assert eight == pytest.approx(half / 2, rel=1e-2)
    attentions = (
        Kernel("FlashAttentionScore", ((4096, 1, 2048),) * 3, (kind,) * 3, (), ()) for kind in ("FLOAT16", "DT_BF16")
    )
    first, second = (predict_microseconds(measure_kernel(kernel), CHIP, TIMES) for kernel in attentions)
    assert first == second


def test_errors_of_two_equal_shares_are_a_root_of_two_smaller() -> None:
    mixed = estimate_kernels([add(10**9), add(10**9 + 1)], CHIP, BASIS).range
    spread = math.hypot(TIMES.family_spread, TIMES.kernel_spread / math.sqrt(2))
    assert mixed.high / mixed.middle == pytest.approx(math.exp(1.2816 * spread), rel=1e-6)


def test_a_very_deep_product_reads_its_operands_anew() -> None:
    deep = measure_kernel(product(4096, 1024, 151936))
    assert predict_microseconds(deep, CHIP, TIMES) > 2 * predict_microseconds(replace(deep, product=None), CHIP, TIMES)


def test_kernels_of_one_family_err_together() -> None:
    one = estimate_kernel(add(10**7), CHIP, BASIS)
    many = estimate_kernels([add(10**7)] * 100, CHIP, BASIS)
    assert many.range.middle == pytest.approx(100 * one.middle)
    assert many.range.high == pytest.approx(100 * one.high), "a hundred times the same shape errs a hundred times alike"
    mixed = estimate_kernels([add(10**7 + at) for at in range(100)], CHIP, BASIS)
    assert mixed.range.high < many.range.high, "errors of different shapes cancel in part"
    assert mixed.range.high > mixed.range.middle * 1.25, "what the family errs does not"


def test_a_family_never_measured_has_the_widest_range() -> None:
    pooled = Kernel("MaxPoolV3", ((32, 64, 55, 55),), ("FLOAT",), ((32, 64, 27, 27),), ("FLOAT",))
    told = estimate_kernel(pooled, CHIP, BASIS)
    assert (
        told.high / told.middle
        > estimate_kernel(add(100), CHIP, BASIS).high / estimate_kernel(add(100), CHIP, BASIS).middle
    )


def test_nothing_takes_no_time() -> None:
    assert estimate_kernels([], CHIP, BASIS).range.high == 0


SIZES = st.integers(1, 2**15)
KINDS = st.sampled_from(sorted({kind for _, kinds in FAMILIES for kind in kinds} | {"Add", "Mul"}))


@given(KINDS, st.sampled_from(known_chips()), SIZES, SIZES, st.sampled_from(["FLOAT", "FLOAT16", "DT_BF16", "INT8"]))
def test_every_kernel_has_a_range_in_order(kind: str, chip: object, rows: int, columns: int, dtype: str) -> None:
    shape = (rows, columns)
    told = estimate_kernel(Kernel(kind, (shape, shape), (dtype, dtype), (shape,), (dtype,)), chip, load_basis())  # type: ignore[arg-type]
    assert 0 < told.low < told.middle < told.high


@given(st.integers(1, 2**34), st.integers(0, 2**34), st.integers(0, 2**40), st.integers(1, 8))
def test_more_bytes_or_more_work_never_take_less(size: int, elements: int, work: int, factor: int) -> None:
    for family, times in load_basis().families.items():
        load = Load(family, float(size), float(elements), float(work), 2.0)
        least = predict_microseconds(load, CHIP, times)
        for more in (
            replace(load, bytes=load.bytes * factor),
            replace(load, elements=load.elements * factor),
            replace(load, operations=load.operations * factor),
        ):
            assert predict_microseconds(more, CHIP, times) >= least * (1 - 1e-12)


@given(SIZES, SIZES, SIZES, st.integers(1, 4096))
def test_a_larger_product_never_takes_less(rows: int, columns: int, depth: int, more: int) -> None:
    def said(*sizes: int) -> float:
        load = measure_kernel(product(*sizes))
        return predict_microseconds(replace(load, product=Product(1, *sizes)), CHIP, TIMES)

    least = said(rows, columns, depth) * (1 - 1e-12)
    assert said(rows + more, columns, depth) >= least
    assert said(rows, columns + more, depth) >= least
    assert said(rows, columns, depth + more) >= least


def test_ten_thousand_kernels_take_a_third_of_a_second_at_most() -> None:
    kernels = [add(4096, 64 + at) for at in range(5000)] + [product(1024 + at, 2048, 1024) for at in range(5000)]
    start = time.process_time()
    estimate_kernels(kernels, CHIP, BASIS)
    assert time.process_time() - start < 0.3
