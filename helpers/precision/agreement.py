"""One pair of operators, tensor by tensor: structure first, numbers after."""

from __future__ import annotations

import math
from dataclasses import dataclass

from helpers.errors import WorkbookError
from helpers.precision.metrics import measure
from helpers.precision.pairing import Pair
from helpers.precision.record import TensorRecord
from helpers.precision.tensorfile import read_tensor

#: What can be wrong with a tensor before its numbers are looked at.
SHAPE, DTYPE, ONLY_TARGET, ONLY_BASELINE, UNREADABLE, NONFINITE, NO_VALUES = (
    "shape", "dtype", "only_target", "only_baseline", "unreadable", "nonfinite", "no_values")  # fmt: skip


@dataclass(frozen=True)
class TensorAgreement:
    """One slot on both sides. `error` is the relative L2 error (of statistics: the largest relative difference of
    norm and extremes), None where it could not be told, and `problem` then says why."""

    slot: str
    dtype: str
    shape: tuple[int, ...]
    error: float | None
    max_absolute: float | None = None
    problem: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Agreement:
    """One pair: its input and output tensors compared."""

    pair: Pair
    inputs: tuple[TensorAgreement, ...]
    outputs: tuple[TensorAgreement, ...]

    @property
    def error_in(self) -> float:
        return max((found.error for found in self.inputs if found.error is not None), default=0.0)

    @property
    def error_out(self) -> float | None:
        """The largest output error; None where no output could be compared."""
        return max((found.error for found in self.outputs if found.error is not None), default=None)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The floating dtypes that rounding may speak of, both sides'."""
        sides = (self.pair.target, self.pair.baseline)
        return tuple(t.dtype for side in sides for t in (*side.inputs, *side.outputs) if t.floating)

    def problems(self, *kinds: str) -> list[TensorAgreement]:
        return [found for found in (*self.inputs, *self.outputs) if found.problem in kinds]


def agreement(pair: Pair) -> Agreement:
    """Compares all tensors of a pair. Files that cannot be read become a problem of their tensor."""
    inputs = _slots(pair.target.inputs, pair.baseline.inputs)
    return Agreement(pair, inputs, _slots(pair.target.outputs, pair.baseline.outputs))


def _slots(target: tuple[TensorRecord, ...], baseline: tuple[TensorRecord, ...]) -> tuple[TensorAgreement, ...]:
    left, right = ({record.slot: record for record in side} for side in (target, baseline))
    found = [_compare(record, right.get(slot)) for slot, record in left.items()]
    found += [_alone(record, ONLY_BASELINE) for slot, record in right.items() if slot not in left]
    return tuple(found)


def _alone(record: TensorRecord, problem: str) -> TensorAgreement:
    return TensorAgreement(record.slot, record.dtype, record.shape, None, problem=problem)


def _compare(target: TensorRecord, baseline: TensorRecord | None) -> TensorAgreement:
    if baseline is None:
        return _alone(target, ONLY_TARGET)
    if target.shape != baseline.shape:
        detail = f"{list(target.shape)} / {list(baseline.shape)}"
        return TensorAgreement(target.slot, target.dtype, target.shape, None, problem=SHAPE, detail=detail)
    problem, detail = ("", "")
    if target.dtype != baseline.dtype:
        problem, detail = DTYPE, f"{target.dtype} / {baseline.dtype}"
    if target.file is None or baseline.file is None:
        error, largest, odd = *_statistics(target, baseline), False
    else:
        try:
            error, largest, odd = _values(target, baseline)
        except WorkbookError as cause:
            return TensorAgreement(target.slot, target.dtype, target.shape, None, problem=UNREADABLE,
                                   detail=cause.message("en"))  # fmt: skip
    if odd:
        problem, detail = NONFINITE, ""
    elif error is None:
        problem = problem or NO_VALUES
    return TensorAgreement(target.slot, target.dtype, target.shape, error, largest, problem, detail)


def _values(target: TensorRecord, baseline: TensorRecord) -> tuple[float | None, float | None, bool]:
    assert target.file and baseline.file
    left, right = read_tensor(target.file), read_tensor(baseline.file)
    for values, record in ((left, target), (right, baseline)):
        if values.shape != record.shape:
            error = f"holds shape {list(values.shape)}, dump.json says {list(record.shape)}"
            raise WorkbookError("precision.tensor_unreadable", path=str(record.file), error=error)
    metrics = measure(left, right)
    odd = metrics.nonfinite_places > 0
    return (math.inf if odd else metrics.relative_l2), metrics.max_absolute, odd


def _statistics(target: TensorRecord, baseline: TensorRecord) -> tuple[float | None, float | None]:
    """From norm and extremes alone: blind to a permutation and to differences that leave all three alone."""
    pairs = [(target.norm, baseline.norm), (target.maximum, baseline.maximum), (target.minimum, baseline.minimum)]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not known:
        return None, None
    peak = max(abs(b) for _, b in known[1:]) if len(known) > 1 else abs(known[0][1])
    scales = [abs(known[0][1])] + [peak] * (len(known) - 1)
    return max(map(_relative, known, scales)), max(abs(a - b) if a != b else 0.0 for a, b in known)


def _relative(pair: tuple[float, float], scale: float) -> float:
    a, b = pair
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / scale if scale > 0 else math.inf
