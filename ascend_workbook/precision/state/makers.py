"""Which operator's backward made the first wrong gradient, where a step's dump holds the forward calls that read it.

A parameter is known in the dump by its shape and norm. Of the calls that read parameters with a wrong gradient the last
one is the first in backward; it is named where what was handed to it is seen to be right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ascend_workbook.precision.divergence import AGREES, NOT_COMPARED, Judgement
from ascend_workbook.precision.record import BACKWARD, FORWARD, TensorRecord
from ascend_workbook.precision.state.judge import GRADIENT, Event
from ascend_workbook.precision.state.reading import Step, Tensor
from ascend_workbook.precision.state.sketches import measure_apart

#: Details of an event that name gradients which single operators made.
OF_OPERATORS = ("one", "one_factor", "wrong", "nonfinite")
#: A norm that msprobe and a capture compute of one tensor; what a handed gradient may be off by, of what was allowed.
SAME_NORM, HANDED = 1e-5, 0.1
#: A parameter's gradient is off where it is by more than this, and by so many times what the others are.
SURE, OUTSTANDING = 5e-5, 10.0


def find_maker(event: Event, sides: tuple[Step, Step], judged: Sequence[Judgement]) -> Judgement | None:
    """Find the forward call whose backward made the first wrong gradient; None where it is not sure which."""
    if event.kind != GRADIENT or event.detail not in OF_OPERATORS:
        return None
    calls, backward = _index_calls(judged)
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
        proven = any(place >= last for place in right) or _agree_before(judged, handed)
        is_right = error <= HANDED * _read_allowed(event) and proven
    else:
        is_right = last in right
    return calls[last] if is_right else None


def pick_maker(names: Sequence[str], sides: tuple[Step, Step], judged: Sequence[Judgement]) -> list[str]:
    """Of several backward entries that may have made a wrong gradient, the one whose parameter's gradient is off too;
    all of them where none is, or several are. `names` are the target's."""
    calls, backward = _index_calls(judged)
    readers = _find_readers(sides, calls, backward, Event(sides[0].number, GRADIENT))
    off: dict[str, float] = dict.fromkeys(names, 0.0)
    others = [0.0]
    units = [side.scale or 1.0 for side in sides]
    for parameter, place in readers.items():
        mine, theirs = (side.gradients.get(parameter) for side in sides)
        name = f"{calls[place].agreement.pair.target.name.rpartition('.')[0]}.{BACKWARD}"
        if name not in off or mine is None or theirs is None or mine.shape != theirs.shape or not mine.norm:
            continue
        if not (mine.finite and theirs.finite):
            apart = math.inf if mine.finite != theirs.finite else 0.0
        else:
            apart = float(np.linalg.norm(mine.sketch / units[0] - theirs.sketch / units[1])) * units[0] / mine.norm
        off[name] = max(off[name], apart)
    worst = max(off, key=lambda name: off[name], default="")
    others += [error for name, error in off.items() if name != worst]
    return [worst] if worst and off[worst] > max(SURE, OUTSTANDING * max(others)) else list(names)


def _index_calls(judged: Sequence[Judgement]) -> tuple[list[Judgement], dict[tuple[str, int], Judgement]]:
    """The forward calls in order, and the backward entries by call."""
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
    return calls, backward


def _agree_before(judged: Sequence[Judgement], handed: Judgement | None) -> bool:
    """Return whether this backward and all that ran before it in the step agree to rounding."""
    ran = judged[: judged.index(handed) + 1] if handed is not None else ()
    return bool(ran) and all(judgement.outcome in (AGREES, NOT_COMPARED) for judgement in ran)


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
