"""What all ranks have alike on one side and not on the other: averaged gradients, weights, buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ascend_workbook.precision.state.judge import RANKS, Event
from ascend_workbook.precision.state.reading import States, Step, Tensor
from ascend_workbook.precision.state.sketches import collect_gradients_read

#: Ranks have a tensor alike where it differs by no more than this share of its size.
ALIKE = 1e-6
#: They have it otherwise where it differs by so much, and by so many times what it does on the other side.
APART, TIMES = 1e-4, 100.0


def judge_between_ranks(baseline: States, target: States) -> list[Event]:
    """Find the first step in which ranks part on one side alone; no event where fewer than two were recorded."""
    ranks = sorted(baseline.ranks.keys() & target.ranks.keys())
    if len(ranks) < 2:
        return []
    sides = {"baseline": baseline, "target": target}
    numbers = set.intersection(*(set(states.ranks[rank]) for states in sides.values() for rank in ranks))
    for number in sorted(numbers):
        steps = {side: [states.ranks[rank][number] for rank in ranks] for side, states in sides.items()}
        events = [*_compare_step(number, steps)]
        if events:
            return events
    return []


def _compare_step(number: int, steps: Mapping[str, list[Step]]) -> Iterator[Event]:
    for stage, read in (("weights", _weights_of), ("gradients", collect_gradients_read), ("buffers", _buffers_of)):
        spreads = {side: _measure_spread([read(step) for step in ranks]) for side, ranks in steps.items()}
        for side, other in (("target", "baseline"), ("baseline", "target")):
            here, there = spreads[side], spreads[other]
            common = [name for name in here if there.get(name, 1.0) <= ALIKE]
            names = sorted(
                (name for name in common if here[name] > max(APART, TIMES * there[name])), key=lambda name: -here[name]
            )
            if names:
                args = {"count": len(names), "of": len(common), "error": here[names[0]], "ranks": len(steps[side])}
                updates = steps[side][0].updates
                yield Event(number, RANKS, stage, tuple(names), args, updates[0].place if updates else "", side)
                return


def _measure_spread(ranks: list[Mapping[str, Tensor]]) -> dict[str, float]:
    """By how much the ranks' tensors differ from the first rank's, of those that all of them have."""
    spreads: dict[str, float] = {}
    for name in set.intersection(*(set(tensors) for tensors in ranks)):
        first, *others = [tensors[name] for tensors in ranks]
        size = max(tensor.norm for tensor in (first, *others))
        if size and np.isfinite(size) and all(other.shape == first.shape for other in others):
            spreads[name] = max(first.distance(other) for other in others) / size
    return spreads


def _weights_of(step: Step) -> dict[str, Tensor]:
    """The weights that a step begins with, those that no optimizer of this rank holds among them."""
    weights = dict(step.other_weights)
    for update in reversed(step.updates):
        weights.update(update.weights)
    return weights


def _buffers_of(step: Step) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in step.buffers.items() if tensor.dtype.startswith(("float", "bfloat"))}
