"""What each finding of the curves says, whole: words, numbers, place and weight, on curves of a few values."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.precision.curves import findings
from ascend_workbook.precision.curves.aligned import align_series, measure_difference
from ascend_workbook.precision.curves.finals import Target, final_value, judge_finals, judge_targets
from ascend_workbook.precision.curves.scale import judge_scale, scale_history_of, skipped_steps
from ascend_workbook.precision.curves.series import Curve, Series
from ascend_workbook.precision.curves.spikes import Spike
from tests.precision.curves.test_boundaries import curve, keys, series


def said(finding: Finding) -> tuple[str, Status, dict[str, object], int]:
    return finding.key, finding.status, dict(finding.args), finding.weight


def test_a_target_beside_what_the_baseline_reached() -> None:
    left, right = curve(acc=[0.5, 0.75]), curve(acc=[0.5, 0.625])
    args = {"name": "acc", "sign": ">=", "wanted": 0.7, "value": 0.625, "step": 2, "baseline": 0.75}
    (missed,) = judge_targets([Target("acc", ">=", 0.7)], left, right)
    assert said(missed) == ("ACC255.missed", Status.FIX, args, 140) and missed.place == Place("a.log", 2)
    (met,) = judge_targets([Target("acc", ">=", 0.6)], curve(loss=[1.0]), right)
    assert said(met) == ("ACC255.met", Status.NOTE, {**args, "wanted": 0.6, "baseline": None}, 0)
    (absent,) = judge_targets([Target("top", ">=", 0.6)], left, right)
    known = {"name": "top", "sign": ">=", "wanted": 0.6, "path": "a.log", "known": ["acc"]}
    assert said(absent) == ("ACC255.absent", Status.FIX, known, 140)
    assert final_value(left, "acc") == (2, 0.75, "a.log", 2) and final_value(left, "top") is None


def test_the_last_value_of_a_step_that_was_repeated_counts() -> None:
    made = curve(acc=[0.5, 0.75])
    made.add_value("acc", 2, 0.25, 9)
    assert final_value(made, "acc") == (2, 0.25, "a.log", 9)


def test_metrics_that_end_apart_are_told_before_those_that_do_not() -> None:
    """At the tolerance they are near; what is judged for itself is no metric."""
    left = curve(acc=[8.0], top=[8.0], far=[8.0], loss=[8.0], lr=[8.0], grad_norm=[8.0], loss_scale=[8.0])
    right = curve(acc=[8.0], top=[9.0], far=[10.0], loss=[9.0], lr=[9.0], grad_norm=[9.0], loss_scale=[9.0])
    apart, near = judge_finals(left, right, 0, 0.125)
    assert said(apart)[:2] == ("ACC255.differs", Status.LOOK) and said(near)[:2] == ("ACC255.finals", Status.NOTE)
    assert (apart.weight, near.weight, apart.args["count"], near.args["count"]) == (45, 45, 1, 2)
    (told,) = apart.args["metrics"]  # type: ignore[misc,union-attr]
    assert told["args"] == {"name": "far", "baseline": 8.0, "target": 10.0, "step": 1}  # type: ignore[index,call-overload]
    (alone,) = judge_finals(left, left, 0, 0.125)
    assert (alone.key, alone.weight, alone.args["tolerance"]) == ("ACC255.finals", 0, 0.125)
    many = curve(**{f"m{at}": [1.0] for at in range(10)})
    (some,) = judge_finals(many, many, 0, 0.0)
    assert (some.args["count"], len(some.args["metrics"])) == (10, 8)  # type: ignore[arg-type]


def test_the_history_of_a_scale() -> None:
    history = scale_history_of(curve(loss_scale=[4.0, 8.0, 4.0, 2.0, 16.0]))
    assert history is not None and (history.falls, history.first_fall, history.place) == (2, 3, Place("a.log", 3))
    assert (history.lowest, history.lowest_step, history.last) == (2.0, 4, 16.0)
    flat = scale_history_of(curve(loss_scale=[8.0, 4.0 * 2]))
    assert flat is not None and (flat.falls, flat.first_fall, flat.place) == (0, None, Place("a.log", 1))
    assert scale_history_of(curve(loss=[1.0])) is None


def test_what_is_wrong_with_a_scale() -> None:
    sunk = curve(loss_scale=[2.0, 1.0])
    (minimum,) = judge_scale(sunk, sunk)
    assert said(minimum) == ("ACC254.minimum", Status.FIX, {"step": 2, "lowest": 1.0, "falls": 1}, 145)
    falling = curve(loss_scale=[32.0, 16.0, 8.0, 4.0, 2.0])
    (falls,) = judge_scale(curve(loss=[1.0]), falling)
    assert said(falls) == ("ACC254.falls", Status.LOOK, {"falls": 4, "step": 2, "lowest": 2.0, "baseline": None}, 60)
    assert judge_scale(curve(loss_scale=[4.0, 2.0]), falling) == [] == judge_scale(sunk, curve(loss_scale=[1.0, 1.0]))
    left, right = curve(loss=[1.0]), curve(loss=[1.0])
    left.skipped, right.skipped = 2, 3
    (skipped,) = judge_scale(left, right)
    assert said(skipped) == ("ACC254.skipped", Status.LOOK, {"baseline": 2, "target": 3}, 50)
    assert skipped_steps(right) == 3


@pytest.mark.parametrize(
    ("values", "tolerance", "before", "key", "status"),
    [
        ([8.0] * 12, 0.1, False, "nothing", Status.NOT_LOOKED),
        ([8.0] * 11 + [8.5], 0.1, False, "together", Status.GOOD),
        ([8.0] * 5 + [9.0] + [8.0] * 6, 0.1, False, "single", Status.LOOK),
        ([8.0] * 5 + [9.0] * 7, 0.1, False, "apart", Status.LOOK),
        ([8.0] * 5 + [9.0] * 7, 0.125, False, "together", Status.GOOD),
        ([9.0] + [8.0] * 11, 0.1, True, "at_once", Status.FIX),
        ([9.0] + [8.0] * 11, 0.1, False, "single", Status.LOOK),
        ([8.0, 9.0] + [8.0] * 10, 0.1, True, "single", Status.LOOK),
    ],
)
def test_the_verdict_on_two_curves(
    values: list[float], tolerance: float, before: bool, key: str, status: Status
) -> None:
    left, right = curve(loss=[8.0] * 12), curve(loss=values)
    pair = align_series(left.series["loss"], right.series["loss"])
    first = 5 if key == "apart" else None
    told = findings.judge_curves(left, right, pair, first, tolerance, before)
    assert (told.key, told.status, told.weight) == (f"ACC250.{key}", status, 80)
    args = {"steps": 12, "worst": max(abs(value - 8) / 8 for value in values), "tolerance": tolerance}
    more: dict[str, object] = {}
    if key == "nothing":
        more = {"why": {"say": "curves.constant"}}
    elif key == "single":
        more = {"count": 1, "step": values.index(9.0) + 1}
    elif key in ("apart", "at_once"):
        more = {
            "step": values.index(9.0) + 1,
            "baseline": 8.0,
            "target": 9.0,
            "smoothed": abs(sum(values[-5:]) / 40 - 1),
        }
    assert told.args == {**args, **more}


def test_steps_that_were_not_compared() -> None:
    """Lengths count only where the ends differ too, the target's steps shifted."""

    def told(left: Curve, right: Curve, shift: int = 0) -> list[tuple[str, dict[str, object]]]:
        pair = align_series(left.series["loss"], right.series["loss"], shift)
        return [(one.key, dict(one.args)) for one in findings.judge_alignment(left, right, pair, shift)]

    nine, seven = curve(loss=[1.0] * 9), curve(loss=[1.0] * 7)
    assert told(nine, seven) == [("ACC251.lengths", {"baseline": 9, "target": 7})]
    assert told(nine, curve(13, loss=[1.0] * 7), -10) == [] == told(nine, nine)
    sparse = Curve(Path("b.log"), "text")
    for step in (2, 4, 6, 8):
        sparse.add_value("loss", step, 1.0, step)
    interval = ("ACC252.interval", {"baseline": 1, "target": 2, "common": 4})
    assert told(nine, sparse) == [interval], "the last step may lie within an interval of the end"
    assert told(curve(loss=[1.0] * 11), sparse)[0][0] == "ACC251.lengths"
    gap = curve(loss=[1.0] * 3)
    for step in range(5, 10):
        gap.add_value("loss", step, 1.0, step)
    for sides, side in (((nine, gap), "target"), ((gap, nine), "baseline")):
        args = {"side": {"say": f"precision.side_{side}"}, "count": 1, "steps": "4"}
        assert told(*sides) == [("ACC252.missing", args)]


def test_steps_that_were_written_twice() -> None:
    again, twice, counted = (curve(loss=[1.0] * 4) for _ in range(3))
    for step in (3, 4):
        again.add_value("loss", step, 1.0, 9)
    twice.add_value("loss", 4, 1.0, 9)
    counted.ordinal = True
    for made, key, args in (
        (again, "resumed", {"count": 2, "steps": "3-4", "times": 1}),
        (twice, "several", {"count": 1, "steps": "4", "times": 0}),
        (counted, "counted", {}),
    ):
        pair = align_series(made.series["loss"], made.series["loss"])
        told = findings.judge_alignment(curve(loss=[1.0] * 4), made, pair, 0)
        assert [(one.key, dict(one.args)) for one in told] == [(f"ACC252.{key}", {"path": "a.log", **args})]


def test_another_rate_from_a_thousandth_on() -> None:
    left = curve(lr=[1000.0, 1000.0, 1000.0])
    assert findings.judge_learning_rate(left, curve(lr=[1000.0, 1001.0, 999.0]), 0) == []
    (told,) = findings.judge_learning_rate(left, curve(lr=[1000.0, 1002.0, 998.0]), 0)
    args = {"step": 2, "count": 2, "steps": 3, "baseline": 1000.0, "target": 1002.0}
    assert said(told) == ("ACC256.rate", Status.LOOK, args, 120) and told.place == Place("a.log", 2)
    assert findings.judge_learning_rate(left, curve(loss=[1.0]), 0) == []


def test_the_first_loss_that_is_no_number() -> None:
    (loss, norm) = findings.find_not_finite(curve(loss=[1.0, math.nan, math.inf], grad_norm=[1.0, 1.0, math.inf]))
    assert said(loss) == ("ACC251.nan", Status.FIX, {"path": "a.log", "step": 2}, 150)
    assert said(norm) == ("ACC251.nan_gradient", Status.LOOK, {"path": "a.log", "step": 3}, 70)
    assert (loss.place, norm.place) == (Place("a.log", 2), Place("a.log", 3))


def test_a_gradient_that_parts_before_the_loss() -> None:
    """A hundred times the loss's tolerance, ten times before any update; not behind the loss."""
    left = curve(grad_norm=[8.0] * 12)
    right = curve(grad_norm=[8.0] * 6 + [9.0, 10.0, 11.0, 9.0, 10.0, 11.0])

    def told(loss: int | None, tolerance: float = 1e-3, before: bool = False) -> list[Finding]:
        return findings.judge_gradient(left, right, 0, tolerance, loss, before)

    (first,) = told(None)
    args = {"step": 7, "baseline": 8.0, "target": 9.0, "loss": {"say": "curves.loss_never"}}
    assert said(first) == ("ACC258.first", Status.LOOK, args, 60) and first.place == Place("a.log", 7)
    (later,) = told(8)
    assert later.args["loss"] == {"say": "curves.loss_later", "args": {"step": 8}} and told(7) == []
    assert [one.args["step"] for one in told(None, 0.00125)] == [8], "an eighth is not beyond"
    swapped = curve(grad_norm=[9.0] + [8.0] * 11)
    for tolerance, before, keys_told in ((0.0124, True, ["ACC258.first"]), (0.0125, True, []), (0.0124, False, [])):
        assert keys(findings.judge_gradient(left, swapped, 0, tolerance, None, before)) == keys_told


def test_a_spike_of_both_sides_is_told_once_and_of_one_with_its_side() -> None:
    made = {side: curve(loss=[1.0] * 10) for side in ("baseline", "target")}
    none = {"baseline": [], "target": []}  # type: ignore[var-annotated]
    left, right = Spike(3, 5, 2, 2.0, 1.0, 2), Spike(15, 16, 4, 4.0, 1.0, 14)
    (both,) = findings.spike_findings({"baseline": [left], "target": [right]}, made, none, -10)
    assert (both.key, both.args["side"], both.args["first"], both.weight) == (
        "ACC253.data",
        {"say": "curves.both"},
        15,
        40,
    )
    told = findings.spike_findings({"baseline": [left], "target": [right]}, made, none, -9)
    assert keys(told) == ["ACC253.one_side"] * 2 and told[0].place == Place("a.log", 5)
    assert [one.args["side"] for one in told] == [{"say": f"precision.side_{side}"} for side in ("target", "baseline")]
    lasting = Spike(3, 5, 2, 2.0, 1.0, 2, lasting=True)
    assert keys(findings.spike_findings({"baseline": None, "target": [lasting]}, made, none, 0)) == ["ACC253.lasting"]


def test_differences_of_odd_values() -> None:
    a = np.array([2.0, 0.0, 0.0, math.inf, math.nan, math.nan, math.inf])
    b = np.array([3.0, 0.0, 1.0, math.inf, math.nan, 1.0, -math.inf])
    absolute, relative = measure_difference(a, b)
    assert absolute.tolist() == [1.0, 0.0, 1.0, 0.0, 0.0, math.inf, math.inf]
    assert relative.tolist() == [0.5, 0.0, math.inf, 0.0, 0.0, math.inf, math.inf]


@pytest.mark.parametrize(("text", "excess"), [("8.00", 0.125 - 0.01 / 8), ("8.0e0", 0.125 - 0.1 / 8), ("8e0", 0.0)])
def test_printed_digits_leave_half_a_unit_on_either_side_open(text: str, excess: float) -> None:
    left, right = (Curve(Path("a.log"), "text") for _ in range(2))
    left.add_value("loss", 1, 8.0, 1, text)
    right.add_value("loss", 1, 9.0, 1, text.replace("8", "9"))
    pair = align_series(left.series["loss"], right.series["loss"])
    assert pair.excess.tolist() == [pytest.approx(excess)] and pair.relative.tolist() == [0.125]


def test_beside_a_log_without_steps_none_is_missing() -> None:
    for sides in ((Series("loss"), series([1.0, 2.0])), (series([1.0, 2.0]), Series("loss"))):
        pair = align_series(*sides)
        assert not len(pair.steps) and not len(pair.only_baseline) and not len(pair.only_target)


def test_a_log_that_prints_fewer_digits_than_asked_for() -> None:
    """Two decimals at 1.0: half a hundredth is open on one side."""
    made = Curve(Path("a.log"), "text")
    made.add_value("loss", 1, 1.0, 1, "1.00")
    pair = align_series(made.series["loss"], made.series["loss"])
    told = findings.find_coarse_logs(made, curve(loss=[1.0]), pair, 0.0049)
    assert [said(one)[:3] for one in told] == [
        ("ACC252.coarse", Status.NOT_LOOKED, {"path": "a.log", "smallest": 0.01, "level": 1.0})
    ]
    assert findings.find_coarse_logs(made, made, pair, 0.005) == []
