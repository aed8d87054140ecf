"""Which operator's backward made the first wrong gradient, where a step's dump holds the forward calls that read it.

A parameter is known in the dump by its shape and norm. Of the calls that read parameters with a wrong gradient the last
one is the first in backward; it is named where what was handed to it is seen to be right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ascend_workbook.precision.divergence import Judgement
from ascend_workbook.precision.record import BACKWARD, FORWARD, TensorRecord
from ascend_workbook.precision.state.judge import GRADIENT, Event
from ascend_workbook.precision.state.reading import Step, Tensor
from ascend_workbook.precision.state.sketches import measure_apart

#: Details of an event that name gradients which single operators made.
OF_OPERATORS = ("one", "one_factor", "wrong", "nonfinite")
#: A norm that msprobe and a capture compute of one tensor; what a handed gradient may be off by, of what was allowed.
SAME_NORM, HANDED = 1e-5, 0.1


def find_maker(event: Event, sides: tuple[Step, Step], judged: Sequence[Judgement]) -> Judgement | None:
    """Find the forward call whose backward made the first wrong gradient; None where it is not sure which."""
    if event.kind != GRADIENT or event.detail not in OF_OPERATORS:
        return None
    calls = [
        judgement
        for judgement in judged
        if judgement.agreement.pair.baseline.direction == FORWARD and not judgement.agreement.pair.baseline.is_module
    ]
    backward = {
        (judgement.agreement.pair.baseline.head, judgement.agreement.pair.baseline.call): judgement
        for judgement in judged
        if judgement.agreement.pair.baseline.direction == BACKWARD
    }
    readers = _find_readers(sides, calls, backward, event)
    wrong = {name: readers[name] for name in event.names if name in readers}
    last = max(wrong.values(), default=-1)
    order = list(sides[0].gradients)
    behind = max((order.index(name) for name in wrong if wrong[name] == last), default=-1)
    if any(order.index(name) > behind for name in event.names if name in order and name not in readers):
        return None  # no call is known to read it: it may be the first in backward
    right = [place for name, place in readers.items() if name not in event.names]
    operator = calls[last].agreement.pair.baseline
    handed = backward.get((operator.head, operator.call))
    error = handed.agreement.error_in if handed is not None else math.inf
    if math.isfinite(error):
        is_right = error <= HANDED * _read_allowed(event) and any(place >= last for place in right)
    else:
        is_right = last in right
    return calls[last] if is_right else None


def _read_allowed(event: Event) -> float:
    allowed = event.args.get("allowed")
    return float(allowed) if isinstance(allowed, (int, float)) else 1.0


def _find_readers(
    sides: tuple[Step, Step],
    calls: Sequence[Judgement],
    backward: Mapping[tuple[str, int], Judgement],
    event: Event,
) -> dict[str, int]:
    """Find for each parameter the one call that reads it; of several small batches that of the first wrong one."""
    baseline, batch = sides[0], _find_wrong_batch(sides, event)
    places: dict[str, int] = {}
    for update in baseline.updates:
        for name, weight in update.weights.items():
            reading = [at for at, call in enumerate(calls) if _holds(call.agreement.pair.baseline.inputs, weight)]
            if len(reading) == len(baseline.cumulated) > 1:
                reading = [reading[batch]]
            elif len(reading) > 1 and name in baseline.gradients:  # equal weights: of ones, of zeros
                reading = [at for at in reading if _hands_back(calls[at], backward, baseline.gradients[name])]
            if len(reading) == 1:
                places[name] = reading[0]
    return places


def _hands_back(call: Judgement, backward: Mapping[tuple[str, int], Judgement], gradient: Tensor) -> bool:
    operator = call.agreement.pair.baseline
    entry = backward.get((operator.head, operator.call))
    return entry is not None and _holds(entry.agreement.pair.baseline.outputs, gradient)


def _holds(records: Sequence[TensorRecord], tensor: Tensor) -> bool:
    """Return whether one of the records is this tensor, by its shape and norm."""
    return any(
        record.shape == tensor.shape
        and record.norm is not None
        and abs(record.norm - tensor.norm) <= SAME_NORM * tensor.norm
        for record in records
    )


def _find_wrong_batch(sides: tuple[Step, Step], event: Event) -> int:
    """Find the first small batch after which one of these gradients parts."""
    for at, (mine, theirs) in enumerate(zip(sides[0].cumulated, sides[1].cumulated)):
        common = [name for name in event.names if name in mine and name in theirs]
        if any(measure_apart(mine[name], theirs[name]) > _read_allowed(event) for name in common):
            return at
    return 0
