"""Plain arguments of a call: another eps, another dim, a mask that was left out. Values agree on either side's own
terms then (each computes rightly what it was asked), so that no tensor tells; the arguments do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Union

from ascend_workbook.precision.record import FORWARD
from ascend_workbook.precision.tensors.agreement import ONLY_BASELINE, ONLY_TARGET, Agreement, TensorAgreement

Plain = Union[bool, int, float]
PLAIN = ("bool", "int", "float")
#: A number that is computed (from a loss, say) follows the errors so far, times this; never less than a rounding.
FOLLOWS, LEAST = 10.0, 1e-6
#: Where errors so far are not known (after updates), or the dtypes differ (finfo's limits): only a plain difference.
COARSE = 0.05
#: Numbers that stand for infinity in a mask: they depend on the dtype.
FILL = 1e4


#: Running statistics, by the API's head: in training they are updated, and nothing is computed from them.
UPDATED = {
    "Functional.batch_norm": ("input.1", "input.2"),
    "Functional.instance_norm": ("input.1", "input.2"),
    "Torch.batch_norm": ("input.3", "input.4"),
}
TRAINING = "input.5"


def error_read(agreement: Agreement) -> float:
    """Return the largest error of the inputs that the outputs are computed from."""
    return max((t.error for t in read_slots(agreement) if t.error is not None), default=0.0)


def read_slots(agreement: Agreement) -> list[TensorAgreement]:
    """Return the inputs that the outputs are computed from."""
    operator = agreement.pair.target
    updates = dict(operator.arguments).get(TRAINING) is True
    left_out = UPDATED.get(operator.head, ()) if updates and operator.direction == FORWARD else ()
    return [slot for slot in agreement.inputs if slot.slot not in left_out]


def plain_arguments(part: object, slot: str) -> Iterator[tuple[str, Plain]]:
    """Numbers and flags among an entry's arguments, wherever they nest: `input.7` 1e-05."""
    if isinstance(part, list):
        for index, item in enumerate(part):
            yield from plain_arguments(item, f"{slot}.{index}")
    elif isinstance(part, dict) and "type" not in part:
        for key, item in part.items():
            yield from plain_arguments(item, f"{slot}.{key}")
    elif isinstance(part, dict) and part["type"] in PLAIN and isinstance(part.get("value"), (bool, int, float)):
        yield slot, part["value"]


def different_arguments(agreement: Agreement, reached: float) -> list[str]:
    """What differs among a forward call's arguments, as text; `reached` is the largest error before it."""
    target, baseline = agreement.pair.target, agreement.pair.baseline
    if target.direction != FORWARD or target.is_module:
        return []
    mine, others = dict(target.arguments), dict(baseline.arguments)
    mixed = {t.dtype for t in target.outputs} != {t.dtype for t in baseline.outputs}
    allowed = COARSE if mixed or not math.isfinite(reached) else max(LEAST, FOLLOWS * reached)
    both = [(slot, value, others[slot]) for slot, value in mine.items() if slot in others]
    differences = [f"{slot} {left} / {right}" for slot, left, right in both if not _same_value(left, right, allowed)]
    for problem, side in ((ONLY_TARGET, "target"), (ONLY_BASELINE, "baseline")):
        differences += [f"{slot.slot} only in {side}" for slot in agreement.inputs if slot.problem == problem]
    return differences


def _same_value(left: Plain, right: Plain, allowed: float) -> bool:
    if isinstance(left, bool) or isinstance(right, bool) or (isinstance(left, int) and isinstance(right, int)):
        return left == right
    if left == right or (math.isnan(left) and math.isnan(right)) or min(abs(left), abs(right)) > FILL:
        return True
    return abs(left - right) <= allowed * max(abs(left), abs(right))
