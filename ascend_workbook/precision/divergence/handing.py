"""Who hands gradients to whom: what the replay of whole backward passes has to look at (child/handing_child.py).

An operator's forward output is taken by others, found by equal statistics in the baseline, views between them passed
over. Their gradients come back to it summed up. Asked for is what no entry of a taker shows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ascend_workbook.precision.pairing import Pair, Pairing
from ascend_workbook.precision.record import BACKWARD, FORWARD, Operator, TensorRecord
from ascend_workbook.precision.tensors import tolerance

#: A call, in one direction: head and number.
Call = tuple[str, int]
#: A forward output, by call and slot.
Made = tuple[Call, str]


def list_handings(pairing: Pairing, doubtful: frozenset[str], reduced_unit: float) -> list[dict[str, Any]]:
    """The handings to the operators in `doubtful` (target names of backward entries), in order of execution."""
    turned = {_call_of(pair.baseline): pair for pair in pairing.pairs if pair.baseline.direction == BACKWARD}
    forward = {_call_of(pair.baseline): pair for pair in pairing.pairs if pair.baseline.direction == FORWARD}
    taken = find_takers(pairing)
    handings = []
    for call, pair in turned.items():
        if pair.target.name in doubtful and call in forward:
            handings += list(_handings_of(pair, forward, turned, taken, reduced_unit))
    return handings


def _handings_of(
    receiver: Pair,
    forward: dict[Call, Pair],
    turned: dict[Call, Pair],
    takers: dict[Made, list[Made]],
    reduced_unit: float,
) -> Iterator[dict[str, Any]]:
    call = _call_of(receiver.baseline)
    outputs, incoming = forward[call].baseline.outputs, receiver.baseline.inputs
    if len(outputs) != len(incoming):
        return
    for index, (output, gradient) in enumerate(zip(outputs, incoming)):
        taken = takers.get((call, output.slot), [])
        if output.shape != gradient.shape or not taken or any(taker not in turned for taker, _ in taken):
            continue
        files = [_describe_taker(turned[taker], forward[taker], slot) for taker, slot in taken]
        left = [_describe_record(side.outputs, output.slot) for side in (forward[call].target, forward[call].baseline)]
        if None in left or any(None in taker_files["taken"].values() for taker_files in files):
            continue
        yield {
            "receiver": {"target": receiver.target.name, "baseline": receiver.baseline.name},
            "index": index,
            "output": {"target": left[0], "baseline": left[1]},
            "takers": files,
            "unit": max(
                tolerance.unit_roundoff(t.dtype) for side in (receiver.target, receiver.baseline) for t in side.inputs
            ),
            "reduced_unit": reduced_unit,
        }


def find_takers(pairing: Pairing) -> dict[Made, list[Made]]:
    """Who took each forward output, of the latest call that made those values."""
    latest: dict[tuple[object, ...], Made] = {}
    takers_by_output: dict[Made, list[Made]] = defaultdict(list)
    for operator in (pair.baseline for pair in sorted(pairing.pairs, key=lambda pair: pair.baseline.order)):
        if operator.direction != FORWARD or operator.is_module:
            continue
        for record in operator.inputs:
            maker = latest.get(_fingerprint_record(record)) if record.norm else None
            if maker is not None and maker[0] != _call_of(operator):
                takers_by_output[maker].append((_call_of(operator), record.slot))
        latest.update(
            {_fingerprint_record(t): (_call_of(operator), t.slot) for t in operator.outputs if t.is_floating and t.norm}
        )
    return takers_by_output


def _fingerprint_record(record: TensorRecord) -> tuple[object, ...]:
    """What views leave alone; the norm's last digits depend on the order of its sum."""
    return math.prod(record.shape), record.dtype, record.maximum, record.minimum, f"{record.norm:.3g}"


def _describe_taker(backward: Pair, forward: Pair, slot: str) -> dict[str, Any]:
    return {
        "name": {"target": backward.target.name, "baseline": backward.baseline.name},
        "taken": {
            "target": _describe_record(forward.target.inputs, slot),
            "baseline": _describe_record(forward.baseline.inputs, slot),
        },
    }


def _describe_record(records: tuple[TensorRecord, ...], slot: str) -> dict[str, Any] | None:
    """A tensor as the child loads it."""
    match = next((record for record in records if record.slot == slot), None)
    return {"data_name": match.file.name, "shape": list(match.shape)} if match and match.file else None


def _call_of(operator: Operator) -> Call:
    return operator.head, operator.call
