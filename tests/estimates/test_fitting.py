"""The fit finds numbers that made the times; spreads come from what it had not seen."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ascend_workbook.estimates.basis import FamilyTimes
from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.estimates.fitting import (
    LEAST_SPREAD,
    Measured,
    fit_families,
    group_kernels,
    is_possible,
    leave_out,
    make_basis,
    refit_family,
)
from ascend_workbook.estimates.kernels import Kernel, predict_microseconds
from ascend_workbook.estimates.loads import measure_kernel

CHIP = find_chip("910B3")
TRUE = FamilyTimes(4.0, 0.6, 2.0, 0.0, 0.7, 0.5, 0.5)


def add(size: int) -> Kernel:
    return Kernel("Add", ((size,), (size,)), ("FLOAT", "FLOAT"), ((size,),), ("FLOAT",))


def workload(factor: float, sizes: range) -> list[Measured]:
    """Return a workload whose kernels take `factor` times what TRUE says."""
    kernels = [add(2**size) for size in sizes]
    return [Measured(one, CHIP, factor * predict_microseconds(measure_kernel(one), CHIP, TRUE), 10) for one in kernels]


def test_the_fit_finds_the_numbers_that_made_the_times() -> None:
    times = fit_families({"made": workload(1.0, range(8, 30))})["elementwise"]
    assert (times.launch_us, times.memory, times.cache_gain) == (4.0, 0.6, 2.0)
    assert (times.shapes, times.workloads) == (22, 1)


def test_a_workload_that_is_twice_as_slow_is_off_by_two_when_left_out() -> None:
    errors = leave_out({"one": workload(1.0, range(8, 30)), "slow": workload(2.0, range(8, 30))})
    assert {error.workload: round(math.exp(error.family_error), 1) for error in errors} == {"one": 0.5, "slow": 2.0}
    assert all(error.known for error in errors)


def test_spreads_are_those_of_left_out_workloads() -> None:
    same = make_basis({name: workload(1.0, range(8, 30)) for name in "abc"}, "same", "d")
    assert same.families["elementwise"].family_spread == same.families["elementwise"].kernel_spread == LEAST_SPREAD
    other = make_basis({name: workload(factor, range(8, 30)) for name, factor in zip("abc", (1, 1, 3))}, "other", "d")
    assert other.families["elementwise"].family_spread > 0.5, "though two of three fit perfectly"


def test_what_was_held_back_widens_the_ranges() -> None:
    known = {name: workload(1.0, range(8, 30)) for name in "abc"}
    basis = make_basis(known, "b", "d", {"held": workload(4.0, range(8, 30))})
    assert basis.families["elementwise"].family_spread > 0.5
    assert basis.families["elementwise"].memory == 0.6, "the numbers are not fitted on it"


def test_the_median_of_equal_kernels_counts() -> None:
    (case,) = group_kernels([(add(8), 1.0), (add(8), 2.0), (add(8), 90.0)], CHIP)
    assert (case.microseconds, case.count) == (2.0, 3)


def test_a_row_that_cannot_be_is_left_out() -> None:
    huge = Kernel("ZerosLike", ((1676480000,),), ("FLOAT",), ((1676480000,),), ("FLOAT",))
    assert not is_possible(measure_kernel(huge), CHIP, 612.0)  # 11 TB/s
    assert is_possible(measure_kernel(huge), CHIP, 4300.0)
    assert group_kernels([(huge, 612.0)], CHIP) == []


def test_a_refit_tells_the_spread_of_shapes_it_had_not_seen() -> None:
    kernels = workload(1.5, range(8, 30))
    start = replace(TRUE, family_spread=0.4)
    exact = refit_family(kernels, start)
    assert exact.family_spread < 0.2 and exact.workloads == 1
    jagged = [
        replace(case, microseconds=case.microseconds * (2.0 if at % 2 else 0.5)) for at, case in enumerate(kernels)
    ]
    assert refit_family(jagged, start).kernel_spread > 0.5
    said = sum(predict_microseconds(measure_kernel(case.kernel), CHIP, exact) for case in kernels)
    assert said == pytest.approx(sum(case.microseconds for case in kernels), rel=0.2)


def test_what_one_shape_alone_tells_is_not_known_without_it() -> None:
    small = workload(1.0, range(3, 7))
    (huge,) = workload(6.0, range(30, 31))
    assert refit_family([*small, huge], TRUE).family_spread > 0.5, (
        "left out, the only large kernel is told six times too fast"
    )
