"""Where in a step two runs part first: each stage held against the other side's, and the side's own stage before.

The stages of a step, in order: what it starts with (weights, optimizer state, loss scale, random streams), gradients
after backward, after unscaling, after clipping, as the optimizer reads them, the hyperparameters in force, the rule of
the update, and what the step leaves (buffers, averages of the weights). A stage that parts explains those behind it;
what is judged by itself (a rule, a clipping, an unscaling, buffers) needs no other stage to be right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.state.fitting import Fit, fit_update
from ascend_workbook.precision.state.reading import Clip, Step, Tensor, Tensors, Update

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: The kinds of events, in the order of a step.
KINDS = """
data random restored scale count recompute gradient unscale clip changed skipped parameters rate decay rule update
buffer copy
""".split()
RESTORED, SCALE, COUNT, RECOMPUTE, GRADIENT, UNSCALE, CLIP, CHANGED, SKIPPED = KINDS[2:11]
PARAMETERS, RATE, DECAY, RULE, UPDATE, BUFFER, COPY = KINDS[11:]
RANDOM = "random"
#: Judged on each side by itself: not a consequence of what came before in the step.
BY_ITSELF = (RECOMPUTE, UNSCALE, CLIP, CHANGED, SKIPPED, PARAMETERS, RATE, DECAY, RULE, COUNT)
#: Relative difference of a gradient that rounding explains at the first step, of float32 and of 16-bit formats; beyond
#: CEILING it is none whatever the others do; between them it must stand out from the others by OUTSTANDING.
FLOOR, CEILING, OUTSTANDING = (2e-4, 0.1), (2e-2, 0.6), 20.0
#: A gradient's size is taken as at least this share of the average of all: what cancels to nothing is noise.
SMALLEST = (1e-2, 0.2)
#: Where operators compute in a coarser format than their tensors have (HF32), what cancels keeps more noise: that share
#: is then so many times the median error, WIDEST at most.
WIDER, WIDEST = 200.0, 0.05
#: Noise grows from step to step by so much at most.
GROWTH = 30.0
#: A factor that all gradients share.
ONE_FACTOR = 0.02


@dataclass(frozen=True)
class Event:
    """Something that parts the runs at one step. `detail` ends the sentence's key; `names` are tensors, worst first."""

    step: int
    kind: str
    detail: str = ""
    names: tuple[str, ...] = ()
    args: Mapping[str, Scalar] = field(default_factory=dict)
    place: str = ""
    side: str = "target"


@dataclass(frozen=True)
class Row:
    """One stage of one step: how many tensors were compared, the worst of them, and what was allowed."""

    step: int
    stage: str
    count: int
    worst: str
    error: float
    allowed: float


@dataclass(frozen=True)
class Judged:
    """All events of one rank, the earliest first, and what was compared."""

    rank: int
    events: tuple[Event, ...]
    rows: tuple[Row, ...]

    @property
    def first(self) -> Event | None:
        return self.events[0] if self.events else None


@dataclass
class Conditions:
    """What is known of the runs from elsewhere: `coarse` that they compute in a 16-bit format; `data_from` the step
    from which their batches differ, `parted_from` that from which an operator does; `draws_differ` that their masks do
    by nature; `same_streams` that both draw from the same kind of device; `noise` of the initial weights."""

    coarse: bool = False
    data_from: float = math.inf
    parted_from: float = math.inf
    draws_differ: bool = False
    same_streams: bool = True
    noise: float = 0.0


def judge_rank(rank: int, baseline: Mapping[int, Step], target: Mapping[int, Step], known: Conditions) -> Judged:
    """Hold all common steps of one rank against each other."""
    judge = _Judge(known)
    numbers = sorted(baseline.keys() & target.keys())
    for number in numbers:
        judge.judge_step(baseline[number], target[number])
        if number + 1 in baseline and number + 1 in target:
            judge.judge_copies(baseline[number], target[number], baseline[number + 1], target[number + 1])
    # where a step has several updates, what an earlier one does is in the gradients of a later one
    several = {number for number in numbers if len(target[number].updates) > 1}
    late = KINDS.index(UPDATE)
    events = sorted(
        judge.events,
        key=lambda event: (
            event.step,
            late if event.kind == GRADIENT and event.step in several else KINDS.index(event.kind),
        ),
    )
    return Judged(rank, tuple(_drop_consequences(events)), tuple(judge.rows))


def _drop_consequences(events: list[Event]) -> Iterator[Event]:
    """Keep the events of the earliest step; of those that another explains only the first."""
    first = events[0].step if events else 0
    explained = False
    for event in events:
        if event.step == first and (not explained or event.kind in BY_ITSELF):
            yield event
        explained = explained or event.kind not in (RANDOM,)


class _Judge:
    def __init__(self, known: Conditions) -> None:
        self.known = known
        self.events: list[Event] = []
        self.rows: list[Row] = []
        self.level = 1 if known.coarse else 0
        self.noise = 0.0  # of the gradients of the step before
        self.left: Step | None = None
        self.right: Step | None = None
        self.parted = False

    def tell(self, step: int, kind: str, detail: str = "", names: Iterable[str] = (), **rest: Any) -> None:
        place, side = rest.pop("place", ""), rest.pop("side", "target")
        self.events.append(Event(step, kind, detail, tuple(names), rest, place, side))

    def judge_step(self, left: Step, right: Step) -> None:
        before = len(self.events)
        self.judge_start(left, right)
        self.judge_backward(left, right)
        self.judge_unscaling(left, right)
        self.judge_clipping(left, right)
        self.judge_updates(left, right)
        self.judge_buffers(left, right)
        self.left, self.right = left, right
        self.parted = self.parted or len(self.events) > before

    # What a step starts with

    def judge_start(self, left: Step, right: Step) -> None:
        number = left.number
        drawn = [name for name in left.random if name in right.random and left.random[name] != right.random[name]]
        drawn = [name for name in drawn if self.known.same_streams or name in ("python", "numpy")]
        if self.left is not None and self.right is not None:  # that a stream began otherwise is told by the experiment
            drawn = [name for name in drawn if self.left.random.get(name) == self.right.random.get(name)]
            if drawn:
                self.tell(number, RANDOM, names=drawn)
        if (left.scale is None) == (right.scale is None) and left.scale != right.scale:
            self.tell(number, SCALE, baseline=left.scale, target=right.scale)
        for mine, theirs in zip(left.updates, right.updates):
            self._judge_state(number, mine, theirs)
            self._judge_weights(number, mine, theirs)

    def _judge_state(self, number: int, mine: Update, theirs: Update) -> None:
        """The optimizer's state before the update: what was restored, or what the step before left."""
        before = [_find_update(side, update) for side, update in ((self.left, mine), (self.right, theirs))]
        names, slots, missing = [], set(), ""
        errors: dict[str, float] = {}
        for name in [name for name in mine.before if name in theirs.before]:
            for slot in dict.fromkeys((*mine.before[name], *theirs.before[name])):
                sides = [side.before[name].get(slot) for side in (mine, theirs)]
                empty = [_is_empty(side) for side in sides]
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
                apart = _apart(sides[0], sides[1])
                left_by = [update.after.get(name, {}).get(slot) if update else None for update in before]
                inherited = _apart(*left_by)
                if slot == "step" and apart and not inherited:
                    names.append(name)
                    slots.add(slot)
                elif slot != "step":
                    errors[f"{name} {slot}"] = apart
                    if apart > max(10 * inherited, 1e-3 if all(before) else self._floor(number)) and apart > 0.02:
                        names.append(name)
                        slots.add(slot)
        if errors:
            self._row(number, "state", errors, self._floor(number))
        if names:
            detail = "empty" if missing else "step" if slots == {"step"} else "other"
            args: dict[str, Any] = {"slots": sorted(slots), "count": len(set(names))}
            if detail == "step":
                args.update(baseline=mine.before[names[0]]["step"], target=theirs.before[names[0]]["step"])
            side = missing or "target"
            self.tell(number, RESTORED, detail, dict.fromkeys(names), side=side, place=theirs.place, **args)

    def _judge_weights(self, number: int, mine: Update, theirs: Update) -> None:
        """Weights that are not what the update before left, on one side alone."""
        if self.left is None or self.right is None:
            return
        moved = []
        for update, side in ((mine, self.left), (theirs, self.right)):
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
            self.tell(number, RESTORED, "weights", odd, count=len(odd), side="target" if moved[1] else "baseline")

    # Gradients

    def judge_backward(self, left: Step, right: Step) -> None:
        number = left.number
        masks = [
            [entry["place"] for entry in side.recomputes if entry["drew"] and entry["same"] is False]
            for side in (left, right)
        ]
        for at, side in ((1, "target"), (0, "baseline")):
            if masks[at] and not masks[1 - at]:
                self.tell(number, RECOMPUTE, place=masks[at][0], side=side, count=len(masks[at]))
        if left.backwards != right.backwards:
            self.tell(
                number,
                COUNT,
                baseline=left.backwards,
                target=right.backwards,
                place=right.raw.get("backward_place", ""),
            )
            return
        comparable = number < self.known.data_from and number < self.known.parted_from and not self.known.draws_differ
        if comparable and left.gradients and right.gradients:
            self._judge_gradients(left, right)

    def _judge_gradients(self, left: Step, right: Step) -> None:
        number = left.number
        units = [side.scale or 1.0 for side in (left, right)]
        mine, theirs = left.gradients, right.gradients
        common = [name for name in mine if name in theirs and mine[name].shape == theirs[name].shape]
        if not common:
            return
        infinite = [name for name in common if mine[name].finite != theirs[name].finite]
        differences: dict[str, float] = {}
        zeros = []
        smallest = self._smallest([mine[name] for name in common], units[0])
        for name in common:
            if not (mine[name].finite and theirs[name].finite):
                continue
            reference, other = mine[name].sketch / units[0], theirs[name].sketch / units[1]
            differences[name] = float(np.linalg.norm(reference - other))
            if theirs[name].norm == 0.0 and mine[name].norm / units[0] > 1e-6 * smallest and mine[name].size > 1:
                zeros.append(name)
        lacking = [name for name in mine if name not in theirs]

        def measure(smallest: float) -> dict[str, float]:
            sizes = {
                name: max(mine[name].norm / units[0], theirs[name].norm / units[1], smallest * mine[name].size ** 0.5)
                for name in differences
            }
            return {name: differences[name] / size if size else 0.0 for name, size in sizes.items()}

        errors = measure(smallest)
        middle = median(errors.values()) if errors else 0.0
        wider = min(WIDER * middle, WIDEST) / SMALLEST[self.level]
        if wider > 1:
            errors = measure(smallest * wider)
        allowed = self._allowed_gradient(number, middle)
        self._row(number, "gradient", errors, allowed)
        wrong = sorted((name for name in errors if errors[name] > allowed), key=lambda name: -errors[name])
        self.noise = max(self.noise, middle)
        if zeros or lacking:
            names = zeros or lacking
            detail = "one" if len(names) < len(common) else "zero"
            self.tell(number, GRADIENT, "zeroed", names, count=len(names), of=len(common), label=detail, side="target")
        elif infinite:
            side = "target" if mine[infinite[0]].finite else "baseline"
            self.tell(number, GRADIENT, "nonfinite", infinite, count=len(infinite), of=len(common), side=side)
        elif wrong or self._is_stale(right, common, left, units) or self._find_scaled(left, right, errors, units):
            wrong = (
                wrong or self._find_scaled(left, right, errors, units) or sorted(errors, key=lambda name: -errors[name])
            )
            self._explain_gradients(left, right, common, wrong, errors, allowed, units)

    def _is_stale(self, right: Step, common: list[str], left: Step, units: list[float]) -> bool:
        """Whether the gradients are the baseline's with those of the step before added to them."""
        if self.right is None or right.backwards != left.backwards:
            return False
        reference = np.concatenate([left.gradients[name].sketch for name in common]) / units[0]
        other = np.concatenate([right.gradients[name].sketch for name in common]) / units[1]
        earlier = self._stale(right, common, units[1])
        rest = _relative(other, reference)
        return (
            earlier is not None
            and _relative(other, reference + earlier) < 0.4 * rest
            and rest > 10 * self._floor(left.number)
        )

    def _find_scaled(self, left: Step, right: Step, errors: Mapping[str, float], units: list[float]) -> list[str]:
        """Parameters whose gradient is the baseline's times a number that noise of this size would not make."""
        off: dict[str, tuple[float, float]] = {}
        for name in errors:
            reference, other = left.gradients[name].sketch / units[0], right.gradients[name].sketch / units[1]
            size = float(reference @ reference)
            if size and left.gradients[name].size >= 32:
                factor = float(reference @ other) / size
                off[name] = (abs(factor - 1), float(np.linalg.norm(other - factor * reference)) / math.sqrt(size))
        usual = median(value for value, _ in off.values()) if off else 0.0
        return [
            name
            for name, (value, rest) in off.items()
            if value > max(0.05, 8 * usual, 6 * rest / math.sqrt(32)) and errors[name] > 0.04
        ]

    def _explain_gradients(
        self,
        left: Step,
        right: Step,
        common: list[str],
        wrong: list[str],
        errors: dict[str, float],
        allowed: float,
        units: list[float],
    ) -> None:
        number = left.number
        reference = np.concatenate([left.gradients[name].sketch for name in common]) / units[0]
        other = np.concatenate([right.gradients[name].sketch for name in common]) / units[1]
        args: dict[str, Any] = {"count": len(wrong), "of": len(common), "error": errors[wrong[0]], "allowed": allowed}
        args["place"] = right.raw.get("backward_place", "")
        tolerance = max(ONE_FACTOR, 3 * self._floor(number))
        factor = _one_factor(reference, other, tolerance)
        rest = _relative(other, reference)
        if self.right is not None and self.right.gradients:
            earlier = self._stale(right, common, units[1])
            if (
                earlier is not None
                and _relative(other, reference + earlier) < max(0.4 * rest, tolerance)
                and rest > tolerance
            ):
                self.tell(number, GRADIENT, "stale", wrong, **args)
                return
        for at, partial in enumerate(left.cumulated[:-1]):
            part = np.concatenate([partial[name].sketch for name in common if name in partial]) / units[0]
            if len(part) == len(other) and _relative(other, part) < min(0.3 * rest, tolerance):
                self.tell(number, GRADIENT, "partial", wrong, used=at + 1, micro=left.backwards, **args)
                return
        if factor is not None and abs(factor - 1) > tolerance:
            self.tell(number, GRADIENT, "factor", wrong, factor=factor, micro=right.backwards, **args)
            return
        single = {}
        for name in wrong:
            mine, theirs = left.gradients[name].sketch / units[0], right.gradients[name].sketch / units[1]
            own = _one_factor(mine, theirs, max(tolerance, 0.1))
            if own is not None:
                single[name] = own
        if len(wrong) <= max(1, len(common) // 4) and wrong[0] in single:
            self.tell(number, GRADIENT, "one_factor", wrong, factor=single[wrong[0]], **args)
        else:
            self.tell(number, GRADIENT, "one" if len(wrong) < len(common) // 2 else "wrong", wrong, **args)

    def _stale(self, right: Step, common: list[str], unit: float) -> Any:
        """The gradients that the step before left behind on the target, as its optimizer read them."""
        assert self.right is not None
        used: dict[str, Tensor] = {}
        for update in self.right.updates:
            used.update(update.gradients)
        if not all(name in used for name in common):
            return None
        return np.concatenate([used[name].sketch for name in common]) / unit * (1.0 if not right.scale else 1.0)

    def _allowed_gradient(self, number: int, middle: float) -> float:
        grown = self.noise * GROWTH
        floor = max(self._floor(number), 10 * self.known.noise)
        ceiling = max(CEILING[self.level], min(grown, 0.9))
        return max(floor, min(OUTSTANDING * middle, ceiling))

    def _floor(self, number: int) -> float:
        return FLOOR[self.level] * (1 if self.left is None else 5)

    def _smallest(self, tensors: list[Tensor], unit: float) -> float:
        """Root mean square of all gradients, times what a gradient of noise may be of it."""
        finite = [tensor for tensor in tensors if tensor.finite]
        size = sum(tensor.size for tensor in finite)
        return SMALLEST[self.level] * math.sqrt(sum((t.norm / unit) ** 2 for t in finite) / size) if size else 0.0

    # Unscaling and clipping: each side by itself, then against the other

    def judge_unscaling(self, left: Step, right: Step) -> None:
        number = left.number
        if left.scale is None or right.scale is None or left.skipped != right.skipped:
            return
        factors = []
        for side in (left, right):
            used = _gradients_read(side)
            before_clip = side.clips[0].before if side.clips else {}
            stage = side.unscaled or before_clip or used
            factors.append(_common_ratio(side.gradients, stage))
        if None in factors or any(factor == 0 for factor in factors):
            return
        remaining = [float(factor or 0) * float(side.scale or 1) for factor, side in zip(factors, (left, right))]
        off = [abs(value - 1) > 0.01 for value in remaining]
        # a clipping that takes place before shows as scaled
        if off[1] and not off[0] and not any(clip.scaled for clip in right.clips):
            place = right.updates[0].place if right.updates else ""
            self.tell(number, UNSCALE, place=place, factor=remaining[1], scale=right.scale)
        elif off[1] and not off[0] and right.clips and not right.raw["unscales"]:
            place = right.updates[0].place if right.updates else right.clips[0].place
            late = _common_ratio(right.gradients, _gradients_read(right))
            if late is not None and abs(late * float(right.scale or 1)) > 100:
                self.tell(number, UNSCALE, place=place, factor=remaining[1], scale=right.scale)

    def judge_clipping(self, left: Step, right: Step) -> None:
        number = left.number
        mine, theirs = left.clips, right.clips
        if len(mine) != len(theirs):
            side = "target" if len(theirs) < len(mine) else "baseline"
            place = (theirs or mine)[0].place
            self.tell(number, CLIP, "count", baseline=len(mine), target=len(theirs), side=side, place=place)
            return
        for reference, other in zip(mine, theirs):
            if reference.scaled != other.scaled:
                side = "target" if other.scaled else "baseline"
                scale = right.scale if other.scaled else left.scale
                place = other.place if other.scaled else reference.place
                raw = (right if other.scaled else left).raw
                if not raw["unscales"]:  # nor was it taken out after it
                    self.tell(
                        number,
                        UNSCALE,
                        side=side,
                        place=raw["updates"][-1]["place"] if raw["updates"] else place,
                        factor=scale,
                        scale=scale,
                    )
                    return
                self.tell(
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
                self.tell(number, CLIP, "late", side=side, place=(other if other.late else reference).place)
                return
            if reference.kind != other.kind or not _same_numbers(reference.limits, other.limits):
                texts = [f"{clip.kind}({', '.join(map(str, clip.limits))})" for clip in (reference, other)]
                self.tell(number, CLIP, "limits", baseline=texts[0], target=texts[1], place=other.place)
                return
            if reference.backwards != other.backwards and left.backwards == right.backwards:
                self.tell(
                    number, CLIP, "early", baseline=reference.backwards, target=other.backwards, place=other.place
                )
                return
            for clip, side, twin in ((other, "target", reference), (reference, "baseline", other)):
                wrong = _wrong_coefficient(clip)
                if wrong is not None and _wrong_coefficient(twin) is None:
                    self.tell(
                        number, CLIP, "coefficient", side=side, place=clip.place, factor=wrong[0], expected=wrong[1]
                    )
                    return

    # The update

    def judge_updates(self, left: Step, right: Step) -> None:
        number = left.number
        if left.skipped != right.skipped:
            side = "target" if right.skipped else "baseline"
            self.tell(number, SKIPPED, side=side, scale=(right if right.skipped else left).scale)
            return
        self._judge_changes(left, right)
        for mine, theirs in zip(left.updates, right.updates):
            self._judge_declared(number, mine, theirs)
            self._judge_rule(number, mine, theirs)

    def _judge_changes(self, left: Step, right: Step) -> None:
        """Gradients that were changed between the last stage that was seen and the optimizer, on one side alone."""
        number = left.number
        changes = [_changed_gradients(side) for side in (left, right)]
        for at, side in ((1, "target"), (0, "baseline")):
            names = [name for name in changes[at] if name not in changes[1 - at]]
            if not names:
                continue
            step = (left, right)[at]
            factors = [changes[at][name] for name in names]
            place = step.updates[0].place if step.updates else ""
            args: dict[str, Any] = {"count": len(names), "place": place, "side": side}
            if all(factor == 0.0 for factor in factors):
                self.tell(number, CHANGED, "zero", names, **args)
            elif len(names) > 1 and len({round(factor, 3) for factor in factors if factor is not None}) == 1:
                self.tell(number, CHANGED, "factor", names, factor=factors[0], **args)
            elif len(names) == 1 and factors[0] is not None:
                self.tell(number, CHANGED, "one_factor", names, factor=factors[0], **args)
            else:
                self.tell(number, CHANGED, "one" if len(names) == 1 else "other", names, **args)
            return
        both = [name for name in changes[0] if name in changes[1]]
        differing = [
            name
            for name in both
            if (changes[0][name] is None) != (changes[1][name] is None)
            or changes[0][name] is not None
            and abs(float(changes[0][name] or 0) - float(changes[1][name] or 0))
            > 0.02 * abs(float(changes[0][name] or 1))
        ]
        if differing and number < min(self.known.data_from, self.known.parted_from) and not self.parted:
            args = {"baseline": changes[0][differing[0]], "target": changes[1][differing[0]], "count": len(differing)}
            if None not in (args["baseline"], args["target"]):
                spread = max(0.05, 20 * self.noise)
                if abs(args["baseline"] - args["target"]) > spread * abs(args["baseline"]):
                    self.tell(number, CHANGED, "both", differing, **args)

    def _judge_declared(self, number: int, mine: Update, theirs: Update) -> None:
        """Which parameters are updated, with which hyperparameters."""
        names = [set(update.group_of) for update in (mine, theirs)]
        moved = [{name for name in update.updates if update.updates[name].norm} for update in (mine, theirs)]
        missing = [name for name in mine.group_of if name not in names[1]] or [
            name for name in theirs.group_of if name not in names[0]
        ]
        if missing and (
            names[0] - names[1] and not names[1] - names[0] or names[1] - names[0] and not names[0] - names[1]
        ):
            side = "target" if names[0] - names[1] else "baseline"
            self.tell(number, PARAMETERS, names=missing, count=len(missing), side=side, place=theirs.place)
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
            self.tell(number, PARAMETERS, "still", still, count=len(still), place=theirs.place)
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
                if not _same_value(reference[key], other[key]):
                    {"lr": rates, "weight_decay": decays}.get(key, others)[name] = (key, reference[key], other[key])
        if decays:
            worst = next(iter(decays))
            self.tell(
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
            shift = self._find_shift(worst, reference, other)
            detail = f"shift_{shift}" if shift else "other"
            self.tell(number, RATE, detail, baseline=reference, target=other, place=theirs.place, count=len(rates))
        if others:
            worst = next(iter(others))
            key, reference, other = others[worst]
            self.tell(
                number,
                RULE,
                "declared",
                others,
                what=key,
                baseline=str(reference),
                target=str(other),
                place=theirs.place,
            )

    def _find_shift(self, name: str, reference: float, other: float) -> str:
        """Whether the target's rate is the one that the baseline had before, or has next."""
        if self.left is not None:
            update = next((update for update in self.left.updates if name in update.group_of), None)
            if (
                update is not None
                and _same_value(update.group_of[name]["lr"], other)
                and not _same_value(reference, other)
            ):
                return "late"
        return ""

    def _judge_rule(self, number: int, mine: Update, theirs: Update) -> None:
        if mine.kind.replace("NpuFused", "") != theirs.kind.replace("NpuFused", ""):
            self.tell(number, RULE, "class", baseline=mine.kind, target=theirs.kind, place=theirs.place)
            return
        groups = min(len(mine.groups), len(theirs.groups))
        for at in range(groups):
            fits = [fit_update(update, at) for update in (mine, theirs)]
            if self._tell_fit(number, fits, mine, theirs, at):
                return

    def _tell_fit(self, number: int, fits: list[Fit], mine: Update, theirs: Update, at: int) -> bool:
        left, right = fits
        if not left.family and not right.family:
            return self._judge_unknown(number, mine, theirs, at)
        for fit, twin, side, update in ((right, left, "target", theirs), (left, right, "baseline", mine)):
            if fit.odd and not twin.odd:
                decay = next(iter(fit.odd.values()))
                declared = float(update.groups[at].get("weight_decay") or 0.0)
                self.tell(
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
            side, rule = (
                ("target", other) if frozenset() in left.rules or other != frozenset() else ("baseline", reference)
            )
            if frozenset() in right.rules:
                side, rule = "baseline", reference
            coefficients = (right if side == "target" else left).coefficients
            update = theirs if side == "target" else mine
            self._tell_rule(number, rule, side, update, coefficients)
            return True
        for fit, twin, side, update in ((right, left, "target", theirs), (left, right, "baseline", mine)):
            if twin.known and not fit.known and len(update.updates):
                if fit.factor is not None:
                    self.tell(
                        number, RULE, "factor", factor=fit.factor, side=side, place=update.place, optimizer=update.kind
                    )
                elif any(tensor.finite for tensor in update.updates.values()) and fit.family:
                    self.tell(number, RULE, "unknown", side=side, place=update.place, optimizer=update.kind)
                return True
        return self._judge_unknown(number, mine, theirs, at)

    def _tell_rule(
        self, number: int, rule: frozenset[str], side: str, update: Update, coefficients: Mapping[str, float]
    ) -> None:
        shown = {key: value for key, value in coefficients.items() if key in rule}
        args: dict[str, Any] = {"rule": sorted(rule), "side": side, "place": update.place, "optimizer": update.kind}
        args["coefficients"] = [f"{key} = {value:.6g}" for key, value in shown.items()] or None
        self.tell(number, RULE, "named", **args)

    def _judge_unknown(self, number: int, mine: Update, theirs: Update, at: int) -> bool:
        """An optimizer of no known family: its updates are held against its gradients' difference."""
        if number >= min(self.known.data_from, self.known.parted_from) or self.known.draws_differ or self.parted:
            return False
        errors = {}
        for name in mine.groups[at]["names"]:
            if name in mine.updates and name in theirs.updates:
                gradient = _apart(mine.gradients[name], theirs.gradients[name])
                errors[name] = max(0.0, _apart(mine.updates[name], theirs.updates[name]) - 10 * gradient)
        if not errors:
            return False
        allowed = max(0.05, 5 * self._floor(number), 100 * self.noise)
        if median(errors.values()) > allowed:
            worst = sorted(errors, key=lambda name: -errors[name])
            self.tell(
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

    # What a step leaves

    def judge_buffers(self, left: Step, right: Step) -> None:
        number = left.number
        common = [
            name
            for name in left.buffers
            if name in right.buffers and name in left.buffers_before and name in right.buffers_before
        ]
        errors: dict[str, float] = {}
        stale, counted = [], []
        for name in common:
            changes = [side.buffers[name].sketch - side.buffers_before[name].sketch for side in (left, right)]
            sizes = [float(np.linalg.norm(change)) for change in changes]
            whole = left.buffers[name].dtype in ("int64", "int32", "bool")
            if whole:
                if abs(sizes[0] - sizes[1]) > 0.5:
                    counted.append(name)
                continue
            if bool(sizes[0]) != bool(sizes[1]):
                stale.append(name)
            elif sizes[0]:
                apart = float(np.linalg.norm(changes[0] - changes[1]))
                # of a value that hardly changes, rounding of the value itself
                errors[name] = apart / max(sizes[0], 1e-4 * left.buffers[name].norm)
        if stale:
            frozen = (
                "target"
                if any(np.array_equal(right.buffers[n].sketch, right.buffers_before[n].sketch) for n in stale)
                else "baseline"
            )
            self.tell(number, BUFFER, "stale", stale, count=len(stale), side=frozen)
        if counted:
            self.tell(number, BUFFER, "count", counted, count=len(counted))
        if number >= min(self.known.data_from, self.known.parted_from) or not errors:
            return
        allowed = max((2e-3, 0.15)[self.level] * (1 if self.left is None else 5), min(10 * self.noise, 0.3))
        self._row(number, "buffer", errors, allowed)
        wrong = sorted((name for name in errors if errors[name] > allowed), key=lambda name: -errors[name])
        if wrong and not stale and not self.parted:
            factors = {}
            for name in wrong:
                changes = [side.buffers[name].sketch - side.buffers_before[name].sketch for side in (left, right)]
                factor = _one_factor(changes[0], changes[1], 0.03)
                if factor is not None:
                    factors[name] = factor
            detail = "factor" if len(factors) == len(wrong) else "other"
            args: dict[str, Any] = {"error": errors[wrong[0]], "allowed": allowed, "count": len(wrong)}
            if detail == "factor":
                args["factor"] = factors[wrong[0]]
            self.tell(number, BUFFER, detail, wrong, **args)

    def judge_copies(self, left: Step, right: Step, left_next: Step, right_next: Step) -> None:
        """An average of the weights moves by a share of the way to them: the share must be the same."""
        number = left.number
        shares: list[dict[str, float]] = []
        for side, following in ((left, left_next), (right, right_next)):
            weights: dict[str, Any] = {}
            for update in side.updates:
                weights.update(
                    {name: update.weights[name].sketch + update.updates[name].sketch for name in update.updates}
                )
            own = {}
            for key in side.copies.keys() & following.copies.keys():
                name = key.partition(".")[2]
                name = (
                    name if name in weights else name.removeprefix("module.") if hasattr(name, "removeprefix") else name
                )
                if name not in weights:
                    continue
                way, moved = (
                    weights[name] - side.copies[key].sketch,
                    following.copies[key].sketch - side.copies[key].sketch,
                )
                size = float(way @ way)
                if size > 1e-14 * max(side.copies[key].norm, 1e-30) ** 2 and size:
                    own[key] = float(way @ moved) / size
            shares.append(own)
        common = sorted(shares[0].keys() & shares[1].keys())
        if not common:
            return
        reference, other = (median([side[key] for key in common]) for side in shares)
        if abs(reference - other) > 0.02 * max(abs(reference), abs(other)) + 1e-4:
            detail = "stale" if abs(other) < 1e-3 * abs(reference) else "share"
            self.tell(
                number,
                COPY,
                detail,
                [key.partition(".")[2] for key in common],
                baseline=1 - reference,
                target=1 - other,
                count=len(common),
            )

    def _row(self, number: int, stage: str, errors: Mapping[str, float], allowed: float) -> None:
        worst = max(errors, key=lambda name: errors[name], default="")
        self.rows.append(Row(number, stage, len(errors), worst, errors.get(worst, 0.0), allowed))


def _find_update(step: Step | None, update: Update) -> Update | None:
    """The update of the step before that holds the same parameters."""
    if step is None:
        return None
    names = set(update.group_of)
    return next((earlier for earlier in reversed(step.updates) if names & set(earlier.group_of)), None)


def _find_remade(step: Step, update: Update) -> tuple[Update, dict[str, str]] | None:
    """The update of the step before of the same model, with each parameter's name there, also where the script made
    the model anew, so that its parameters go by another number."""
    for earlier in reversed(step.updates):
        names = {name.partition(":")[2] or name: name for name in earlier.weights}
        pairs = {name: names.get(name.partition(":")[2] or name, "") for name in update.weights}
        if pairs and all(
            old and earlier.weights[old].shape == update.weights[name].shape for name, old in pairs.items()
        ):
            return earlier, pairs
    return None


def _is_empty(value: Any) -> bool:
    """Return whether a state was just made: absent, or zeros."""
    if isinstance(value, Tensor):
        return value.norm == 0.0
    return value is None or value == 0


def _apart(reference: Any, other: Any) -> float:
    if isinstance(reference, Tensor) and isinstance(other, Tensor):
        distance, size = reference.distance(other), max(reference.norm, other.norm)
        return distance / size if size and math.isfinite(size) else (0.0 if distance == 0 else math.inf)
    if isinstance(reference, (int, float)) and isinstance(other, (int, float)):
        return abs(reference - other) / max(abs(reference), abs(other)) if reference != other else 0.0
    return 0.0


def _relative(reference: Any, other: Any) -> float:
    size = float(np.linalg.norm(other))
    return float(np.linalg.norm(reference - other)) / size if size else math.inf


def _one_factor(reference: Any, other: Any, tolerance: float) -> float | None:
    """The number that makes `other` of `one`, to within a tolerance; None where there is none."""
    size = float(reference @ reference)
    if not size or not math.isfinite(size):
        return None
    factor = float(reference @ other) / size
    rest = float(np.linalg.norm(other - factor * reference))
    return factor if rest <= tolerance * max(float(np.linalg.norm(other)), 1e-30) else None


def _common_ratio(before: Tensors, after: Tensors) -> float | None:
    names = [name for name in before if name in after and before[name].finite and after[name].finite]
    if not names:
        return None
    reference, other = (np.concatenate([side[name].sketch for name in names]) for side in (before, after))
    return _one_factor(reference, other, 0.02)


def _gradients_read(step: Step) -> dict[str, Tensor]:
    used: dict[str, Tensor] = {}
    for update in step.updates:
        used.update(update.gradients)
    return used


def _wrong_coefficient(clip: Clip) -> tuple[float, float] | None:
    """(what the gradients were multiplied by, what they should have been), where a clipping by norm is off."""
    if clip.kind != "clip_grad_norm_" or not clip.limits or clip.returned is None or not math.isfinite(clip.returned):
        return None
    factor = _common_ratio(clip.before, clip.gradients)
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
        read = _gradients_read(step)  # others are none of the optimizer whose gradients were unscaled
        own = {name: tensor for name, tensor in step.gradients.items() if name in read}
        changed.update(_compare_stages(own, step.unscaled, True))
    if step.unscaled and not stages:
        seen = {**seen, **step.unscaled}
    if step.unscaled and any(clip.scaled for clip in step.clips):
        seen = {**seen, **step.unscaled}
    if len(step.clips) == len(stages):
        changed.update(_compare_stages(seen, _gradients_read(step), scaled and not step.unscaled))
    return changed


def _compare_stages(before: Tensors, after: Tensors, scaled: bool) -> dict[str, float | None]:
    """Tensors that are another after a stage than before it. `scaled`: a loss scale may be taken out of all of them."""
    factors: dict[str, float | None] = {}
    for name in before.keys() & after.keys():
        reference, other = before[name], after[name]
        if reference.finite and other.finite and reference.norm:
            factors[name] = 0.0 if other.norm == 0.0 else _one_factor(reference.sketch, other.sketch, 1e-3)
    shown = [factor for factor in factors.values() if factor]
    usual = median(shown) if scaled and shown else 1.0
    return {
        name: None if factor is None else factor / usual
        for name, factor in sorted(factors.items())
        if factor is None or abs(factor / usual - 1) > 1e-3
    }


def _same_value(reference: Any, other: Any) -> bool:
    if isinstance(reference, list) and isinstance(other, list):
        return len(reference) == len(other) and all(map(_same_value, reference, other))
    numbers = isinstance(reference, (int, float)) and isinstance(other, (int, float))
    return math.isclose(reference, other, rel_tol=1e-6) if numbers else bool(reference == other)


def _same_numbers(reference: Iterable[Any], other: Iterable[Any]) -> bool:
    return _same_value([*reference], [*other])
