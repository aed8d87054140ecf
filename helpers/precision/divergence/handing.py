"""Who hands gradients to whom: what the replay of whole backward passes has to look at (child/handing_child.py).

An operator's forward output is taken by others, found by equal statistics in the baseline, views between them passed
over. Their gradients come back to it summed up. Asked for is what no entry of a taker shows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from helpers.precision.pairing import Pair, Pairing
from helpers.precision.record import BACKWARD, FORWARD, Operator, TensorRecord
from helpers.precision.tensors import tolerance

#: A call, in one direction: head and number.
Call = tuple[str, int]
#: A forward output, by call and slot.
Made = tuple[Call, str]


def orders(pairing: Pairing, doubtful: frozenset[str], reduced_unit: float) -> list[dict[str, Any]]:
    """The handings to the operators in `doubtful` (target names of backward entries), in order of execution."""
    turned = {_call(pair.baseline): pair for pair in pairing.pairs if pair.baseline.direction == BACKWARD}
    forward = {_call(pair.baseline): pair for pair in pairing.pairs if pair.baseline.direction == FORWARD}
    taken = takers(pairing)
    found = []
    for call, pair in turned.items():
        if pair.target.name in doubtful and call in forward:
            found += list(_of(pair, forward, turned, taken, reduced_unit))
    return found


def _of(receiver: Pair, forward: dict[Call, Pair], turned: dict[Call, Pair], takers: dict[Made, list[Made]],
        reduced_unit: float) -> Iterator[dict[str, Any]]:  # fmt: skip
    call = _call(receiver.baseline)
    made, incoming = forward[call].baseline.outputs, receiver.baseline.inputs
    if len(made) != len(incoming):
        return
    for index, (output, gradient) in enumerate(zip(made, incoming)):
        taken = takers.get((call, output.slot), [])
        if output.shape != gradient.shape or not taken or any(taker not in turned for taker, _ in taken):
            continue
        files = [_taker(turned[taker], forward[taker], slot) for taker, slot in taken]
        left = [_record(side.outputs, output.slot) for side in (forward[call].target, forward[call].baseline)]
        if None in left or any(None in one["taken"].values() for one in files):
            continue
        yield {
            "receiver": {"target": receiver.target.name, "baseline": receiver.baseline.name},
            "index": index,
            "output": {"target": left[0], "baseline": left[1]},
            "takers": files,
            "unit": max(tolerance.unit(t.dtype) for side in (receiver.target, receiver.baseline) for t in side.inputs),
            "reduced_unit": reduced_unit,
        }


def takers(pairing: Pairing) -> dict[Made, list[Made]]:
    """Who took each forward output, of the latest call that made those values."""
    latest: dict[tuple[object, ...], Made] = {}
    found: dict[Made, list[Made]] = defaultdict(list)
    for operator in (pair.baseline for pair in sorted(pairing.pairs, key=lambda pair: pair.baseline.order)):
        if operator.direction != FORWARD or operator.is_module:
            continue
        for record in operator.inputs:
            made = latest.get(_print(record)) if record.norm else None
            if made is not None and made[0] != _call(operator):
                found[made].append((_call(operator), record.slot))
        latest.update({_print(t): (_call(operator), t.slot) for t in operator.outputs if t.floating and t.norm})
    return found


def _print(record: TensorRecord) -> tuple[object, ...]:
    """What views leave alone; the norm's last digits depend on the order of its sum."""
    return math.prod(record.shape), record.dtype, record.maximum, record.minimum, f"{record.norm:.3g}"


def _taker(backward: Pair, forward: Pair, slot: str) -> dict[str, Any]:
    return {
        "name": {"target": backward.target.name, "baseline": backward.baseline.name},
        "taken": {"target": _record(forward.target.inputs, slot), "baseline": _record(forward.baseline.inputs, slot)},
    }


def _record(records: tuple[TensorRecord, ...], slot: str) -> dict[str, Any] | None:
    """A tensor as the child loads it."""
    found = next((record for record in records if record.slot == slot), None)
    return {"data_name": found.file.name, "shape": list(found.shape)} if found and found.file else None


def _call(operator: Operator) -> Call:
    return operator.head, operator.call
