"""What a step starts with: random streams, loss scale, the optimizer's state, weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ascend_workbook.precision.state.judge import RANDOM, RESTORED, SCALE, Conditions, Judge
from ascend_workbook.precision.state.reading import Step, Update
from ascend_workbook.precision.state.sketches import is_empty, measure_apart


def judge_start(judge: Judge, left: Step, right: Step) -> None:
    number = left.number
    drawn = list_parted_streams(judge.known, (judge.left, judge.right), (left, right))
    if judge.left is not None and judge.right is not None:  # that a stream began otherwise is told by the experiment
        drawn = [name for name in drawn if judge.left.random.get(name) == judge.right.random.get(name)]
        if drawn:
            judge.tell(number, RANDOM, names=drawn)
    if (left.scale is None) == (right.scale is None) and left.scale != right.scale:
        judge.tell(number, SCALE, baseline=left.scale, target=right.scale)
    for mine, theirs in zip(left.updates, right.updates):
        _judge_state(judge, number, mine, theirs)
        _judge_weights(judge, number, mine, theirs)
    _judge_buffers(judge, left, right)


def list_parted_streams(
    known: Conditions, before: tuple[Step | None, Step | None], now: tuple[Step, Step]
) -> list[str]:
    """List the random streams that differ where a step begins, of those that can be the same on both sides."""
    left, right = now
    drawn = [name for name in left.random if name in right.random and left.random[name] != right.random[name]]
    of_host = ("python", "numpy", "torch") if _stood_still(before, now) else ("python", "numpy")
    return [name for name in drawn if known.same_streams or name in of_host]


def _stood_still(before: tuple[Step | None, Step | None], now: tuple[Step, Step]) -> bool:
    """Whether no device drew in the step before, and one has a stream of its own: then the host's stream, which a CPU
    that stands in for one draws from too, is the script's alone."""
    streams = [
        (earlier.random[kind], step.random[kind])
        for earlier, step in zip(before, now)
        if earlier is not None
        for kind in ("cuda", "npu")
        if kind in earlier.random and kind in step.random
    ]
    return bool(streams) and all(earlier == later for earlier, later in streams)


def _judge_state(judge: Judge, number: int, mine: Update, theirs: Update) -> None:
    """The optimizer's state before the update: what was restored, or what the step before left."""
    before = [_find_earlier(side, update) for side, update in ((judge.left, mine), (judge.right, theirs))]
    names, slots, missing = [], set(), ""
    errors: dict[str, float] = {}
    for name in [name for name in mine.before if name in theirs.before]:
        for slot in dict.fromkeys((*mine.before[name], *theirs.before[name])):
            sides = [side.before[name].get(slot) for side in (mine, theirs)]
            empty = [is_empty(side) for side in sides]
            if sides[0] is None and sides[1] is None:
                continue
            if empty[0] != empty[1]:
                # a slot that only one side's optimizer has at all is another rule, not another state
                others = [any(slot in state for state in side.before.values()) for side in (mine, theirs)]
                if others[0] != others[1] and all(any(side.before.values()) for side in (mine, theirs)):
                    continue
                names.append(name)
                slots.add(slot)
                missing = "target" if empty[1] else "baseline"
                continue
            apart = measure_apart(sides[0], sides[1])
            inherited = measure_apart(*(_read_slot(earlier, name, slot) for earlier in before))
            if slot == "step" and apart and not inherited:
                names.append(name)
                slots.add(slot)
            elif slot != "step":
                errors[f"{name} {slot}"] = apart
                if apart > max(10 * inherited, 1e-3 if all(before) else judge.floor_at(number)) and apart > 0.02:
                    names.append(name)
                    slots.add(slot)
    if errors:
        judge.add_row(number, "state", errors, judge.floor_at(number))
    if names:
        detail = "empty" if missing else "step" if slots == {"step"} else "other"
        args: dict[str, Any] = {"slots": sorted(slots), "count": len(set(names))}
        if detail == "step":
            args.update(baseline=mine.before[names[0]]["step"], target=theirs.before[names[0]]["step"])
        side = missing or "target"
        judge.tell(number, RESTORED, detail, dict.fromkeys(names), side=side, place=theirs.place, **args)


def _judge_weights(judge: Judge, number: int, mine: Update, theirs: Update) -> None:
    """Weights that are not what the update before left, on one side alone."""
    if judge.left is None or judge.right is None:
        return
    moved = []
    for update, side in ((mine, judge.left), (theirs, judge.right)):
        names = []
        remade = _find_remade(side, update)
        before, pairs = remade if remade is not None else (None, {})
        for name, old in pairs.items() if before is not None and not side.skipped else ():
            weight = update.weights[name]
            if before is None or old not in before.updates or not weight.finite:
                continue
            expected = before.weights[old].sketch + before.updates[old].sketch
            off = float(np.linalg.norm(weight.sketch - expected))
            own = float(np.linalg.norm(before.updates[old].sketch))
            if off > 0.05 * own + 1e-5 * weight.norm and own:
                names.append(name)
        moved.append(names)
    odd = [name for name in moved[1] if name not in moved[0]] or [name for name in moved[0] if name not in moved[1]]
    if odd:
        judge.tell(number, RESTORED, "weights", odd, count=len(odd), side="target" if moved[1] else "baseline")


def _judge_buffers(judge: Judge, left: Step, right: Step) -> None:
    """Buffers that are not what the step before left, on one side alone."""
    if judge.left is None or judge.right is None:
        return
    moved = [_find_moved_buffers(before, side) for before, side in ((judge.left, left), (judge.right, right))]
    paired = [_pair_names(moved[1], moved[0]), _pair_names(moved[0], moved[1])]
    odd = [name for name, same in paired[0].items() if not same] or [
        name for name, same in paired[1].items() if not same
    ]
    if odd:
        side = "target" if odd[0] in moved[1] else "baseline"
        judge.tell(left.number, RESTORED, "buffers", odd, count=len(odd), side=side)


def _find_moved_buffers(before: Step, step: Step) -> list[str]:
    """The buffers of a step that begin by more than 1 % off from where the same ones ended before."""
    pairs = {name: before.buffers[old] for name, old in _pair_names(step.buffers_before, before.buffers).items() if old}
    return [
        name
        for name, old in pairs.items()
        if old.shape == step.buffers_before[name].shape
        and old.finite
        and measure_apart(old, step.buffers_before[name]) > 0.01
    ]


def _find_earlier(step: Step | None, update: Update) -> tuple[Update, dict[str, str]] | None:
    """The update of the step before that holds the same parameters, and their names there where they are others."""
    if step is None:
        return None
    names = set(update.group_of)
    same = next((earlier for earlier in reversed(step.updates) if names & set(earlier.group_of)), None)
    return (same, {}) if same is not None else _find_remade(step, update)


def _read_slot(earlier: tuple[Update, dict[str, str]] | None, name: str, slot: str) -> Any:
    """What the update before left in a slot of the parameter's state."""
    return earlier[0].after.get(earlier[1].get(name, name), {}).get(slot) if earlier else None


def _find_remade(step: Step, update: Update) -> tuple[Update, dict[str, str]] | None:
    """The update of the step before of the same model, with each parameter's name there, also where the script made
    the model anew, so that its parameters go by another number."""
    held = [earlier for earlier in reversed(step.updates) if update.weights.keys() <= earlier.weights.keys()]
    for earlier in held or reversed(step.updates):
        pairs = _pair_names(update.weights, earlier.weights)
        if pairs and all(
            old and earlier.weights[old].shape == update.weights[name].shape for name, old in pairs.items()
        ):
            return earlier, pairs
    return None


def _pair_names(names: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Each name's own among the others; where it is not there, the only one that differs in the number of its model
    alone, or an empty one."""
    like: dict[str, list[str]] = {}
    for other in others:
        like.setdefault(other.partition(":")[2] or other, []).append(other)
    pairs: dict[str, str] = {}
    for name in names:
        same = like.get(name.partition(":")[2] or name, [])
        pairs[name] = name if name in same else same[0] if len(same) == 1 else ""
    return pairs
