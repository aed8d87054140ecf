"""What an output may be off by because its inputs are: each input's own error, times what the operator makes of it.

To first order. A product carries the relative error of each factor as it is, more where it cancels; a term of a sum
carries its error by its share of the result; a selection by the size of what it selects from. So an input that is
wholly wrong, and is a small part of the result, excuses no more than that part."""

from __future__ import annotations

import math
from typing import NamedTuple

from ascend_workbook.precision.divergence.arguments import read_slots
from ascend_workbook.precision.record import FORWARD, TensorRecord
from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.tensors.agreement import Agreement

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: By API: how its inputs go into the result, in their order. `x` a factor of a product that is summed, `+` a term,
#: `s` what is selected from, `?` anything else. Inputs behind the last are terms.
ROLES = {
    **dict.fromkeys("linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split(), "xx+"),
    **dict.fromkeys("matmul mm bmm __matmul__ mul __mul__ __rmul__ __imul__".split(), "xx"),
    **dict.fromkeys("add sub __add__ __sub__ __radd__ __rsub__ __iadd__ cat stack".split(), "++"),
    **dict.fromkeys("addmm baddbmm".split(), "+xx"),
    **dict.fromkeys("embedding".split(), "?s"),
    **dict.fromkeys("__getitem__ reshape view transpose permute contiguous chunk split squeeze unsqueeze".split(), "s"),
    "layer_norm": "??x+",
    "group_norm": "??x+",
    "batch_norm": "???x+",
}
BY_NAME = {"weight": "x", "bias": "+"}
#: A factor's error may line up with the largest of what it is multiplied by: so many times what it does by chance.
#: Of healthy products of four networks at most 0.94 was seen; bfloat16 was not tried.
OF_A_FACTOR = 4.0
#: A term's share and a selection's are bounds; errors are measured on numbers that are rounded themselves.
OF_A_TERM = 1.1


class Carried(NamedTuple):
    """How much of an output's error the errors of its inputs explain; `slot` is the input that explains most."""

    allowed: float
    slot: str = ""


def find_carried(agreement: Agreement, slot: str) -> Carried | None:
    """Add up what each input's error may make of one output; None where the operator is of no known kind, or not all
    that it computes from was recorded with its size."""
    operator = agreement.pair.baseline
    roles = ROLES.get(operator.api)
    result = next((record for record in operator.outputs if record.slot == slot), None)
    if roles is None or operator.is_module or operator.direction != FORWARD or result is None or not _size(result):
        return None
    parts: list[Carried] = []
    records = {record.slot: record for record in operator.inputs if record.is_floating}
    errors = {read.slot: read.error for read in read_slots(agreement) if read.slot in records}
    if not records or any(error is None or not _size(records[name]) for name, error in errors.items() if error != 0.0):
        return None
    factors = [record for name, record in records.items() if _role(roles, name) == "x"]
    for name, error in errors.items():
        if error:
            weight = _weigh(operator.api, roles, records[name], factors, result)
            parts.append(Carried(min(error * weight, tolerance.UNRELATED), name))
    largest = max(parts, default=Carried(0.0))
    return Carried(sum(part.allowed for part in parts), largest.slot)


def selects_a_part(api: str) -> bool:
    """Return whether the API computes nothing and hands on what it was given, or a part of it."""
    return ROLES.get(api) == "s"


def _role(roles: str, slot: str) -> str:
    place = slot.split(".")[1]
    if not place.isdigit():
        return BY_NAME.get(place, "?")
    return roles[int(place)] if int(place) < len(roles) else roles[-1]


def _weigh(api: str, roles: str, record: TensorRecord, factors: list[TensorRecord], result: TensorRecord) -> float:
    """By how much an input's relative error shows in the result."""
    role = _role(roles, record.slot)
    if role == "+":
        return OF_A_TERM * max(_rms(record) / _rms(result), _size(record) / _size(result) if _joins(api) else 0.0)
    if role == "s":
        return OF_A_TERM * max(1.0, _size(record) / _size(result))
    if role == "x":
        return OF_A_FACTOR * max(1.0, _cancels(api, factors, result))
    return tolerance.AMPLIFICATION


def _joins(api: str) -> bool:
    return api in ("cat", "stack")


def _cancels(api: str, factors: list[TensorRecord], result: TensorRecord) -> float:
    """How much smaller a product is than factors of these sizes make by chance; 1 of a single factor."""
    if len(factors) < 2:
        return 1.0
    left, right = factors[:2]
    if "mul" in api and "mat" not in api:
        terms = 1
    elif "conv" in api or api == "linear":
        terms = math.prod(right.shape[1:])
    else:
        terms = left.shape[-1] if left.shape else 1
    return _rms(left) * _rms(right) * math.sqrt(terms) / _rms(result)


def _size(record: TensorRecord) -> float:
    return record.norm if record.norm is not None and math.isfinite(record.norm) else 0.0


def _rms(record: TensorRecord) -> float:
    return _size(record) / math.sqrt(max(1, math.prod(record.shape)))
