"""Unscaling, clipping and what the script changes itself: each side by itself, then against the other."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

import numpy as np

from ascend_workbook.precision.state.gradients import measure_smallest
from ascend_workbook.precision.state.judge import CHANGED, CLIP, ONE_FACTOR, READ, READ_TIMES, UNSCALE, Judge
from ascend_workbook.precision.state.reading import Clip, Step, Tensor, Tensors
from ascend_workbook.precision.state.sketches import (
    are_same_numbers,
    collect_gradients_read,
    find_common_ratio,
    find_factor,
)


def judge_unscaling(judge: Judge, left: Step, right: Step) -> None:
    number = left.number
    if left.scale is None or right.scale is None or left.skipped != right.skipped:
        return
    factors = []
    for side in (left, right):
        used = collect_gradients_read(side)
        before_clip = side.clips[0].before if side.clips else {}
        stage = side.unscaled or before_clip or used
        factors.append(find_common_ratio(side.gradients, stage))
    if None in factors or any(factor == 0 for factor in factors):
        return
    remaining = [float(factor or 0) * float(side.scale or 1) for factor, side in zip(factors, (left, right))]
    off = [abs(value - 1) > 0.01 for value in remaining]
    # a clipping that takes place before shows as scaled
    if off[1] and not off[0] and not any(clip.scaled for clip in right.clips):
        place = right.updates[0].place if right.updates else ""
        judge.tell(number, UNSCALE, place=place, factor=remaining[1], scale=right.scale)
    elif off[1] and not off[0] and right.clips and not right.raw["unscales"]:
        place = right.updates[0].place if right.updates else right.clips[0].place
        late = find_common_ratio(right.gradients, collect_gradients_read(right))
        if late is not None and abs(late * float(right.scale or 1)) > 100:
            judge.tell(number, UNSCALE, place=place, factor=remaining[1], scale=right.scale)


def judge_clipping(judge: Judge, left: Step, right: Step) -> None:
    number = left.number
    mine, theirs = left.clips, right.clips
    if len(mine) != len(theirs):
        side = "target" if len(theirs) < len(mine) else "baseline"
        place = (theirs or mine)[0].place
        judge.tell(number, CLIP, "count", baseline=len(mine), target=len(theirs), side=side, place=place)
        return
    for reference, other in zip(mine, theirs):
        if reference.scaled != other.scaled:
            side = "target" if other.scaled else "baseline"
            scale = right.scale if other.scaled else left.scale
            place = other.place if other.scaled else reference.place
            raw = (right if other.scaled else left).raw
            if not raw["unscales"]:  # nor was it taken out after it
                judge.tell(
                    number,
                    UNSCALE,
                    side=side,
                    place=raw["updates"][-1]["place"] if raw["updates"] else place,
                    factor=scale,
                    scale=scale,
                )
                return
            judge.tell(
                number,
                CLIP,
                "scaled",
                scale=scale,
                norm=(other if other.scaled else reference).returned,
                side=side,
                place=place,
            )
            return
        if reference.late != other.late:
            side = "target" if other.late else "baseline"
            judge.tell(number, CLIP, "late", side=side, place=(other if other.late else reference).place)
            return
        if reference.kind != other.kind or not are_same_numbers(reference.limits, other.limits):
            texts = [f"{clip.kind}({', '.join(map(str, clip.limits))})" for clip in (reference, other)]
            judge.tell(number, CLIP, "limits", baseline=texts[0], target=texts[1], place=other.place)
            return
        if reference.backwards != other.backwards and left.backwards == right.backwards:
            judge.tell(number, CLIP, "early", baseline=reference.backwards, target=other.backwards, place=other.place)
            return
        for clip, side, twin in ((other, "target", reference), (reference, "baseline", other)):
            wrong = _wrong_coefficient(clip)
            if wrong is not None and _wrong_coefficient(twin) is None:
                judge.tell(number, CLIP, "coefficient", side=side, place=clip.place, factor=wrong[0], expected=wrong[1])
                return


def judge_changes(judge: Judge, left: Step, right: Step) -> None:
    """Gradients that were changed between the last stage that was seen and the optimizer, on one side alone."""
    number = left.number
    changes = [_changed_gradients(side) for side in (left, right)]
    read = collect_gradients_read(left).keys() & collect_gradients_read(right).keys()
    for at, side in ((1, "target"), (0, "baseline")):
        names = [name for name in changes[at] if name not in changes[1 - at] and (not read or name in read)]
        if not names:
            continue
        step = (left, right)[at]
        factors = [changes[at][name] for name in names]
        place = step.updates[0].place if step.updates else ""
        args: dict[str, Any] = {"count": len(names), "place": place, "side": side}
        if all(factor == 0.0 for factor in factors):
            judge.tell(number, CHANGED, "zero", names, **args)
        elif len(names) > 1 and len({round(factor, 3) for factor in factors if factor is not None}) == 1:
            judge.tell(number, CHANGED, "factor", names, factor=factors[0], **args)
        elif len(names) == 1 and factors[0] is not None:
            judge.tell(number, CHANGED, "one_factor", names, factor=factors[0], **args)
        else:
            judge.tell(number, CHANGED, "one" if len(names) == 1 else "other", names, **args)
        return
    both = [name for name in changes[0] if name in changes[1]]
    differing = [
        name
        for name in both
        if (changes[0][name] is None) != (changes[1][name] is None)
        or changes[0][name] is not None
        and abs(float(changes[0][name] or 0) - float(changes[1][name] or 0)) > 0.02 * abs(float(changes[0][name] or 1))
    ]
    comparable = number < min(judge.known.data_from, judge.known.parted_from) and not judge.parted
    factors_of = [(changes[0][name], changes[1][name]) for name in differing]
    if comparable and factors_of and None not in factors_of[0]:
        reference, other = float(factors_of[0][0] or 0), float(factors_of[0][1] or 0)
        if abs(reference - other) <= max(0.05, 20 * judge.noise) * abs(reference):
            return
        args = {"count": len(differing), "place": right.updates[0].place if right.updates else ""}
        ratios = [float(value or 0) / float(base) for base, value in factors_of if base]
        shared = bool(ratios) and max(ratios) - min(ratios) <= ONE_FACTOR * abs(ratios[0])
        if len(differing) > 1 and len(ratios) == len(differing) and shared and ratios[0]:
            # both scale them (an average, a clipping by hand): what the sides differ by is one factor more
            judge.tell(number, CHANGED, "read_factor", differing, factor=ratios[0], of=len(read), **args)
        else:
            judge.tell(number, CHANGED, "both", differing, baseline=reference, target=other, **args)


def judge_gradients_read(judge: Judge, left: Step, right: Step) -> None:
    """Gradients that agree after backward, and are others where the optimizer reads them, though both sides changed
    them: an average over ranks that is a sum, or is made in another format."""
    number = left.number
    comparable = number < min(judge.known.data_from, judge.known.parted_from) and not judge.known.draws_differ
    scaled = left.scale is not None or right.scale is not None
    if judge.parted or not comparable or scaled and not (left.unscaled and right.unscaled):
        return
    mine, theirs = collect_gradients_read(left), collect_gradients_read(right)
    common = [name for name in mine if name in theirs and mine[name].shape == theirs[name].shape and mine[name].finite]
    common = [name for name in common if theirs[name].finite]
    if not common:
        return
    smallest = measure_smallest(judge, [mine[name] for name in common], 1.0)
    sizes = {name: max(mine[name].norm, theirs[name].norm, smallest * mine[name].size ** 0.5) for name in common}
    errors = {name: mine[name].distance(theirs[name]) / size if size else 0.0 for name, size in sizes.items()}
    allowed = max(READ[judge.level], READ_TIMES * judge.noise, *(3 * known for known in judge.backward_errors.values()))
    wrong = sorted((name for name in common if errors[name] > allowed), key=lambda name: -errors[name])
    if len(wrong) < max(2, len(common) // 2):
        return
    reference, other = (np.concatenate([side[name].sketch for name in common]) for side in (mine, theirs))
    factor = find_factor(reference, other, ONE_FACTOR)
    place = right.updates[0].place if right.updates else ""
    args: dict[str, Any] = {"count": len(wrong), "of": len(common), "place": place}
    if factor is not None and abs(factor - 1) > ONE_FACTOR:
        judge.tell(number, CHANGED, "read_factor", wrong, factor=factor, **args)
    else:
        judge.tell(number, CHANGED, "read", wrong, error=errors[wrong[0]], allowed=allowed, **args)


def _wrong_coefficient(clip: Clip) -> tuple[float, float] | None:
    """(what the gradients were multiplied by, what they should have been), where a clipping by norm is off."""
    if clip.kind != "clip_grad_norm_" or not clip.limits or clip.returned is None or not math.isfinite(clip.returned):
        return None
    factor = find_common_ratio(clip.before, clip.gradients)
    expected = min(1.0, float(clip.limits[0]) / (clip.returned + 1e-6))
    if factor is None or abs(factor - expected) > 0.01 * expected:
        return (factor or 0.0, expected)
    kind = float(clip.limits[1]) if len(clip.limits) > 1 else 2.0
    if kind == 2.0 and all(tensor.size <= 1 << 20 for tensor in clip.before.values()):
        norm = math.sqrt(sum(tensor.norm**2 for tensor in clip.before.values()))
        if abs(norm - clip.returned) > 0.02 * norm:
            return (clip.returned, norm)
    return None


def _changed_gradients(step: Step) -> dict[str, float | None]:
    """Gradients that the script changed itself between the stages that were seen, with the factor where it is one."""
    changed: dict[str, float | None] = {}
    seen: dict[str, Tensor] = dict(step.gradients)
    scaled = step.scale is not None
    stages: list[tuple[dict[str, Tensor], dict[str, Tensor]]] = []
    for clip in step.clips:
        if not clip.late and clip.backwards == step.backwards:
            stages.append((clip.before, clip.gradients))
    for name_of_stage, (before, after) in enumerate(stages):
        start = step.unscaled if step.unscaled and not step.clips[name_of_stage].scaled else seen
        changed.update(_compare_stages(start, before, scaled and not step.unscaled))
        seen = {**seen, **after}
    if step.unscaled and not any(clip.scaled for clip in step.clips):  # a loss scale is taken out of all of them alike
        read = collect_gradients_read(step)  # others are none of the optimizer whose gradients were unscaled
        own = {name: tensor for name, tensor in step.gradients.items() if name in read}
        changed.update(_compare_stages(own, step.unscaled, True))
    if step.unscaled and not stages:
        seen = {**seen, **step.unscaled}
    if step.unscaled and any(clip.scaled for clip in step.clips):
        seen = {**seen, **step.unscaled}
    if len(step.clips) == len(stages):
        changed.update(_compare_stages(seen, collect_gradients_read(step), scaled and not step.unscaled))
    return changed


def _compare_stages(before: Tensors, after: Tensors, scaled: bool) -> dict[str, float | None]:
    """Tensors that are another after a stage than before it. `scaled`: a loss scale may be taken out of all of them."""
    factors: dict[str, float | None] = {}
    for name in before.keys() & after.keys():
        reference, other = before[name], after[name]
        if reference.finite and other.finite and reference.norm:
            factors[name] = 0.0 if other.norm == 0.0 else find_factor(reference.sketch, other.sketch, 1e-3)
    shown = [factor for factor in factors.values() if factor]
    usual = median(shown) if scaled and shown else 1.0
    return {
        name: None if factor is None else factor / usual
        for name, factor in sorted(factors.items())
        if factor is None or abs(factor / usual - 1) > 1e-3
    }
