"""One pair of operators, tensor by tensor: structure first, numbers after."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.precision.pairing import Pair
from helpers.precision.record import TensorRecord
from helpers.precision.tensors import figures
from helpers.precision.tensors.measuring import WHOLE, Job, Sample
from helpers.precision.tensors.metrics import Metrics
from helpers.precision.tensors.tensorfile import verify
from helpers.precision.tensors.workers import Answer, Measure, measure_all

#: By the files of target and baseline.
Measured = Mapping["tuple[Path, Path]", Answer]

#: What can be wrong with a tensor before its numbers are looked at.
SHAPE, DTYPE, ONLY_TARGET, ONLY_BASELINE, UNREADABLE, NONFINITE, NO_VALUES, CHECKSUM = (
    "shape", "dtype", "only_target", "only_baseline", "unreadable", "nonfinite", "no_values", "checksum")  # fmt: skip


@dataclass(frozen=True)
class TensorAgreement:
    """One slot on both sides. `error` is the relative L2 error (of statistics: the largest relative difference of
    norm and extremes), None where it could not be told, and `problem` then says why. `metrics` is all that was
    measured, None of statistics; `summed` says that equal checksums make the error 0."""

    slot: str
    dtype: str
    shape: tuple[int, ...]
    error: float | None
    max_absolute: float | None = None
    problem: str = ""
    detail: str = ""
    metrics: Metrics | None = None
    summed: bool = False


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


def agreements(pairs: Iterable[Pair], sample: Sample = WHOLE, measure: Measure = measure_all) -> list[Agreement]:
    """All pairs compared, their tensors measured by workers on all cores or wherever `measure` does it."""
    pairs = list(pairs)
    jobs = {(job.target, job.baseline): job for pair in pairs for job in _jobs(pair)}
    measured = dict(zip(jobs, measure(list(jobs.values()), sample)))
    return [agreement(pair, measured) for pair in pairs]


def agreement(pair: Pair, measured: Measured) -> Agreement:
    """Compares all tensors of a pair. Files that could not be read become a problem of their tensor."""
    inputs = _slots(pair.target.inputs, pair.baseline.inputs, measured)
    return Agreement(pair, inputs, _slots(pair.target.outputs, pair.baseline.outputs, measured))


def verified(found: Agreement) -> Agreement:
    """The same object where the checksums of its files are right; else with the damaged tensors as unreadable. Files
    are read without, which is three times as fast: an operator is to be blamed only after this."""
    sides = [{t.slot: t.file for t in (*side.inputs, *side.outputs)} for side in (found.pair.target,
                                                                                  found.pair.baseline)]  # fmt: skip
    slots = [[_sound(slot, [side.get(slot.slot) for side in sides]) for slot in part]
             for part in (found.inputs, found.outputs)]  # fmt: skip
    if slots == [list(found.inputs), list(found.outputs)]:
        return found
    return Agreement(found.pair, tuple(slots[0]), tuple(slots[1]))


def _sound(slot: TensorAgreement, files: list[Path | None]) -> TensorAgreement:
    for file in filter(None, files):
        trouble = verify(file) if slot.metrics is not None and slot.error else ""
        if trouble:
            detail = WorkbookError("precision.tensor_unreadable", path=str(file), error=trouble).message("en")
            return TensorAgreement(slot.slot, slot.dtype, slot.shape, None, problem=UNREADABLE, detail=detail)
    return slot


def _jobs(pair: Pair) -> Iterable[Job]:
    """The tensors of a pair whose values were saved on both sides and have one shape."""
    for mine, theirs in ((pair.target.inputs, pair.baseline.inputs), (pair.target.outputs, pair.baseline.outputs)):
        partners = {record.slot: record for record in theirs}
        for record in mine:
            other = partners.get(record.slot)
            if other and record.file and other.file and record.shape == other.shape:
                yield Job(record.file, other.file, record.shape, other.shape)


def _slots(
    target: tuple[TensorRecord, ...], baseline: tuple[TensorRecord, ...], measured: Measured
) -> tuple[TensorAgreement, ...]:
    left, right = ({record.slot: record for record in side} for side in (target, baseline))
    found = [_compare(record, right.get(slot), measured) for slot, record in left.items()]
    found += [_alone(record, ONLY_BASELINE) for slot, record in right.items() if slot not in left]
    return tuple(found)


def _alone(record: TensorRecord, problem: str) -> TensorAgreement:
    return TensorAgreement(record.slot, record.dtype, record.shape, None, problem=problem)


def _compare(target: TensorRecord, baseline: TensorRecord | None, measured: Measured) -> TensorAgreement:
    if baseline is None:
        return _alone(target, ONLY_TARGET)
    trouble = target.trouble or baseline.trouble
    if trouble:
        return TensorAgreement(target.slot, target.dtype, target.shape, None, problem=UNREADABLE, detail=trouble)
    if target.shape != baseline.shape:
        detail = f"{list(target.shape)} / {list(baseline.shape)}"
        return TensorAgreement(target.slot, target.dtype, target.shape, None, problem=SHAPE, detail=detail)
    problem, detail = ("", "")
    if target.dtype != baseline.dtype:
        problem, detail = DTYPE, f"{target.dtype} / {baseline.dtype}"
    who = (target.slot, target.dtype, target.shape)
    if target.file is None or baseline.file is None:
        return _figures(target, baseline, problem, detail)
    metrics = measured[target.file, baseline.file]
    if isinstance(metrics, WorkbookError):
        return TensorAgreement(*who, None, problem=UNREADABLE, detail=metrics.message("en"))
    if metrics.nonfinite_places:
        return TensorAgreement(*who, math.inf, metrics.max_absolute, NONFINITE, "", metrics)
    return TensorAgreement(*who, metrics.relative_l2, metrics.max_absolute, problem, detail, metrics)


def _figures(target: TensorRecord, baseline: TensorRecord, problem: str, detail: str) -> TensorAgreement:
    """Without values on both sides. Statistics that agree where checksums do not tell too little: by how much the
    tensors differ is not known then."""
    who = (target.slot, target.dtype, target.shape)
    try:
        error, largest, same = figures.compare(target, baseline)
    except WorkbookError as cause:
        return TensorAgreement(*who, None, problem=UNREADABLE, detail=cause.message("en"))
    if same is False and not error:
        return TensorAgreement(*who, None, problem=CHECKSUM, detail=f"{target.checksum} / {baseline.checksum}")
    return TensorAgreement(*who, error, largest, problem or (NO_VALUES if error is None else ""), detail,
                           summed=same is True)  # fmt: skip
