"""The host's launches beside the kernels' time."""

from __future__ import annotations

import pytest

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.estimates.launches import NO, UNSURE, YES, estimate_launches, judge_host_bound
from ascend_workbook.estimates.ranges import Range


def test_launches_add_up() -> None:
    host = load_basis().about["host"]
    assert estimate_launches(1000) == Range(host["low_us"], host["middle_us"], host["high_us"]).times(1000)
    assert estimate_launches(0).high == 0


@pytest.mark.parametrize("kernel_us, answer", [(1.0, YES), (5.0, YES), (30.0, UNSURE), (100.0, NO)])
def test_whether_the_host_holds_up_the_device(kernel_us: float, answer: str) -> None:
    assert judge_host_bound(1000, Range.exactly(1000 * kernel_us)) == answer
