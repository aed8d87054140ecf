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
from ascend_workbook.precision.curves.finals import SIGNS, Target, final_value, judge_finals, judge_targets
from ascend_workbook.precision.curves.scale import judge_scale, scale_history_of, skipped_steps
from ascend_workbook.precision.curves.series import Checkpoint, Curve, Series
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


def test_curves_that_lie_just_the_tolerance_apart_one_step_on_are_shifted() -> None:
    """4, 8, 4, 8 beside 9, 4.5, 9, 4.5: an eighth apart one step on, and 5/4 or 7/16 as they stand."""
    left, right = curve(loss=[4.0, 8.0] * 4), curve(loss=[9.0, 4.5] * 4)
    for tolerance, told in ((0.125, ["ACC252.shifted"]), (0.124, [])):
        assert keys(findings.find_shift(left, right, tolerance, 0)) == told


def test_a_factor_that_is_just_as_near_to_one_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "SPREAD", 0.125)
    for factor, told in ((1.125, None), (0.875, None), (1.25, 1.25), (0.75, 0.75)):
        pair = align_series(series([1.0] * 5), series([factor] * 5))
        assert findings._common_factor(pair, np.zeros(5, bool)) == told


#: A tolerance of which ten- and a hundredfold are whole parts of 1024.
FINE = 1 / 1024


@pytest.mark.parametrize(
    ("norms", "before_update", "loss_step", "step"),
    [
        ([1034.0, 1024.0], True, None, None),
        ([1035.0, 1024.0], True, None, 1),
        ([1035.0, 1024.0], False, None, None),
        ([1024.0, 1124.0], True, None, None),
        ([1024.0, 1125.0], True, None, 2),
        ([1024.0, 1125.0], False, None, 2),
        ([1024.0, 899.0], False, None, 2),
        ([1024.0, 1125.0], False, 3, 2),
        ([1024.0, 1125.0], False, 2, None),
        ([1024.0, 1125.0], False, 1, None),
        ([math.inf, 1125.0], True, None, None),
        ([math.nan, 1024.0], False, None, None),
        ([], True, None, None),
    ],
)
def test_a_norm_parts_by_ten_tolerances_at_first_and_a_hundred_later(
    norms: list[float], before_update: bool, loss_step: int | None, step: int | None
) -> None:
    left, right = curve(grad_norm=[1024.0, 1024.0, 1024.0]), curve(grad_norm=norms)
    if not norms:
        right = curve(10, grad_norm=[1.0])
    told = findings.judge_gradient(left, right, 0, FINE, loss_step, before_update)
    assert [finding.args["step"] for finding in told] == ([] if step is None else [step])
    for finding in told:
        assert (finding.key, finding.weight) == ("ACC258.first", 60)
        assert (finding.args["baseline"], finding.args["target"]) == (1024.0, norms[step - 1] if step else None)
        assert finding.place is not None and (finding.place.path, finding.place.line) == ("a.log", step)
    assert findings.judge_gradient(curve(loss=[1.0]), right, 0, FINE, None, True) == []
    assert findings.judge_gradient(left, curve(loss=[1.0]), 0, FINE, None, True) == []


@pytest.mark.parametrize(
    ("baseline", "target", "factor"),
    [
        ([1.0] * 20, [2.0] * 11 + [2.015] * 9, 2.0),  # a hundredth of the factor is 0.02
        ([1.0] * 20, [2.0] * 11 + [2.021] * 9, None),
        ([1.0] * 20, [2.0] * 11 + [1.985] * 9, 2.0),
        ([1.0] * 20, [2.0] * 11 + [1.979] * 9, None),
        ([1.0] * 20, [0.5] * 11 + [0.507] * 9, None),
        ([2.0] * 20, [1.0] * 20, 0.5),
        ([1.0] * 20, [1.02] * 20, 1.02),
        ([1.0] * 20, [0.98] * 20, 0.98),
        ([1.0] * 20, [1.009] * 20, None),
        ([0.0] * 3 + [1.0] * 5, [9.0] * 3 + [2.0] * 5, 2.0),
        ([0.0] * 3 + [1.0] * 4, [9.0] * 3 + [2.0] * 4, None),
    ],
)
def test_one_factor_lies_within_a_hundredth_of_it(
    baseline: list[float], target: list[float], factor: float | None
) -> None:
    pair = align_series(series(baseline), series(target))
    odd = np.zeros(len(baseline), bool)
    assert findings._common_factor(pair, odd) == (None if factor is None else pytest.approx(factor))


def printed(step: int, decimals: int, values: Sequence[float]) -> Curve:
    """Every `step`-th step from `step` on, with so many digits behind the point, -1 where none is printed."""
    made = Curve(Path("a.log"), "text")
    for at, value in enumerate(values, 1):
        made.add_value("loss", step * at, value, at, f"{value:.{decimals}f}" if decimals >= 0 else "")
    return made


@pytest.mark.parametrize(
    ("left", "right", "before_update", "key"),
    [
        (printed(1, -1, [2.0, 1.5]), printed(1, -1, [2.0, 1.5]), True, "together"),
        (printed(1, -1, [2.0, 1.5]), printed(1, -1, [3.0, 1.5]), True, "at_once"),
        (printed(1, -1, [2.0, 1.5]), printed(1, -1, [3.0, 1.5]), False, "apart"),
        (printed(1, -1, [2.0, 1.5]), printed(1, -1, [2.0, 2.5]), True, "apart"),
        (printed(1, -1, [1.0, 2.0] + [1.0] * 10), printed(1, -1, [1.0, 3.0] + [1.0] * 10), True, "single"),
        (printed(1, -1, [math.nan] * 3), printed(1, -1, [math.nan] * 3), True, "nothing"),
        (printed(1, -1, [2.0]), printed(1, -1, [2.0]), True, "nothing"),
        (printed(1, -1, [2.0, 2.0]), printed(1, -1, [2.0, 2.0]), True, "nothing"),
        (printed(1, -1, [2.0, 2.0]), printed(1, -1, [2.0, 2.0009]), True, "together"),
        (printed(1, -1, [2.0, 2.0009]), printed(1, -1, [2.0, 2.0]), True, "together"),
        # half of 0.001 on either side is 0.001 of 1
        (printed(1, 3, [1.0, 2.0, 1.0]), printed(1, 3, [1.0, 2.0, 1.0]), True, "together"),
        (printed(1, 3, [0.5, 2.0, 0.5]), printed(1, 3, [0.5, 2.0, 0.5]), True, "undecided"),
        (printed(1, 3, [2.0, 2.0, 0.25]), printed(1, 3, [2.0, 2.0, 0.251]), True, "undecided"),
    ],
)
def test_what_two_curves_say(left: Curve, right: Curve, before_update: bool, key: str) -> None:
    pair = align_series(left.series["loss"], right.series["loss"])
    told = findings.judge_curves(left, right, pair, first_place(pair, 1.01e-3), 1.01e-3, before_update)
    assert (told.key, told.weight) == (f"ACC250.{key}", 80)
    assert (told.args["steps"], told.args["worst"]) == (len(pair.steps), pair.relative.max())


def test_the_level_of_what_cannot_be_decided() -> None:
    """The median of the baseline; where printed losses are apart, the one furthest apart first."""
    coarse = printed(1, 1, [4.0, 2.0, -1.0])
    pair = align_series(coarse.series["loss"], coarse.series["loss"])
    assert findings._find_undecidable(coarse, coarse, pair, 1e-3) == {"smallest": pytest.approx(0.1), "level": 2.0}
    assert findings._find_undecidable(coarse, coarse, pair, 0.06) == {}
    moved = printed(1, 1, [4.0, 2.0, -1.1])
    pair = align_series(coarse.series["loss"], moved.series["loss"])
    assert findings._find_undecidable(coarse, moved, pair, 0.06) == {"smallest": pytest.approx(0.1), "level": 1.0}


@pytest.mark.parametrize(("levels", "tolerance", "count"), [([2.0, 2.0, 9.0], 0.025, 0), ([2.0, 2.0, 9.0], 0.024, 2)])
def test_a_log_is_coarse_where_half_a_digit_is_more_than_the_tolerance(
    levels: list[float], tolerance: float, count: int
) -> None:
    made = printed(1, 1, levels)
    pair = align_series(made.series["loss"], made.series["loss"])
    told = findings.find_coarse_logs(made, made, pair, tolerance)
    assert [(finding.key, finding.args["smallest"], finding.args["level"]) for finding in told] == [
        ("ACC252.coarse", pytest.approx(0.1), 2.0)
    ] * count
    nothing = printed(1, 1, [0.0, 0.0])
    pair = align_series(nothing.series["loss"], nothing.series["loss"])
    assert findings.find_coarse_logs(nothing, nothing, pair, 1e-3) == []


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        ((1, 100), (1, 100), []),
        ((1, 100), (1, 99), ["ACC251.lengths"]),
        ((1, 99), (1, 100), ["ACC251.lengths"]),
        ((1, 100), (10, 10), ["ACC252.interval"]),
        ((1, 100), (10, 9), ["ACC252.interval"]),
        ((10, 9), (1, 100), ["ACC252.interval"]),
        ((1, 101), (10, 9), ["ACC251.lengths", "ACC252.interval"]),
        ((1, 100), (1, 1), ["ACC251.lengths"]),
        ((1, 1), (7, 1), []),
    ],
)
def test_lengths_and_intervals(left: tuple[int, int], right: tuple[int, int], told: list[str]) -> None:
    """Of (interval, values): an end within the larger interval is the same."""
    sides = [printed(step, -1, [1.0] * count) for step, count in (left, right)]
    pair = align_series(sides[0].series["loss"], sides[1].series["loss"])
    assert keys(findings.judge_alignment(sides[0], sides[1], pair, 0)) == told


def test_repeated_steps_and_those_that_were_counted() -> None:
    made = curve(loss=[1.0] * 9)
    for step in (4, 5, 3, 4):
        made.add_value("loss", step, 1.0, 20)
    plain = curve(loss=[1.0] * 9)
    pair = align_series(plain.series["loss"], made.series["loss"])
    (told,) = findings.judge_alignment(plain, made, pair, 0)
    assert (told.key, told.args["count"], told.args["steps"], told.args["times"]) == ("ACC252.resumed", 3, "3-5", 2)
    several, counted = curve(loss=[1.0] * 3), curve(loss=[1.0] * 3)
    several.add_value("loss", 3, 1.0, 4)
    counted.ordinal = True
    pair = align_series(several.series["loss"], counted.series["loss"])
    assert keys(findings.judge_alignment(several, counted, pair, 0)) == ["ACC252.several", "ACC252.counted"]
    gaps = curve(loss=[1.0] * 3)
    gaps.add_value("loss", 6, 1.0, 4)
    told_ones = findings.judge_alignment(gaps, plain, align_series(gaps.series["loss"], plain.series["loss"]), 0)
    assert [(one.key, one.args.get("count"), one.args.get("steps")) for one in told_ones] == [
        ("ACC251.lengths", None, None),
        ("ACC252.missing", 2, "4-5"),
    ]


def test_a_learning_rate_differs_by_more_than_a_thousandth() -> None:
    left = curve(lr=[1024.0] * 4)
    assert findings.judge_learning_rate(left, curve(lr=[1024.0, 1025.0, 1024.0, 1024.0]), 0) == []
    (told,) = findings.judge_learning_rate(left, curve(lr=[1024.0, 1024.0, 1026.0, 1027.0]), 0)
    assert dict(told.args) == {"step": 3, "count": 2, "steps": 4, "baseline": 1024.0, "target": 1026.0}
    assert (told.weight, told.place.line if told.place else 0) == (120, 3)
    assert findings.judge_learning_rate(left, curve(loss=[1.0]), 0) == []
    assert findings.judge_learning_rate(curve(loss=[1.0]), left, 0) == []


@pytest.mark.parametrize(
    ("first", "last", "shift", "told"),
    [
        (30, 32, 0, ["ACC253.data"]),
        (36, 40, 0, ["ACC253.data"]),
        (37, 40, 0, ["ACC253.one_side"] * 2),
        (20, 30, 0, ["ACC253.data"]),
        (20, 29, 0, ["ACC253.one_side"] * 2),
        (37, 40, -1, ["ACC253.data"]),
        (20, 29, 1, ["ACC253.data"]),
        (20, 30, -1, ["ACC253.one_side"] * 2),
    ],
)
def test_spikes_of_both_sides_that_overlap_are_one(first: int, last: int, shift: int, told: list[str]) -> None:
    curves = {side: curve(loss=[1.0] * 60) for side in ("baseline", "target")}
    known: dict[str, list[Checkpoint]] = {"baseline": [], "target": []}
    sides: dict[str, list[Spike] | None] = {"baseline": [Spike(30, 36, 30, 2.0, 1.0, 29)]}
    sides["target"] = [Spike(first, last, first, 2.0, 1.0, first - 1)]
    assert keys(findings.spike_findings(sides, curves, known, shift)) == told
    assert keys(findings.spike_findings({**sides, "target": None}, curves, known, shift)) == ["ACC253.one_side"]


@pytest.mark.parametrize(
    ("scales", "falls", "first", "lowest", "place"),
    [
        ([8.0, 8.0, 4.0, 8.0, 2.0, 2.0], 2, 3, (2.0, 5), 3),
        ([8.0, 16.0, 16.0], 0, None, (8.0, 1), 1),
        ([math.nan, 4.0, 2.0], 1, 3, (2.0, 3), 3),
        ([math.nan], 0, None, (None, 1), 1),
        ([4.0, 3.0, 3.0], 1, 2, (3.0, 2), 2),
    ],
)
def test_the_history_of_a_loss_scale(
    scales: list[float], falls: int, first: int | None, lowest: tuple[float | None, int], place: int
) -> None:
    history = scale_history_of(curve(loss_scale=scales))
    assert history is not None
    assert (history.falls, history.first_fall, history.lowest_step, history.place.line) == (
        falls,
        first,
        lowest[1],
        place,
    )
    assert history.lowest == lowest[0] or math.isnan(history.lowest) and lowest[0] is None
    assert history.last == scales[-1] or math.isnan(scales[-1])
    assert scale_history_of(curve(loss=[1.0])) is None


def test_updates_that_were_left_out_are_counted() -> None:
    column = curve(number_of_skipped_iterations=[0.0, 1.0, math.nan, 2.0])
    column.skipped = 4
    assert skipped_steps(column) == 7 and skipped_steps(curve(loss=[1.0])) == 0
    (told,) = judge_scale(curve(loss=[1.0]), column)
    assert (told.key, dict(told.args), told.weight) == ("ACC254.skipped", {"baseline": 0, "target": 7}, 50)


def test_scales_that_fall_where_the_baseline_has_none() -> None:
    for falls, told in ((3, []), (4, ["ACC254.falls"])):
        made = curve(loss_scale=[2.0**power for power in range(10, 9 - falls, -1)])
        found = judge_scale(curve(loss=[1.0]), made)
        assert keys(found) == told and [finding.args["baseline"] for finding in found] == [None] * len(told)
    (minimum,) = judge_scale(curve(loss=[1.0]), curve(loss_scale=[2.0, 1.0]))
    assert (minimum.key, minimum.weight) == ("ACC254.minimum", 145) and minimum.args["lowest"] == 1.0
    assert judge_scale(curve(loss=[1.0]), curve(loss_scale=[1.0, 1.0])) == [], "it never fell"


def test_twelve_names_are_told_of_a_metric_that_is_not_there() -> None:
    made = curve(**{f"metric{at:02}": [1.0] for at in range(14)})
    (told,) = judge_targets([Target("acc", ">=", 0.5)], made, made)
    assert (told.key, told.weight) == ("ACC255.absent", 140)
    assert told.args["known"] == [f"metric{at:02}" for at in range(12)]
    both = judge_targets([Target("acc", ">=", 0.5), Target("metric00", ">=", 0.5)], made, made)
    assert keys(both) == ["ACC255.absent", "ACC255.met"]


def test_eight_metrics_are_told_with_their_last_values() -> None:
    names = [f"metric{at}" for at in range(9)]
    left, right = curve(**{name: [1.0, 2.0] for name in names}), curve(**{name: [9.0, 2.0] for name in names})
    (told,) = judge_finals(left, right, 0, 1e-3)
    assert (told.key, told.weight, told.args["count"]) == ("ACC255.finals", 0, 9)
    assert len(told.args["metrics"]) == 8  # type: ignore[arg-type]
    near, apart = curve(a=[1024.0], b=[1024.0]), curve(a=[1025.0], b=[1026.0])
    found = judge_finals(near, apart, 0, FINE)
    assert [(one.key, one.weight, one.args["count"]) for one in found] == [
        ("ACC255.differs", 45, 1),
        ("ACC255.finals", 45, 1),
    ]
    assert judge_finals(curve(a=[1.0]), curve(5, a=[1.0]), 0, FINE) == [], "no step is in both"


def test_the_last_value_of_a_metric_and_its_place() -> None:
    made = curve(acc=[0.25, 0.5])
    made.add_value("acc", 1, 0.75, 9)
    assert final_value(made, "acc") == final_value(made, "ACC") == (2, 0.5, "a.log", 2)
    assert final_value(made, "loss") is None
    (told,) = judge_targets([Target("acc", ">=", 0.5)], curve(loss=[1.0]), made)
    assert (told.key, told.args["value"], told.args["step"], told.args["baseline"]) == ("ACC255.met", 0.5, 2, None)
    (told,) = judge_targets([Target("acc", ">", 0.5)], made, made)
    assert (told.key, told.weight, told.args["baseline"]) == ("ACC255.missed", 140, 0.5)
