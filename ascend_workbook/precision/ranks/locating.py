"""Which rank's part of the first whole tensor that parts is far from the other side's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_workbook.findings.finding import Place
from ascend_workbook.precision.divergence import JUMP, Judgement
from ascend_workbook.precision.record import FORWARD, Run
from ascend_workbook.precision.state.judge import GRADIENT, Event
from ascend_workbook.precision.state.reading import SKETCH, Step, Tensor

if TYPE_CHECKING:
    from ascend_workbook.precision.comparison import Comparison

#: A rank is to blame whose part is so many times as far away as every other's.
OUTSTANDING = 10.0


@dataclass(frozen=True)
class Blame:
    """A whole tensor and the ranks whose parts are far from the other side's; none where all are. `partial`: each rank
    read a part of a sum, or of a mean; `late`: after the backward pass, as where gradients are clipped by hand."""

    name: str
    step: int
    ranks: tuple[int, ...]
    error: float
    others: float
    place: Place | None = None
    partial: str = ""
    late: bool = False


def blame_rank(facts: Comparison) -> Blame | None:
    """Of the first operator that parts, else of the first gradient; None where neither tells."""
    assert facts.joined is not None
    if facts.first is not None:
        step, judged = facts.first
        for part in facts.joined.ranks:
            for merged in part.runs:
                if merged.run.step != step.step:
                    continue
                name = judged.agreement.pair.target.name
                other = judged.agreement.pair.baseline.name
                place = judged.agreement.pair.target.place
                for operator, _, kind in merged.partial:
                    if operator.name in (name, other):
                        late = operator.order > _find_backward(merged.run)
                        return Blame(name, step.step, (), judged.agreement.error_out or 0.0, 0.0, place, kind, late)
                for table in (merged.blame_inputs, merged.blame) if _inherits(judged) else (merged.blame,):
                    errors = table.get(name) or table.get(other)
                    if errors:
                        return _choose(name, step.step, errors, place)
    for event in (rank.first for rank in facts.states):
        if event is not None and event.names:
            blame = _blame_tensor(facts, event)
            if blame is not None:
                return blame
    return None


def find_unlike(facts: Comparison) -> Blame | None:
    """The first operator of a forward pass whose copies differ between ranks; None where a part of a sum is read before
    it, or none differs."""
    for merged in (run for part in (facts.joined.ranks if facts.joined else ()) for run in part.runs):
        last = _find_backward(merged.run)
        first = next(
            (entry for entry in merged.unlike if entry[0].direction == FORWARD and entry[0].order < last), None
        )
        if first is None:
            continue
        if any(operator.order <= first[0].order for operator, _, _ in merged.partial):
            return None
        operator, slot, ranks = first
        return Blame(f"{operator.name} {slot}", merged.run.step, ranks, 0.0, 0.0, operator.place)
    return None


def _find_backward(run: Run) -> float:
    """Where the backward pass begins."""
    return min((op.order for op in run.operators if op.direction != FORWARD), default=math.inf)


def _inherits(judged: Judgement) -> bool:
    """Whether the operator was handed what parts, by something that was not recorded."""
    return judged.outcome == JUMP


def _choose(name: str, step: int, errors: dict[int, float], place: Place | None) -> Blame | None:
    worst = max(errors.values())
    ranks = tuple(rank for rank, error in errors.items() if error * OUTSTANDING > worst)
    others = max((error for rank, error in errors.items() if rank not in ranks), default=0.0)
    if len(ranks) == len(errors):
        return Blame(name, step, (), worst, worst, place)
    return Blame(name, step, ranks, worst, others, place)


def _blame_tensor(facts: Comparison, event: Event) -> Blame | None:
    """Which rank holds those of a tensor's kept values that differ."""
    assert facts.joined is not None
    name = event.names[0]
    holders = next(
        (part.merged.holders[name] for part in facts.joined.ranks if part.merged and name in part.merged.holders), None
    )
    sides = [side.states.ranks.get(0, {}).get(event.step) for side in (facts.baseline, facts.target)]
    if holders is None or None in sides:
        return None
    tensors = [_find_tensor(step, event, name) for step in sides if step is not None]
    left, right = tensors
    if left is None or right is None or left.shape != right.shape:
        return None
    places = _places_of_samples(left)
    errors: dict[int, float] = {}
    for rank, local, at in holders:
        if len(at) != len(left.shape):
            return None
        inside = np.array(
            [all(s <= c < s + n for c, s, n in zip(place, at, local)) for place in zip(*places)], dtype=bool
        )
        if not inside.any():
            continue
        size = float(np.linalg.norm(left.sample[inside]))
        apart = float(np.linalg.norm(left.sample[inside] - right.sample[inside]))
        errors[rank] = apart / size if size else (0.0 if not apart else math.inf)
    return _choose(name, event.step, errors, None) if len(errors) > 1 else None


def _find_tensor(step: Step, event: Event, name: str) -> Tensor | None:
    stages = [step.gradients, *(update.gradients for update in step.updates)]
    if event.kind != GRADIENT:
        stages = [*(update.updates for update in step.updates), *(update.weights for update in step.updates)]
    return next((stage[name] for stage in stages if name in stage), None)


def _places_of_samples(tensor: Tensor) -> tuple[Any, ...]:
    step = max(1, tensor.size // SKETCH)
    return np.unravel_index(np.arange(len(tensor.sample)) * step, tensor.shape)
