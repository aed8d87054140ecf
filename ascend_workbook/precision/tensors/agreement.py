"""One pair of operators, tensor by tensor: structure first, numbers after."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.pairing import Pair
from ascend_workbook.precision.record import TensorRecord
from ascend_workbook.precision.tensors import figures
from ascend_workbook.precision.tensors.measuring import WHOLE, Job, Sample
from ascend_workbook.precision.tensors.metrics import Metrics
from ascend_workbook.precision.tensors.tensorfile import verify_checksum
from ascend_workbook.precision.tensors.workers import Answer, Measure, measure_all

#: By the files of target and baseline.
Measured = Mapping["tuple[Path, Path]", Answer]

#: What can be wrong with a tensor before its numbers are looked at.
SHAPE, DTYPE, ONLY_TARGET, ONLY_BASELINE, UNREADABLE, NONFINITE, NO_VALUES, CHECKSUM = (
    "shape",
    "dtype",
    "only_target",
    "only_baseline",
    "unreadable",
    "nonfinite",
    "no_values",
    "checksum",
)


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
        return max((slot.error for slot in self.inputs if slot.error is not None), default=0.0)

    @property
    def error_out(self) -> float | None:
        """Return the largest output error; None where no output could be compared."""
        return max((slot.error for slot in self.outputs if slot.error is not None), default=None)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The floating dtypes that rounding may speak of, both sides'."""
        sides = (self.pair.target, self.pair.baseline)
        return tuple(t.dtype for side in sides for t in (*side.inputs, *side.outputs) if t.is_floating)

    def find_problems(self, *kinds: str) -> list[TensorAgreement]:
        return [slot for slot in (*self.inputs, *self.outputs) if slot.problem in kinds]


def compare_pairs(pairs: Iterable[Pair], sample: Sample = WHOLE, measure: Measure = measure_all) -> list[Agreement]:
    """Compare all pairs, their tensors measured by workers on all cores or wherever `measure` does it."""
    pairs = list(pairs)
    jobs = {(job.target, job.baseline): job for pair in pairs for job in _list_jobs(pair)}
    measured = dict(zip(jobs, measure(list(jobs.values()), sample)))
    return [compare_pair(pair, measured) for pair in pairs]


def compare_pair(pair: Pair, measured: Measured) -> Agreement:
    """Compares all tensors of a pair. Files that could not be read become a problem of their tensor."""
    inputs = _compare_slots(pair.target.inputs, pair.baseline.inputs, measured)
    return Agreement(pair, inputs, _compare_slots(pair.target.outputs, pair.baseline.outputs, measured))


def verify_files(compared: Agreement) -> Agreement:
    """The same object where the checksums of its files are right; else with the damaged tensors as unreadable. Files
    are read without, which is three times as fast: an operator is to be blamed only after this."""
    sides = [
        {t.slot: t.file for t in (*side.inputs, *side.outputs)}
        for side in (compared.pair.target, compared.pair.baseline)
    ]
    slots = [
        [_recheck_slot(slot, [side.get(slot.slot) for side in sides]) for slot in part]
        for part in (compared.inputs, compared.outputs)
    ]
    if slots == [list(compared.inputs), list(compared.outputs)]:
        return compared
    return Agreement(compared.pair, tuple(slots[0]), tuple(slots[1]))


def _recheck_slot(slot: TensorAgreement, files: list[Path | None]) -> TensorAgreement:
    for file in filter(None, files):
        trouble = verify_checksum(file) if slot.metrics is not None and slot.error else ""
        if trouble:
            detail = WorkbookError("precision.tensor_unreadable", path=str(file), error=trouble).message("en")
            return TensorAgreement(slot.slot, slot.dtype, slot.shape, None, problem=UNREADABLE, detail=detail)
    return slot


def _list_jobs(pair: Pair) -> Iterable[Job]:
    """List the tensors of a pair whose values were saved on both sides and have one shape."""
    for target_records, baseline_records in (
        (pair.target.inputs, pair.baseline.inputs),
        (pair.target.outputs, pair.baseline.outputs),
    ):
        partners = {record.slot: record for record in baseline_records}
        for record in target_records:
            other = partners.get(record.slot)
            if other and record.file and other.file and record.shape == other.shape:
                yield Job(record.file, other.file, record.shape, other.shape)


def _compare_slots(
    target: tuple[TensorRecord, ...], baseline: tuple[TensorRecord, ...], measured: Measured
) -> tuple[TensorAgreement, ...]:
    left, right = ({record.slot: record for record in side} for side in (target, baseline))
    slots = [_compare_tensor(record, right.get(slot), measured) for slot, record in left.items()]
    slots += [_one_sided_slot(record, ONLY_BASELINE) for slot, record in right.items() if slot not in left]
    return tuple(slots)


def _one_sided_slot(record: TensorRecord, problem: str) -> TensorAgreement:
    return TensorAgreement(record.slot, record.dtype, record.shape, None, problem=problem)


def _compare_tensor(target: TensorRecord, baseline: TensorRecord | None, measured: Measured) -> TensorAgreement:
    if baseline is None:
        return _one_sided_slot(target, ONLY_TARGET)
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
        return _compare_figures(target, baseline, problem, detail)
    metrics = measured[target.file, baseline.file]
    if isinstance(metrics, WorkbookError):
        return TensorAgreement(*who, None, problem=UNREADABLE, detail=metrics.message("en"))
    if metrics.nonfinite_places:
        return TensorAgreement(*who, math.inf, metrics.max_absolute, NONFINITE, "", metrics)
    return TensorAgreement(*who, metrics.relative_l2, metrics.max_absolute, problem, detail, metrics)


def _compare_figures(target: TensorRecord, baseline: TensorRecord, problem: str, detail: str) -> TensorAgreement:
    """Compare two tensors without values on both sides. Statistics that agree where checksums do not tell too little:
    by how much the tensors differ is not known then."""
    who = (target.slot, target.dtype, target.shape)
    try:
        error, largest, same = figures.compare_figures(target, baseline)
    except WorkbookError as cause:
        return TensorAgreement(*who, None, problem=UNREADABLE, detail=cause.message("en"))
    if same is False and not error:
        return TensorAgreement(*who, None, problem=CHECKSUM, detail=f"{target.checksum} / {baseline.checksum}")
    return TensorAgreement(
        *who, error, largest, problem or (NO_VALUES if error is None else ""), detail, summed=same is True
    )
