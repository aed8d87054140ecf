"""What a first step began with, read from the tensors themselves: for dumps that no record of the experiment goes with.

A weight is what an API of the table takes in a weight's place (or a module records as a parameter); data is what comes
first and no recorded operator made. Where they differ the runs began differently, and no operator is to blame for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_workbook.precision.record import FORWARD, Operator, TensorRecord
from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.tensors.agreement import Agreement, TensorAgreement

#: Where APIs take weights, by place and by name.
WEIGHTS = {
    "linear": (1, 2),
    "conv1d": (1, 2),
    "conv2d": (1, 2),
    "conv3d": (1, 2),
    "embedding": (1,),
    "layer_norm": (2, 3),
    "group_norm": (2, 3),
    "rms_norm": (2,),
    "batch_norm": (3, 4),
}
#: batch_norm's statistics stand in places 1 and 2; torch's own batch_norm has the weight there.
NAMES = ("weight", "bias")
#: Where APIs take data: tokens and labels.
DATA = {
    "embedding": ("input.0", "input.input"),
    "cross_entropy": ("input.1", "input.target"),
    "nll_loss": ("input.1", "input.target"),
    "mse_loss": ("input.1", "input.target"),
}
#: The first of these reads the batch where it is no whole number.
FIRST = ("linear", "conv1d", "conv2d", "conv3d")
#: How near the ratios of norm and extremes must be for one factor.
ONE_FACTOR = 1e-3


@dataclass(frozen=True)
class Changed:
    """A tensor that the two runs began with otherwise; `factor` of target to baseline, NaN where there is no one."""

    where: str
    error: float
    factor: float


@dataclass(frozen=True)
class Start:
    """Weights and data that differ, and how many weights there are."""

    weights: tuple[Changed, ...]
    total: int
    data: tuple[Changed, ...]

    def __bool__(self) -> bool:
        return bool(self.weights or self.data)


def compare_start(agreements: Sequence[Agreement]) -> Start:
    """What differs at the start of a first step."""
    computed: set[tuple[object, ...]] = set()
    weights: dict[tuple[object, ...], Changed | None] = {}
    data: list[Changed] = []
    reading = True  # no operator has read the batch yet
    for agreement in agreements:
        operator = agreement.pair.target
        if operator.direction != FORWARD:
            continue
        sides = {record.slot: record for record in agreement.pair.baseline.inputs}
        mine = {record.slot: record for record in operator.inputs}
        reads = reading and operator.api in FIRST
        data_slots = (*DATA.get(operator.api, ()), *(("input.0",) if reads else ()))
        for slot in agreement.inputs:
            if slot.slot not in sides or slot.slot not in mine or _fingerprint_record(sides[slot.slot]) in computed:
                continue
            changed = _compare_tensor(agreement, slot, mine[slot.slot], sides[slot.slot])
            if slot.slot in _weight_slots(operator):
                weights.setdefault(_fingerprint_record(sides[slot.slot]), changed)
            elif slot.slot in data_slots and changed:
                data.append(changed)
        reading = reading and not reads
        computed.update(_fingerprint_record(record) for record in agreement.pair.baseline.outputs)
    return Start(tuple(filter(None, weights.values())), len(weights), tuple(data))


def _weight_slots(operator: Operator) -> frozenset[str]:
    if operator.is_module:
        return frozenset(t.slot for t in operator.inputs if t.slot.startswith("parameters."))
    if operator.api not in WEIGHTS or operator.head.startswith("Torch."):
        return frozenset()
    return frozenset((*(f"input.{at}" for at in WEIGHTS[operator.api]), *(f"input.{name}" for name in NAMES)))


def _compare_tensor(
    agreement: Agreement, slot: TensorAgreement, mine: TensorRecord, baseline: TensorRecord
) -> Changed | None:
    """None where the tensor is the same to within rounding, which is carried on as noise, or cannot be compared."""
    if slot.error is None or slot.error <= max(map(tolerance.start_floor, (mine.dtype, baseline.dtype))):
        return None
    pairs = [(mine.norm, baseline.norm), (mine.maximum, baseline.maximum), (mine.minimum, baseline.minimum)]
    ratios = [a / b for a, b in pairs if a is not None and b]
    near = len(ratios) == len(pairs) and max(ratios) - min(ratios) <= ONE_FACTOR * abs(ratios[0])
    return Changed(f"{agreement.pair.target.name} {slot.slot}", slot.error, ratios[0] if near else math.nan)


def _fingerprint_record(record: TensorRecord) -> tuple[object, ...]:
    return math.prod(record.shape), record.norm, record.maximum, record.minimum
