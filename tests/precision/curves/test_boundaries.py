"""Where a judgement of curves begins and ends: one value on either side, or a number worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding
from ascend_workbook.precision.curves import findings
from ascend_workbook.precision.curves.aligned import align_series, first_place, smooth_difference
from ascend_workbook.precision.curves.finals import SIGNS, Target
from ascend_workbook.precision.curves.scale import judge_scale
from ascend_workbook.precision.curves.series import Curve, Series
from ascend_workbook.precision.curves.spikes import Spike, find_spikes


def curve(begin: int = 1, **series: Sequence[float]) -> Curve:
    made = Curve(Path("a.log"), "text")
    for name, values in series.items():
        for at, value in enumerate(values):
            made.add_value(name, begin + at, value, at + 1)
    return made


def keys(some: list[Finding]) -> list[str]:
    return [finding.key for finding in some]


def series(values: Sequence[float]) -> Series:
    return curve(loss=values).series["loss"]


def test_a_loss_that_stays_up_for_64_values_is_lost_and_for_63_comes_back() -> None:
    for high, lasting in ((63, False), (64, True)):
        (spike,) = find_spikes(series([1.0] * 100 + [2.0] * high + [1.0] * 50)) or []
        assert (spike.first, spike.last, spike.lasting) == (101, 100 + high, lasting)
        assert (spike.peak, spike.level, spike.skip_first) == (2.0, 1.0, 100)


def test_a_rise_of_a_tenth_of_the_level_is_no_spike() -> None:
    quiet = [1.0] * 40
    assert find_spikes(series([*quiet, 1.1, *quiet])) == []
    assert [spike.first for spike in find_spikes(series([*quiet, 1.11, *quiet])) or []] == [41]


def test_a_spike_at_the_end_is_lasting_behind_eight_values() -> None:
    for high, lasting in ((8, False), (9, True)):
        (spike,) = find_spikes(series([1.0] * 60 + [2.0] * high)) or []
        assert spike.lasting is lasting
    assert find_spikes(series([1.0] * 24)) is None and find_spikes(series([1.0] * 25)) == []


def test_three_falls_more_than_the_baselines_are_not_yet_told() -> None:
    quiet = curve(loss_scale=[64.0, 32.0])
    for falls, told in ((4, []), (5, ["ACC254.falls"])):
        assert keys(judge_scale(quiet, curve(loss_scale=[2.0**power for power in range(10, 9 - falls, -1)]))) == told
    lowest = curve(loss_scale=[2.0, 1.0])
    assert keys(judge_scale(lowest, lowest)) == ["ACC254.minimum"]
    assert keys(judge_scale(lowest, curve(loss_scale=[4.0, 2.0]))) == []


def test_a_norm_that_is_no_number_is_explained_by_a_loss_scale_alone() -> None:
    norm = [1.0, math.inf, 1.0]
    assert keys(findings.find_not_finite(curve(grad_norm=norm))) == ["ACC251.nan_gradient"]
    assert keys(findings.find_not_finite(curve(grad_norm=norm, loss_scale=[8.0, 4.0, 4.0]))) == []
    both = curve(loss=[math.nan, 1.0], loss_scale=[8.0, 4.0])
    assert keys(findings.find_not_finite(both)) == ["ACC251.nan"]


@pytest.mark.parametrize(
    ("factors", "key"),
    [
        ([1.0] * 18 + [3.0] * 2, "ACC258.first"),  # nine in ten have one factor, and it is 1
        ([2.0] * 18 + [3.0] * 2, "ACC258.factor"),
        ([2.0] * 17 + [3.0] * 3, "ACC258.first"),
        ([1.005] * 18 + [3.0] * 2, "ACC258.first"),
    ],
)
def test_nine_norms_in_ten_make_a_factor_other_than_one(factors: list[float], key: str) -> None:
    left, right = curve(grad_norm=[1.0] * 20), curve(grad_norm=factors)
    (told,) = findings.judge_gradient(left, right, 0, 1e-3, None, before_update=False)
    assert told.key == key
    if key == "ACC258.factor":
        assert told.args["factor"] == 2.0 and told.args["step"] == 1


def test_a_norm_that_is_no_number_makes_no_factor_less() -> None:
    left, right = curve(grad_norm=[1.0] * 20), curve(grad_norm=[2.0] * 19 + [math.inf])
    (told,) = findings.judge_gradient(left, right, 0, 1e-3, None, before_update=False)
    assert (told.key, told.args["factor"]) == ("ACC258.factor", 2.0)


def test_three_of_five_values_part_two_curves() -> None:
    same = [1.0] * 20
    for beyond, place in (((5, 7), None), ((0, 1, 4), 0), ((0, 1, 5), None), ((5, 7, 9), 5), ((5, 7, 10), None)):
        values = [1.1 if at in beyond else 1.0 for at in range(20)]
        assert first_place(align_series(series(same), series(values)), 1e-3) == place
    ten = [1.0] * 9 + [1.1]
    assert first_place(align_series(series([1.0] * 10), series(ten)), 1e-3) == 9


def test_trailing_means_are_of_five_values() -> None:
    b = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0])
    smooth = smooth_difference(np.ones(6), b)
    assert smooth.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, pytest.approx(0.2)]
    assert np.isnan(smooth_difference(np.ones(6), np.array([math.nan, *b[1:]]))).tolist() == [True] * 5 + [False]


def test_at_most_five_runs_of_steps_are_named() -> None:
    assert findings.describe_ranges(np.array([3, 4, 5, 9])) == "3-5, 9"
    assert findings.describe_ranges(np.array([1, 2, 5, 8, 11, 14])) == "1-2, 5, 8, 11, 14"
    assert findings.describe_ranges(np.array([1, 2, 5, 8, 11, 14, 17])) == "1-2, 5, 8, 11, 14, ..."


def test_a_target_is_met_on_its_own_value_or_not() -> None:
    for sign, met in ((">=", True), ("<=", True), (">", False), ("<", False)):
        assert Target.parse_target(f" acc {sign} 0.5 ") == Target("acc", sign, 0.5)
        assert SIGNS[sign](0.5, 0.5) is met
        assert not SIGNS[sign](math.nan, 0.5)
    with pytest.raises(WorkbookError, match="1.2.3"):
        Target.parse_target("acc>=1.2.3")


def test_five_spikes_are_told_one_by_one_and_the_rest_is_counted() -> None:
    spikes = [Spike(10 * at, 10 * at, at, 2.0, 1.0, 10 * at) for at in range(7)]
    both, known = {side: curve(loss=[1.0] * 10) for side in ("baseline", "target")}, {"baseline": [], "target": []}
    for some, more in ((5, []), (7, [2])):
        told = findings.spike_findings({"baseline": [], "target": spikes[:some]}, both, known, 0)
        assert len(told) == 5 + len(more)
        assert [finding.args["count"] for finding in told if finding.key == "ACC253.more"] == more


def test_five_norms_tell_a_factor_and_four_do_not() -> None:
    for count, key in ((4, "ACC258.first"), (5, "ACC258.factor")):
        left, right = curve(grad_norm=[1.0] * count), curve(grad_norm=[2.0] * count)
        assert keys(findings.judge_gradient(left, right, 0, 1e-3, None, before_update=False)) == [key]


def test_no_batch_before_the_first_is_to_be_left_out() -> None:
    made = curve()
    for step in [*range(1, 31), *range(100, 5000, 100)]:
        made.add_value("loss", step, 2.0 if step == 27 else 1.0, step)
    (spike,) = find_spikes(made.series["loss"]) or []
    assert (spike.first, spike.skip_first) == (27, 0)


def test_steps_outside_the_range_of_both_are_not_missing() -> None:
    left, right = curve(loss=[1.0] * 9), curve(3, loss=[1.0] * 3)
    pair = align_series(left.series["loss"], right.series["loss"])
    assert pair.steps.tolist() == [3, 4, 5] and not len(pair.only_baseline) and not len(pair.only_target)


def test_curves_that_part_by_no_more_than_the_tolerance_are_not_called_shifted() -> None:
    """8, 9, 8, 9 beside 9, 8, 9, 8: an eighth apart as they stand, and equal one step on."""
    left, right = curve(loss=[8.0, 9.0] * 4), curve(loss=[9.0, 8.0] * 3 + [9.0])
    for tolerance, told in ((0.125, []), (0.124, ["ACC252.shifted"])):
        assert keys(findings.find_shift(left, right, tolerance, 0)) == told
    (told_one,) = findings.find_shift(left, right, 0.124, 0)
    assert (told_one.weight, dict(told_one.args)) == (120, {"shift": 1, "median": 0.0, "median_now": 0.125})
    four = curve(loss=[9.0, 8.0, 9.0, 8.0])
    assert keys(findings.find_shift(left, four, 0.1, 0)) == [], "four steps are too few to tell"
