"""One pair of operators, tensor by tensor: structure first, numbers after."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.pairing import Pair
from ascend_workbook.precision.record import TensorRecord
from ascend_workbook.precision.tensors.measuring import WHOLE, Job, Sample
from ascend_workbook.precision.tensors.metrics import Metrics
from ascend_workbook.precision.tensors.tensorfile import Array, locate_tensor, read_tensor, verify_checksum
from ascend_workbook.precision.tensors.workers import Answer, Measure, measure_all

#: By the files of target and baseline.
Measured = Mapping["tuple[Path, Path]", Answer]

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: What can be wrong with a tensor before its numbers are looked at.
SHAPE, DTYPE, ONLY_TARGET, ONLY_BASELINE, UNREADABLE, NONFINITE, NO_VALUES, CHECKSUM = """
shape dtype only_target only_baseline unreadable nonfinite no_values checksum
""".split()


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

    def why_equal(self, *sides: TensorRecord) -> str:
        """Say why two right and two wrong devices alike give these values; empty where the values tell something."""
        if self.error:
            return ""
        if not all(side.is_floating for side in sides):
            return "whole"
        size = math.prod(self.shape)
        if size == 0:
            return "empty"
        if self.metrics is not None and self.metrics.nonfinite == self.metrics.size:
            return "nonfinite"
        ends = [value for side in sides for value in (side.maximum, side.minimum) if value is not None]
        if len(ends) == 4 and any(map(math.isnan, ends)) and self.metrics is None:
            return "nonfinite"
        norms = (self.metrics.norm_target, self.metrics.norm_baseline) if self.metrics else ()
        if norms == (0.0, 0.0) or len(ends) == 4 and not any(ends):
            return "zero"
        return "constant" if size > 1 and len(ends) == 4 and len(set(ends)) == 1 else ""


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
    """Compare all pairs, their tensors measured by workers on all cores or wherever `measure` does it. Files that could
    not be read become a problem of their tensor."""
    pairs = list(pairs)
    jobs = {(job.target, job.baseline): job for pair in pairs for job in _list_jobs(pair)}
    measured = dict(zip(jobs, measure(list(jobs.values()), sample)))
    return [
        Agreement(
            pair,
            _compare_slots(pair.target.inputs, pair.baseline.inputs, measured),
            _compare_slots(pair.target.outputs, pair.baseline.outputs, measured),
        )
        for pair in pairs
    ]


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
    same = slots == [list(compared.inputs), list(compared.outputs)]
    return compared if same else Agreement(compared.pair, tuple(slots[0]), tuple(slots[1]))


def _recheck_slot(slot: TensorAgreement, files: list[Path | None]) -> TensorAgreement:
    for file in filter(None, files):
        trouble = verify_checksum(file) if slot.metrics is not None and slot.error else ""
        if trouble:
            detail = WorkbookError("precision.tensor_unreadable", path=str(file), error=trouble).message("en")
            return TensorAgreement(slot.slot, slot.dtype, slot.shape, None, problem=UNREADABLE, detail=detail)
    return slot


def _list_jobs(pair: Pair) -> Iterable[Job]:
    """List the tensors of a pair whose values were saved on both sides and have one shape."""
    target, baseline = pair.target, pair.baseline
    for records, other_records in ((target.inputs, baseline.inputs), (target.outputs, baseline.outputs)):
        partners = {record.slot: record for record in other_records}
        for record in records:
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
    who, problem, detail = (target.slot, target.dtype, target.shape), "", ""
    if trouble := target.trouble or baseline.trouble:
        return TensorAgreement(*who, None, problem=UNREADABLE, detail=trouble)
    if target.shape != baseline.shape:
        detail = f"{list(target.shape)} / {list(baseline.shape)}"
        return TensorAgreement(*who, None, problem=SHAPE, detail=detail)
    if target.dtype != baseline.dtype:
        problem, detail = DTYPE, f"{target.dtype} / {baseline.dtype}"
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
        error, largest, same = compare_figures(target, baseline)
    except WorkbookError as cause:
        return TensorAgreement(*who, None, problem=UNREADABLE, detail=cause.message("en"))
    if same is False and not error:
        return TensorAgreement(*who, None, problem=CHECKSUM, detail=f"{target.checksum} / {baseline.checksum}")
    return TensorAgreement(
        *who, error, largest, problem or (NO_VALUES if error is None else ""), detail, summed=same is True
    )


# Two tensors of which at least one was not saved: held against each other by what both sides have, checksums or
# statistics; where only one side saved its values, the other's figures are computed from them.
#
# msprobe's `md5` is a CRC-32 of the bytes, its `xor` the 64-bit words of them in one: equal whatever their order. A
# bfloat16 is summed as its 16 bits, before late 2025 as the float32 it widens to. Sources: mindstudio-probe 26.2.0,
# msprobe/core/dump/data_dump/data_processor/pytorch_processor.py and msprobe/pytorch/xor_checksum;
# https://gitcode.com/Ascend/mstt, debug/accuracy_tools/msprobe/core/data_dump/data_processor/pytorch_processor.py

#: Elements at a time; a multiple of 8, so that a block is whole 64-bit words.
BLOCK = 1 << 16
XOR, CRC_DIGITS = "0x", 8


def compare_figures(target: TensorRecord, baseline: TensorRecord) -> tuple[float | None, float | None, bool | None]:
    """Return the largest relative difference of norm and extremes, their largest difference, and whether the checksums
    are the same; None where there is none on both sides. Raises WorkbookError where a saved tensor cannot be read."""
    same = _same_checksums(target, baseline)
    if same:
        return 0.0, 0.0, True
    return *_compare_statistics(_fill_statistics(target, baseline), _fill_statistics(baseline, target)), same


def _same_checksums(target: TensorRecord, baseline: TensorRecord) -> bool | None:
    if target.dtype != baseline.dtype:
        return None
    if target.checksum and baseline.checksum:
        return target.checksum == baseline.checksum
    for checksum, saved in ((target.checksum, baseline.file), (baseline.checksum, target.file)):
        if checksum and saved:
            return checksum in _possible_checksums(saved, checksum)
    return None


def _possible_checksums(path: Path, like: str) -> Iterator[str]:
    """Yield what msprobe's versions make of the tensor, in the manner of `like`."""
    for raw in (True, False):  # they differ for a bfloat16 alone
        if like.startswith(XOR):
            total = 0
            for block in _read_blocks(path, raw):
                data = block.tobytes()
                total ^= int(np.bitwise_xor.reduce(np.frombuffer(data + bytes(-len(data) % 8), np.uint64)))
            yield f"{XOR}{total:016x}"
        elif len(like) == CRC_DIGITS:
            crc = 0
            for block in _read_blocks(path, raw):
                crc = zlib.crc32(block.tobytes(), crc)
            yield f"{crc:0{CRC_DIGITS}x}"
        else:  # xor tells a scalar itself
            yield str(read_tensor(path).item())


def _read_blocks(path: Path, raw: bool) -> Iterator[Array]:
    """Yield the elements in order; a bfloat16 as its 16 bits where `raw`, an 8-bit float as its 8, else as float32. A
    block is gone with the next."""
    stored = locate_tensor(path)
    if stored.strides is None:
        yield from replace(
            stored, bfloat16=stored.bfloat16 and not raw, float8="" if raw else stored.float8
        ).read_blocks(BLOCK)
        return
    flat = np.ascontiguousarray(read_tensor(path)).reshape(-1)
    yield (flat.view(np.uint32) >> 16).astype(np.uint16) if stored.bfloat16 and raw else flat


def _fill_statistics(record: TensorRecord, other: TensorRecord) -> TensorRecord:
    """With the statistics that the other side has and this one, of which the values were saved, has not."""
    if record.file is None or record.norm is not None or record.maximum is not None or other.maximum is None:
        return record
    largest, smallest, squares = -math.inf, math.inf, 0.0
    for block in _read_blocks(record.file, raw=False):
        values = np.abs(block) if block.dtype.kind == "c" else block
        wide = values.astype(np.float64)
        largest, smallest = float(np.maximum(largest, wide.max())), float(np.minimum(smallest, wide.min()))
        squares += float(wide.dot(wide))
    if smallest > largest:
        return record  # no element
    norm = math.sqrt(squares) if other.norm is not None else None
    return replace(record, maximum=largest, minimum=smallest, norm=norm)


def _compare_statistics(target: TensorRecord, baseline: TensorRecord) -> tuple[float | None, float | None]:
    """Compare norm and extremes alone: blind to a permutation and to differences that leave all three alone."""
    pairs = [(target.norm, baseline.norm), (target.maximum, baseline.maximum), (target.minimum, baseline.minimum)]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not known:
        return None, None
    peak = max(abs(b) for _, b in known[1:]) if len(known) > 1 else abs(known[0][1])
    scales = [abs(known[0][1])] + [peak] * (len(known) - 1)
    return max(map(_relative_difference, known, scales)), max(abs(a - b) if a != b else 0.0 for a, b in known)


def _relative_difference(pair: tuple[float, float], scale: float) -> float:
    a, b = pair
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / scale if scale > 0 else math.inf
