"""Overflow and NaN: who made the first one, told from statistics alone, so that dumps without tensors do as well.

A producer has finite inputs and an output that is not. What the other run has in the same place (the minus infinity of
a mask) is no difference. Where a value that is not finite comes in although nothing recorded made it, a backward has
its makers among those that took the forward output; else it came with weights or data, or was not recorded."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ascend_workbook.precision.pairing import Pair, Pairing
from ascend_workbook.precision.record import BACKWARD, FORWARD, Operator, TensorRecord
from ascend_workbook.precision.tensors import tolerance

#: A call, in one direction: head and number.
Call = tuple[str, int]
#: A forward output, by call and slot.
Made = tuple[Call, str]


def list_handings(pairing: Pairing, doubtful: frozenset[str], reduced_unit: float) -> list[dict[str, object]]:
    """The handings to the operators in `doubtful` (target names of backward entries), in order of execution."""
    turned = {_call_of(pair.baseline): pair for pair in pairing.pairs if pair.baseline.direction == BACKWARD}
    forward = {_call_of(pair.baseline): pair for pair in pairing.pairs if pair.baseline.direction == FORWARD}
    taken = find_takers(pairing)
    receivers = [pair for call, pair in turned.items() if pair.target.name in doubtful and call in forward]
    return [job for pair in receivers for job in _handings_of(pair, forward, turned, taken, reduced_unit)]


def _handings_of(
    receiver: Pair,
    forward: dict[Call, Pair],
    turned: dict[Call, Pair],
    takers: dict[Made, list[Made]],
    reduced_unit: float,
) -> Iterator[dict[str, object]]:
    call = _call_of(receiver.baseline)
    outputs, incoming = forward[call].baseline.outputs, receiver.baseline.inputs
    if len(outputs) != len(incoming):
        return
    for index, (output, gradient) in enumerate(zip(outputs, incoming)):
        taken = takers.get((call, output.slot), [])
        if output.shape != gradient.shape or not taken or any(taker not in turned for taker, _ in taken):
            continue
        files: list[dict[str, dict[str, Any]]] = [
            {
                "name": {"target": turned[taker].target.name, "baseline": turned[taker].baseline.name},
                "taken": {
                    "target": _describe_record(forward[taker].target.inputs, slot),
                    "baseline": _describe_record(forward[taker].baseline.inputs, slot),
                },
            }
            for taker, slot in taken
        ]
        left = [_describe_record(side.outputs, output.slot) for side in (forward[call].target, forward[call].baseline)]
        if None in left or any(None in taker_files["taken"].values() for taker_files in files):
            continue
        yield {
            "receiver": {"target": receiver.target.name, "baseline": receiver.baseline.name},
            "index": index,
            "output": {"target": left[0], "baseline": left[1]},
            "takers": files,
            "unit": max(tolerance.unit_roundoff(t.dtype) for t in (*receiver.target.inputs, *receiver.baseline.inputs)),
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


def _describe_record(records: tuple[TensorRecord, ...], slot: str) -> dict[str, object] | None:
    """A tensor as the child loads it."""
    match = next((record for record in records if record.slot == slot), None)
    return {"data_name": match.file.name, "shape": list(match.shape)} if match and match.file else None


def _call_of(operator: Operator) -> Call:
    return operator.head, operator.call


NAN, INFINITY = "nan", "inf"
#: How a value that is not finite came: made here, handed by one of the named, or already there.
MADE, HANDED, CAME = "made", "handed", "came"
#: The largest finite number.
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38}


@dataclass(frozen=True)
class Origin:
    """Where one side's first such value comes from. `names` made it (for CAME: reads it first); `operator` shows it;
    `expected` is the largest magnitude in the same tensor of the other side, None where that is not known."""

    side: str
    how: str
    kind: str
    names: tuple[str, ...]
    operator: Operator
    record: TensorRecord
    expected: float | None


def find_origin(pairing: Pairing, side: str) -> Origin | None:
    """The first value of `side` (`target` or `baseline`) that is not finite where the other side's is; None where
    there is none. What an operator without a partner makes alone (a mask) is a difference only where a paired operator
    is then given a value that the other side's is not."""
    run, other = (pairing.target, "baseline") if side == "target" else (pairing.baseline, "target")
    partners = {getattr(pair, side).name: getattr(pair, other) for pair in pairing.pairs}
    alone: list[Origin] = []
    for operator in run.operators:
        shown_origin = _origin_shown(pairing, side, operator, partners.get(operator.name))
        if shown_origin is None:
            continue
        if operator.name in partners:  # an unpaired one before it may stand behind it: of a handed gradient a backward
            how = shown_origin.how
            behind = [o for o in alone if how == CAME or how == HANDED and o.operator.direction == BACKWARD]
            return next(iter(behind), shown_origin)
        alone.append(shown_origin)
    return None


def _origin_shown(pairing: Pairing, side: str, operator: Operator, partner: Operator | None) -> Origin | None:
    """What this operator shows that its partner does not."""
    odd_inputs = _odd_records(operator.inputs, partner.inputs if partner else ())
    odd_outputs = _odd_records(operator.outputs, partner.outputs if partner else ())
    if not odd_inputs and not odd_outputs:
        return None
    record = (odd_inputs or odd_outputs)[0]
    hidden = _hidden_makers(pairing, side, operator) if odd_inputs and operator.direction == BACKWARD else ()
    how, names = HANDED if hidden else CAME if odd_inputs else MADE, hidden or (operator.name,)
    return Origin(side, how, kind_of_record(record), names, operator, record, _largest_expected(record, partner))


def kind_of_record(record: TensorRecord) -> str:
    """`nan`, `inf`, or empty for a tensor whose extremes are finite or not known."""
    extremes = [value for value in (record.maximum, record.minimum) if value is not None]
    return NAN if any(map(math.isnan, extremes)) else INFINITY if any(map(math.isinf, extremes)) else ""


def _odd_records(records: tuple[TensorRecord, ...], others: tuple[TensorRecord, ...]) -> list[TensorRecord]:
    """Those that are not finite in a way in which the other side's are."""
    there = {record.slot: kind_of_record(record) for record in others}
    return [record for record in records if kind_of_record(record) and kind_of_record(record) != there.get(record.slot)]


def _hidden_makers(pairing: Pairing, side: str, receiver: Operator) -> tuple[str, ...]:
    """The backward entries, as `side` names them, that handed this operator its gradient."""
    by_baseline_call = {(pair.baseline.head, pair.baseline.call): getattr(pair, side) for pair in pairing.pairs}
    here = (receiver.head, receiver.call)
    twin = next((call for call, mine in by_baseline_call.items() if (mine.head, mine.call) == here), None)
    calls: list[Call] = [
        call for (maker_call, _), took in find_takers(pairing).items() if maker_call == twin for call, _ in took
    ]
    makers = [by_baseline_call[call] for call in dict.fromkeys(calls) if call in by_baseline_call]
    return tuple(f"{maker.head}.{maker.call}.{BACKWARD}" for maker in makers)


def _largest_expected(record: TensorRecord, partner: Operator | None) -> float | None:
    match = next((t for t in (*partner.inputs, *partner.outputs) if t.slot == record.slot), None) if partner else None
    extremes = [abs(value) for value in (match.maximum, match.minimum) if value is not None] if match else []
    return max(extremes) if extremes and all(map(math.isfinite, extremes)) else None
