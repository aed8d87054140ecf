"""The update: which parameters, with which hyperparameters, by which rule."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from ascend_workbook.precision.state.clipping import judge_changes, judge_gradients_read
from ascend_workbook.precision.state.fitting import Fit, fit_update
from ascend_workbook.precision.state.judge import DECAY, PARAMETERS, RATE, RULE, SKIPPED, UPDATE, Judge
from ascend_workbook.precision.state.reading import Step, Update
from ascend_workbook.precision.state.sketches import is_same_value, measure_apart


def judge_updates(judge: Judge, left: Step, right: Step) -> None:
    number = left.number
    if left.skipped != right.skipped:
        side = "target" if right.skipped else "baseline"
        judge.tell(number, SKIPPED, side=side, scale=(right if right.skipped else left).scale)
        return
    judge_changes(judge, left, right)
    for mine, theirs in zip(left.updates, right.updates):
        _judge_declared(judge, number, mine, theirs)
    if not any(event.step == number for event in judge.events):
        judge_gradients_read(judge, left, right)
    for mine, theirs in zip(left.updates, right.updates):
        _judge_rule(judge, number, mine, theirs)


def _judge_declared(judge: Judge, number: int, mine: Update, theirs: Update) -> None:
    """Which parameters are updated, with which hyperparameters."""
    names = [set(update.group_of) for update in (mine, theirs)]
    moved = [{name for name in update.updates if update.updates[name].norm} for update in (mine, theirs)]
    missing = [name for name in mine.group_of if name not in names[1]] or [
        name for name in theirs.group_of if name not in names[0]
    ]
    if missing and (names[0] - names[1] and not names[1] - names[0] or names[1] - names[0] and not names[0] - names[1]):
        side = "target" if names[0] - names[1] else "baseline"
        judge.tell(number, PARAMETERS, names=missing, count=len(missing), side=side, place=theirs.place)
    still = [
        name
        for name in mine.updates
        if name in theirs.updates
        and mine.updates[name].norm
        and not theirs.updates[name].norm
        and theirs.gradients[name].norm
        and name in moved[0]
    ]
    if still:
        judge.tell(number, PARAMETERS, "still", still, count=len(still), place=theirs.place)
    rates: dict[str, tuple[str, Any, Any]] = {}
    decays: dict[str, tuple[str, Any, Any]] = {}
    others: dict[str, tuple[str, Any, Any]] = {}
    for name in [name for name in mine.group_of if name in theirs.group_of]:
        reference, other = mine.group_of[name], theirs.group_of[name]
        for key in reference.keys() & other.keys() - {
            "names",
            "initial_lr",
            "foreach",
            "fused",
            "capturable",
            "differentiable",
        }:
            if not is_same_value(reference[key], other[key]):
                {"lr": rates, "weight_decay": decays}.get(key, others)[name] = (key, reference[key], other[key])
    if decays:
        worst = next(iter(decays))
        judge.tell(
            number,
            DECAY,
            "declared",
            decays,
            baseline=decays[worst][1],
            target=decays[worst][2],
            count=len(decays),
            place=theirs.place,
        )
    if rates:
        worst = next(iter(rates))
        _, reference, other = rates[worst]
        shift = _find_shift(judge, worst, reference, other)
        detail = f"shift_{shift}" if shift else "other"
        judge.tell(number, RATE, detail, baseline=reference, target=other, place=theirs.place, count=len(rates))
    if others:
        worst = next(iter(others))
        key, reference, other = others[worst]
        judge.tell(
            number,
            RULE,
            "declared",
            others,
            what=key,
            baseline=str(reference),
            target=str(other),
            place=theirs.place,
        )


def _find_shift(judge: Judge, name: str, reference: float, other: float) -> str:
    """Whether the target's rate is the one that the baseline had before, or has next."""
    if judge.left is not None:
        update = next((update for update in judge.left.updates if name in update.group_of), None)
        if (
            update is not None
            and is_same_value(update.group_of[name]["lr"], other)
            and not is_same_value(reference, other)
        ):
            return "late"
    return ""


def _judge_rule(judge: Judge, number: int, mine: Update, theirs: Update) -> None:
    if mine.kind.replace("NpuFused", "") != theirs.kind.replace("NpuFused", ""):
        judge.tell(number, RULE, "class", baseline=mine.kind, target=theirs.kind, place=theirs.place)
        return
    groups = min(len(mine.groups), len(theirs.groups))
    for at in range(groups):
        fits = [fit_update(update, at) for update in (mine, theirs)]
        if _tell_fit(judge, number, fits, mine, theirs, at):
            return


def _tell_fit(judge: Judge, number: int, fits: list[Fit], mine: Update, theirs: Update, at: int) -> bool:
    left, right = fits
    if not left.family and not right.family:
        return _judge_unknown(judge, number, mine, theirs, at)
    for fit, twin, side, update in ((right, left, "target", theirs), (left, right, "baseline", mine)):
        if fit.odd and not twin.odd:
            decay = next(iter(fit.odd.values()))
            declared = float(update.groups[at].get("weight_decay") or 0.0)
            judge.tell(
                number,
                DECAY,
                "used",
                fit.odd,
                baseline=declared,
                target=decay,
                count=len(fit.odd),
                side=side,
                place=update.place,
            )
            return True
    if left.known and right.known:
        if set(left.rules) & set(right.rules):
            return False
        reference, other = left.rules[0], right.rules[0]
        side, rule = ("target", other) if frozenset() in left.rules or other != frozenset() else ("baseline", reference)
        if frozenset() in right.rules:
            side, rule = "baseline", reference
        coefficients = (right if side == "target" else left).coefficients
        update = theirs if side == "target" else mine
        _tell_rule(judge, number, rule, side, update, coefficients)
        return True
    for fit, twin, side, update in ((right, left, "target", theirs), (left, right, "baseline", mine)):
        if twin.known and not fit.known and len(update.updates):
            if fit.factor is not None:
                judge.tell(
                    number, RULE, "factor", factor=fit.factor, side=side, place=update.place, optimizer=update.kind
                )
            elif any(tensor.finite for tensor in update.updates.values()) and fit.family:
                judge.tell(number, RULE, "unknown", side=side, place=update.place, optimizer=update.kind)
            return True
    return _judge_unknown(judge, number, mine, theirs, at)


def _tell_rule(
    judge: Judge, number: int, rule: frozenset[str], side: str, update: Update, coefficients: Mapping[str, float]
) -> None:
    shown = {key: value for key, value in coefficients.items() if key in rule}
    args: dict[str, Any] = {"rule": sorted(rule), "side": side, "place": update.place, "optimizer": update.kind}
    args["coefficients"] = [f"{key} = {value:.6g}" for key, value in shown.items()] or None
    judge.tell(number, RULE, "named", **args)


def _judge_unknown(judge: Judge, number: int, mine: Update, theirs: Update, at: int) -> bool:
    """An optimizer of no known family: its updates are held against its gradients' difference."""
    if number >= min(judge.known.data_from, judge.known.parted_from) or judge.known.draws_differ or judge.parted:
        return False
    errors = {}
    for name in mine.groups[at]["names"]:
        if name in mine.updates and name in theirs.updates:
            gradient = measure_apart(mine.gradients[name], theirs.gradients[name])
            errors[name] = max(0.0, measure_apart(mine.updates[name], theirs.updates[name]) - 10 * gradient)
    if not errors:
        return False
    allowed = max(0.05, 5 * judge.floor_at(number), 100 * judge.noise)
    if median(errors.values()) > allowed:
        worst = sorted(errors, key=lambda name: -errors[name])
        judge.tell(
            number,
            UPDATE,
            names=worst,
            error=median(errors.values()),
            allowed=allowed,
            place=theirs.place,
            optimizer=theirs.kind,
        )
        return True
    return False
