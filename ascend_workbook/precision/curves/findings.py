"""What the curves say: do they part, and what makes the comparison smaller than it looks."""

from __future__ import annotations

import math

import numpy as np

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.curves import series as curve_series
from ascend_workbook.precision.curves.aligned import Aligned, Steps, align_series, exceeds_tolerance, first_place
from ascend_workbook.precision.curves.series import (
    GRAD_NORM,
    LOSS,
    LOSS_SCALE,
    LR,
    PARAMETER,
    Checkpoint,
    Curve,
    last_before,
)
from ascend_workbook.precision.curves.spikes import Spike

# The norm of the gradient beside the loss: it tells a backward that is wrong while the forward still agrees.

#: Times the loss's tolerance: at the first value, before any update, and later. Measured on CPU kernels, a small
#: network with batch norm, one thread against two: 1e-5 beside 1e-7 of the loss at step 1, 2e-3 beside 2e-4 at
#: step 10, 1e-2 beside 6e-4 at step 15.
AT_FIRST, LATER = 10.0, 100.0
#: A lone norm is so many times the other side's or a fraction of it, and so many deviations from the usual ratio; of
#: fewer steps than this nothing is usual.
FAR, FAR_DEVIATIONS, FEWEST_NORMS = 3.0, 12.0, 8
#: Of one parameter among many the norm must be further away, and no smaller share of the whole gradient's.
FAR_ALONE, SMALL_SHARE = 10.0, 1e-3
#: Ratios that lie so near their median are one factor; fewer values than this tell none.
SPREAD, ENOUGH = 0.01, 5


def judge_gradient(
    left: Curve, right: Curve, shift: int, tolerance: float, loss_step: int | None, before_update: bool
) -> list[Finding]:
    """ACC258 where the norm parts before the loss does (`loss_step`; None: the loss does not part).

    `before_update`: the first value of both runs stands before any update of the weights."""
    if GRAD_NORM not in left.series or GRAD_NORM not in right.series:
        return []
    pair = align_series(left.series[GRAD_NORM], right.series[GRAD_NORM], shift)
    odd = ~(np.isfinite(pair.baseline) & np.isfinite(pair.target))  # told for themselves: a step that AMP left out
    at = first_place(pair, LATER * tolerance, odd)
    if before_update and len(pair.steps) and pair.excess[0] > AT_FIRST * tolerance:
        at = 0
    if at is None or odd[at] or (loss_step is not None and int(pair.steps[at]) >= loss_step):
        lone = _find_lone_norms(right, pair, odd, loss_step)
        return lone or _find_lone_parameters(left, right, pair, shift, loss_step)
    if at == len(pair.steps) - 1 > 0 and (lone := _find_lone_norms(right, pair, odd, loss_step)):
        return lone  # nothing tells whether it lasts
    place = Place(*right.place_of_value(right.series[GRAD_NORM], int(pair.at_target[at])))
    args: dict[str, Scalar] = {"step": int(pair.steps[at])}
    args.update(baseline=float(pair.baseline[at]), target=float(pair.target[at]))
    factor = _common_factor(pair, odd)
    if factor is not None:
        return [Finding("ACC258", Status.LOOK, "ACC258.factor", {**args, "factor": factor}, place=place, weight=60)]
    args["loss"] = Sentence("curves.loss_never") if loss_step is None else Sentence("curves.loss_later", step=loss_step)
    return [Finding("ACC258", Status.LOOK, "ACC258.first", args, place=place, weight=60)]


def _find_lone_norms(right: Curve, pair: Aligned, odd: np.ndarray, loss_step: int | None) -> list[Finding]:
    """ACC258 where single norms are far from the other side's, or zero there alone, while the loss still agrees."""
    far, at = _find_far(pair, odd, loss_step, FAR)
    if at is None:
        return []
    place = Place(*right.place_of_value(right.series[GRAD_NORM], int(pair.at_target[at])))
    args: dict[str, Scalar] = {
        "step": int(pair.steps[at]),
        "count": len(far),
        "steps": describe_ranges(pair.steps[far]),
    }
    args.update(baseline=float(pair.baseline[at]), target=float(pair.target[at]))
    return [Finding("ACC258", Status.LOOK, "ACC258.lone", args, place=place, weight=60)]


def _find_lone_parameters(
    left: Curve, right: Curve, whole: Aligned, shift: int, loss_step: int | None
) -> list[Finding]:
    """ACC258 of watched runs where one parameter's norm alone is far from the other side's, or zero there: the whole
    norm does not show it. What is a small part of the whole gradient is noise."""
    finite = np.concatenate([values[np.isfinite(values)] for values in (whole.baseline, whole.target)])
    least = SMALL_SHARE * float(np.median(finite)) if len(finite) else math.inf
    lone: list[tuple[int, str, Aligned, int]] = []
    for name in left.series:
        if not name.startswith(PARAMETER) or name not in right.series:
            continue
        pair = align_series(left.series[name], right.series[name], shift)
        odd = ~(np.isfinite(pair.baseline) & np.isfinite(pair.target))
        _, at = _find_far(pair, odd, loss_step, FAR_ALONE)
        if at is not None and max(pair.baseline[at], pair.target[at]) > least:
            lone.append((int(pair.steps[at]), name, pair, at))
    if not lone:
        return []
    step, name, pair, at = min(lone, key=lambda single: single[0])
    place = Place(*right.place_of_value(right.series[name], int(pair.at_target[at])))
    names: list[Scalar] = [other[len(PARAMETER) :] for first, other, _, _ in lone if first == step]
    args: dict[str, Scalar] = {"step": step, "names": names[:TOLD], "count": len(names)}
    args.update(baseline=float(pair.baseline[at]), target=float(pair.target[at]))
    return [Finding("ACC258", Status.LOOK, "ACC258.parameter", args, place=place, weight=60)]


def _find_far(pair: Aligned, odd: np.ndarray, loss_step: int | None, factor: float) -> tuple[Steps, int | None]:
    """Where single values are `factor` times the other side's, or zero there alone, and the furthest of them."""
    compared = ~odd & (pair.steps < (loss_step if loss_step is not None else np.inf))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(np.abs(pair.target / pair.baseline))
    usual = ratios[compared & np.isfinite(ratios)]
    if len(usual) < FEWEST_NORMS:
        return np.empty(0, dtype=np.int64), None
    middle = float(np.median(usual))
    allowed = max(FAR_DEVIATIONS * 1.4826 * float(np.median(np.abs(usual - middle))), math.log(factor))
    far = np.flatnonzero(compared & (pair.target != pair.baseline) & ~(np.abs(ratios - middle) <= allowed))
    return far, int(far[np.argmax(np.abs(ratios[far] - middle))]) if len(far) else None


def _common_factor(pair: Aligned, odd: np.ndarray) -> float | None:
    """What all of the target's norms are times the baseline's, where that is one number other than 1."""
    usable = ~odd & (pair.baseline != 0)
    ratios = pair.target[usable] / pair.baseline[usable]
    if len(ratios) < ENOUGH:
        return None
    middle = float(np.median(ratios))
    near = np.abs(ratios - middle) <= SPREAD * abs(middle)
    return middle if abs(middle - 1) > SPREAD and near.mean() >= 0.9 else None


#: Spikes told one by one; the rest is counted.
TOLD = 5


def judge_curves(
    left: Curve, right: Curve, pair: Aligned, first: int | None, tolerance: float, before_update: bool
) -> Finding:
    """ACC250. `before_update`: the first value of both runs stands before any update of the weights."""
    args: dict[str, Scalar] = {"steps": len(pair.steps), "worst": float(pair.relative.max()), "tolerance": tolerance}
    over = np.flatnonzero(exceeds_tolerance(pair, tolerance))
    at_once = before_update and len(over) > 0 and over[0] == 0
    at = 0 if at_once else first
    if at is None:
        if not len(over) and (unseen := _find_undecidable(left, right, pair, tolerance)):
            return Finding("ACC250", Status.NOT_LOOKED, "ACC250.undecided", {**args, **unseen}, weight=80)
        if not len(over) and (why := _find_nothing_proven(pair)):
            return Finding("ACC250", Status.NOT_LOOKED, "ACC250.nothing", {**args, "why": Sentence(why)}, weight=80)
        if not len(over):
            return Finding("ACC250", Status.GOOD, "ACC250.together", args, weight=80)
        args.update(count=len(over), step=int(pair.steps[over[0]]))
        return Finding("ACC250", Status.LOOK, "ACC250.single", args, weight=80)
    smooth = float(pair.smoothed[-1])
    baseline, target = (curve_series.to_scalar(float(values[at])) for values in (pair.baseline, pair.target))
    args.update(step=int(pair.steps[at]), baseline=baseline, target=target)
    args.update(smoothed=None if math.isnan(smooth) else smooth)
    key, status = ("ACC250.at_once", Status.FIX) if at_once else ("ACC250.apart", Status.LOOK)
    return Finding("ACC250", status, key, args, weight=80)


def _find_nothing_proven(pair: Aligned) -> str:
    """Why equal losses prove nothing: none is a number, there is one alone, or nothing is learnt on either side."""
    if not np.isfinite(pair.baseline).any():
        return "curves.no_number"
    if len(pair.steps) == 1:
        return "curves.one_step"
    return "" if np.ptp(pair.baseline) or np.ptp(pair.target) else "curves.constant"


def _find_undecidable(left: Curve, right: Curve, pair: Aligned, tolerance: float) -> dict[str, Scalar]:
    """The smallest difference that both logs' printed digits can show, and the loss it holds at, where the tolerance
    asks for less: at the median loss, or where the printed losses are furthest apart. Empty where it does not."""
    finite = np.abs(pair.baseline[np.isfinite(pair.baseline)])
    levels = [float(np.median(finite))] if len(finite) else []
    if float(pair.relative.max()) > tolerance:
        levels.append(abs(float(pair.baseline[int(pair.relative.argmax())])))
    for level in reversed(levels):
        smallest = sum(curve.series[LOSS].resolution(level) for curve in (left, right))
        if smallest > tolerance * level:
            return {"smallest": smallest, "level": level}
    return {}


def judge_alignment(left: Curve, right: Curve, pair: Aligned, shift: int) -> list[Finding]:
    """Steps that were not compared, and why: other lengths, intervals, gaps, repeats, steps that were counted."""
    findings = []
    a, b = left.series[LOSS].last_of_each()[0], right.series[LOSS].last_of_each()[0] + shift
    every = [int(np.median(np.diff(side))) if len(side) > 1 else 0 for side in (a, b)]
    slack = max(every) if all(every) and every[0] != every[1] else 0
    if len(a) != len(b) and abs(int(a[-1]) - int(b[-1])) > slack:
        findings.append(Finding("ACC251", Status.LOOK, "ACC251.lengths", {"baseline": len(a), "target": len(b)}))
    if all(every) and every[0] != every[1]:
        args: dict[str, Scalar] = {"baseline": every[0], "target": every[1], "common": len(pair.steps)}
        findings.append(Finding("ACC252", Status.NOT_LOOKED, "ACC252.interval", args))
    else:
        for side, only in (("target", pair.only_baseline), ("baseline", pair.only_target)):
            if len(only):
                args = {"side": Sentence(f"precision.side_{side}"), "count": len(only), "steps": describe_ranges(only)}
                findings.append(Finding("ACC252", Status.LOOK, "ACC252.missing", args))
    for curve in (left, right):
        findings += _find_repeats(curve)
        if curve.ordinal:
            findings.append(Finding("ACC252", Status.NOT_LOOKED, "ACC252.counted", {"path": curve.display_name}))
    return findings


def _find_repeats(curve: Curve) -> list[Finding]:
    steps = np.array(curve.series[LOSS].steps, dtype=np.int64)
    unique, counts = np.unique(steps, return_counts=True)
    again = unique[counts > 1]
    if not len(again):
        return []
    times = int((np.diff(steps) < 0).sum())
    args: dict[str, Scalar] = {"path": curve.display_name, "count": len(again), "steps": describe_ranges(again)}
    return [
        Finding("ACC252", Status.NOT_LOOKED, f"ACC252.{'resumed' if times else 'several'}", {**args, "times": times})
    ]


def find_coarse_logs(left: Curve, right: Curve, pair: Aligned, tolerance: float) -> list[Finding]:
    """A log that prints fewer digits than the tolerance asks for."""
    findings = []
    finite = np.abs(pair.baseline[np.isfinite(pair.baseline)])
    level = float(np.median(finite)) if len(finite) else 0.0
    for curve in (left, right):
        blur = curve.series[LOSS].resolution(level)
        if level > 0 and blur > tolerance * level:
            args: dict[str, Scalar] = {"path": curve.display_name, "smallest": 2 * blur, "level": level}
            findings.append(Finding("ACC252", Status.NOT_LOOKED, "ACC252.coarse", args))
    return findings


def find_shift(left: Curve, right: Curve, tolerance: float, shift: int) -> list[Finding]:
    """Curves that part as they stand, and lie on one another with the target's steps counted from one more or less."""
    by_shift = {}
    for more in (0, 1, -1):
        pair = align_series(left.series[LOSS], right.series[LOSS], shift + more)
        by_shift[more] = float(np.median(pair.excess)) if len(pair.steps) >= 5 else math.inf
    best = min(by_shift, key=by_shift.__getitem__)
    if best and by_shift[0] > tolerance >= by_shift[best]:
        args: dict[str, Scalar] = {"shift": shift + best, "median": by_shift[best], "median_now": by_shift[0]}
        return [Finding("ACC252", Status.LOOK, "ACC252.shifted", args, weight=120)]
    return []


def find_not_finite(curve: Curve) -> list[Finding]:
    """The first NaN or infinity of the loss; of the gradient norm where no loss scale explains it."""
    findings = []
    for name in (LOSS, GRAD_NORM):
        series = curve.series.get(name)
        if series is None or (name == GRAD_NORM and LOSS_SCALE in curve.series):
            continue
        places = np.flatnonzero(~np.isfinite(np.asarray(series.values)))
        if len(places):
            at = int(places[0])
            args: dict[str, Scalar] = {"path": curve.display_name, "step": series.steps[at]}
            key, status = ("nan", Status.FIX) if name == LOSS else ("nan_gradient", Status.LOOK)
            place, weight = Place(*curve.place_of_value(series, at)), 150 if name == LOSS else 70
            findings.append(Finding("ACC251", status, f"ACC251.{key}", args, place=place, weight=weight))
    return findings


def judge_learning_rate(left: Curve, right: Curve, shift: int) -> list[Finding]:
    """Another learning rate is another training."""
    if LR not in left.series or LR not in right.series:
        return []
    pair = align_series(left.series[LR], right.series[LR], shift)
    over = np.flatnonzero(pair.excess > 1e-3)
    if not len(over):
        return []
    at = int(over[0])
    args: dict[str, Scalar] = {"step": int(pair.steps[at]), "count": len(over), "steps": len(pair.steps)}
    args.update(baseline=float(pair.baseline[at]), target=float(pair.target[at]))
    place = Place(*right.place_of_value(right.series[LR], int(pair.at_target[at])))
    return [Finding("ACC256", Status.LOOK, "ACC256.rate", args, place=place, weight=120)]


def spike_findings(
    by_side: dict[str, list[Spike] | None], curves: dict[str, Curve], known: dict[str, list[Checkpoint]], shift: int
) -> list[Finding]:
    """Each spike once: on both sides it comes with the data, on one side with that run."""
    findings: list[Finding] = []
    shared: set[int] = set()
    both = [by_side["baseline"] or [], by_side["target"] or []]
    for side, other, more in (("target", both[0], shift), ("baseline", both[1], -shift)):
        for spike in (by_side[side] or [])[:TOLD]:
            first, last = spike.first + more, spike.last + more
            twin = next((their for their in other if their.first <= last and first <= their.last), None)
            if side == "baseline" and id(spike) in shared:
                continue
            if twin:
                shared.add(id(twin))
            findings.append(_describe_spike(spike, side, bool(twin), curves[side], known[side]))
        left_out = len(by_side[side] or []) - TOLD
        if left_out > 0:
            args: dict[str, Scalar] = {"side": Sentence(f"precision.side_{side}"), "count": left_out}
            findings.append(Finding("ACC253", Status.LOOK, "ACC253.more", args))
    return findings


def _describe_spike(spike: Spike, side: str, twin: bool, curve: Curve, known: list[Checkpoint]) -> Finding:
    checkpoint = last_before(known, spike.skip_first)
    resume: Scalar = Sentence("curves.no_checkpoint")
    if checkpoint:
        resume = Sentence("curves.checkpoint", step=checkpoint.step, where=checkpoint.where)
    who: Scalar = Sentence("curves.both") if twin else Sentence(f"precision.side_{side}")
    args: dict[str, Scalar] = {"side": who, "first": spike.first, "last": spike.last, "peak": spike.peak}
    args.update(level=spike.level, skip_first=spike.skip_first, resume=resume)
    key = "lasting" if spike.lasting else "data" if twin else "one_side"
    place = Place(*curve.place_of_value(curve.series[LOSS], spike.at))
    return Finding("ACC253", Status.LOOK, f"ACC253.{key}", args, place=place, weight=40)


def describe_ranges(steps: Steps) -> str:
    """`3-7, 12`: at most five runs of neighbours by the usual distance, then how it goes on."""
    gaps = np.diff(steps)
    parts = np.split(steps, np.flatnonzero(gaps > gaps.min()) + 1 if len(gaps) else [])
    ranges_text = [str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts[:5] if len(part)]
    return ", ".join(ranges_text) + (", ..." if len(parts) > 5 else "")
