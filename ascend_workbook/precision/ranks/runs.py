"""The operators of several ranks merged to those of one run, tensor by tensor, against the run of the other side."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.pairing import pair_runs
from ascend_workbook.precision.ranks.arranging import (
    COPY,
    LAID,
    MEAN,
    SUM,
    Actions,
    Array,
    Axis,
    cut_part,
    join_arrays,
    list_arrangements,
    refold,
    relative_error,
)
from ascend_workbook.precision.record import FORWARD, Operator, Run, TensorRecord
from ascend_workbook.precision.tensors.tensorfile import read_tensor

#: Calls that only several ranks have; what they do is judged by itself.
OF_RANKS = ("Distributed.", "MintDistributed.", "MintFunctional.distributed")
#: An arrangement is right where it gives the reference to within this; beyond BROKEN another one is sought.
NEAR, BROKEN = 1e-4, 5e-3
#: What gives parts of a sum where its inputs are divided; of anything else that does, how its parts make up a whole is
#: not known (a norm, a maximum).
LINEAR = """
linear matmul mm bmm addmm baddbmm einsum __matmul__ conv1d conv2d conv3d embedding sum mean
""".split()  # noqa: SIM905 - a column of names reads better without quotes
#: A tensor below this share of the median tensor's norm cancels to nothing (a bias before a softmax).
NOTHING = 1e-7
#: Dtypes of indices and masks.
COUNTED = ("int", "uint", "bool")
#: Differences of copies that rounding explains.
OF_COPIES = 1e-6


@dataclass
class MergedRun:
    """`run` and `reference` hold what could be merged. `blame` has, of an operator whose merged output is far from the
    reference, how far each rank's own part is, `blame_inputs` the same of its inputs; `odd` are calls that some ranks
    alone make; `partial` the inputs that are parts of a sum; `unlike` tensors whose
    copies differ, with the ranks; `left_out` counts reasons."""

    run: Run
    reference: Run
    how: Counter[str] = field(default_factory=Counter)
    blame: dict[str, dict[int, float]] = field(default_factory=dict)
    blame_inputs: dict[str, dict[int, float]] = field(default_factory=dict)
    odd: list[tuple[Operator, tuple[int, ...]]] = field(default_factory=list)
    partial: list[tuple[Operator, str, str]] = field(default_factory=list)
    unlike: list[tuple[Operator, str, tuple[int, ...]]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    #: The operator that is being merged reads indices or a mask of its rank's own.
    apart: bool = False


class TensorStore:
    """Writes merged tensors below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def write_array(self, like: TensorRecord, array: Array) -> TensorRecord:
        """Write an array, and return its record."""
        self.count += 1
        file = self.folder / f"{self.count}.npy"
        plain = array.astype(np.float32) if array.dtype == np.float64 and like.dtype != "float64" else array
        np.save(file, plain)
        numbers = array.astype(np.float64) if array.size and array.dtype.kind != "c" else np.zeros(1)
        statistics = (float(numbers.max()), float(numbers.min()), float(numbers.mean()), float(np.linalg.norm(numbers)))
        return TensorRecord(like.slot, like.dtype, tuple(array.shape), *statistics, file)


class Merging:
    """Merges the steps of one side. What was once found (whether a gradient is a rank's own mean, the order of the
    rows) holds for all that follows. Merged tensors are written to `store`. Operators of the modules `apart` are
    left out: each rank calls others there."""

    def __init__(self, axes: Sequence[Axis], store: TensorStore, apart: frozenset[str] = frozenset()) -> None:
        self.axes, self.store, self.apart = axes, store, apart
        self.scales: tuple[float, ...] = (1.0,)
        data = [axis for axis in axes if axis.data]
        if data:
            self.scales = (1.0 / data[0].size, 1.0)
        self.order: Array | None = None
        #: Tensors of the step that are smaller are nothing but rounding.
        self.nothing = 0.0

    def merge_runs(self, runs: Mapping[int, Run], reference: Run) -> MergedRun:
        """Merge one step."""
        first = runs[min(runs)]
        own = [op for op in first.operators if not op.head.startswith(OF_RANKS) and not self._is_apart(op)]
        alone = replace(first, operators=tuple(replace(op, order=at) for at, op in enumerate(own)))
        theirs_alone = [op for op in reference.operators if not self._is_apart(op)]
        left_out = len(reference.operators) - len(theirs_alone)
        reference = replace(reference, operators=tuple(replace(op, order=at) for at, op in enumerate(theirs_alone)))
        sizes = sorted(_size_of(record) for op in reference.operators for record in (*op.inputs, *op.outputs))
        self.nothing = NOTHING * sizes[len(sizes) // 2] if sizes else 0.0
        pairing = pair_runs(alone, reference)
        merged = MergedRun(alone, reference)
        if left_out:
            merged.left_out["apart"] += left_out
        merged.odd = _find_odd_calls(runs) if not self.apart else []
        mine: dict[str, Operator] = {}
        theirs: dict[str, Operator] = {}
        dropped: tuple[set[str], set[str]] = (set(), set())
        for pair in pairing.pairs:
            local = {rank: run.by_name.get(pair.target.name) for rank, run in runs.items()}
            there = {rank: op for rank, op in local.items() if op is not None}
            result = (
                self._merge_operator(merged, pair.target, there, pair.baseline) if len(there) == len(runs) else None
            )
            if result is None:
                merged.left_out["rank" if len(there) < len(runs) else "layout"] += 1
                dropped[0].add(pair.target.name)
                dropped[1].add(pair.baseline.name)
            else:
                mine[pair.target.name], theirs[pair.baseline.name] = result
        # what no partner was found for on either side would be paired anew among what is left
        heads = {op.head for op in pairing.only_target} & {op.head for op in pairing.only_baseline}
        for names, lonely in zip(dropped, (pairing.only_target, pairing.only_baseline)):
            names.update(op.name for op in lonely if op.head in heads)
        merged.left_out["unpaired"] += sum(op.head in heads for op in pairing.only_baseline)
        merged.run = _rebuild(alone, mine, dropped[0])
        merged.reference = _rebuild(reference, theirs, dropped[1])
        return merged

    def _is_apart(self, operator: Operator) -> bool:
        path = operator.module.path if operator.module else ""
        return any(path == other or path.startswith(f"{other}.") for other in self.apart)

    def _merge_operator(
        self, merged: MergedRun, first: Operator, local: Mapping[int, Operator], reference: Operator
    ) -> tuple[Operator, Operator] | None:
        """Both operators with the tensors that could be merged; None where no output could."""
        sides: list[list[tuple[TensorRecord, TensorRecord]]] = [[], []]
        partial: list[tuple[str, str]] = []
        unlike, divided = len(merged.unlike), False
        merged.apart = False
        for at, part in enumerate(("inputs", "outputs")):
            partners = {record.slot: record for record in getattr(reference, part)}
            for record in getattr(first, part):
                records = {
                    rank: next((r for r in getattr(op, part) if r.slot == record.slot), None)
                    for rank, op in local.items()
                }
                partner = partners.get(record.slot)
                if partner is None or any(other is None for other in records.values()):
                    continue
                whole = {rank: other for rank, other in records.items() if other is not None}
                unlike_before = len(merged.unlike)
                result = self._merge_tensor(merged, first, whole, partner, at == 1)
                if result is not None and at == 0:
                    divided = divided or result[0].shape != whole[min(whole)].shape
                elif result is not None and divided and len(merged.unlike) > unlike_before:
                    merged.unlike.pop()  # a norm or a maximum of each rank's part: no whole is known of it
                    merged.blame.pop(first.name, None)
                    result = None
                if result is None:
                    merged.left_out["tensor"] += 1
                    continue
                sides[at].append((result[0], partner))
                if result[1] and at == 0 and first.direction == FORWARD:
                    partial.append((record.slot, result[1]))
            if at == 0 and (len(merged.unlike) > unlike or merged.apart):
                return None  # its inputs differ already from rank to rank: what it gives tells nothing
        if not sides[1] and first.outputs:
            return None
        merged.partial += [(first, slot, kind) for slot, kind in partial]
        mine, theirs = (
            replace(op, inputs=tuple(p[n] for p in sides[0]), outputs=tuple(p[n] for p in sides[1]))
            for n, op in ((0, first), (1, reference))
        )
        return mine, theirs

    def _merge_tensor(
        self,
        merged: MergedRun,
        operator: Operator,
        records: Mapping[int, TensorRecord],
        reference: TensorRecord,
        output: bool,
    ) -> tuple[TensorRecord, str] | None:
        """The merged record, and whether it is a sum or mean of the ranks'. None where it cannot be told."""
        shapes = {rank: record.shape for rank, record in records.items()}
        arrangements = list_arrangements(shapes, reference.shape, self.axes)
        first = records[min(records)]
        size = max(_size_of(reference), *map(_size_of, records.values()))
        if not arrangements or 0 < size < self.nothing:
            return None
        if any(record.file is None for record in (*records.values(), reference)):
            return _merge_statistics(records, arrangements[0])
        try:
            arrays = {rank: read_tensor(record.file) for rank, record in records.items() if record.file}
            wanted = read_tensor(reference.file) if reference.file else None
        except WorkbookError:
            return None
        if wanted is None:
            return None
        backward = operator.direction != FORWARD
        linear = operator.api in LINEAR and output
        actions, array, error = self._choose(arrays, shapes, arrangements, wanted, backward, linear)
        copied = all(action.kind == COPY for action in actions)
        kinds = [action.kind for action in actions]
        merged.how[" x ".join(kinds)] += 1
        if COPY in kinds and first.dtype.startswith(COUNTED) and not are_equal(arrays):
            merged.apart = True  # each rank's own place, as where words are divided
            return None
        if COPY in kinds:
            self._note_copies(merged, operator, first.slot, arrays, actions, wanted)
        if error > NEAR:
            table = merged.blame if output else merged.blame_inputs
            errors = self._blame(arrays, shapes, wanted, actions, backward and not copied)
            table.setdefault(operator.name, {}).update(errors)
        if copied:
            return first, ""
        return self.store.write_array(first, array), next((kind for kind in kinds if kind in (SUM, MEAN)), "")

    def _choose(
        self,
        arrays: Mapping[int, Array],
        shapes: Mapping[int, tuple[int, ...]],
        arrangements: list[Actions],
        wanted: Array,
        backward: bool,
        linear: bool,
    ) -> tuple[Actions, Array, float]:
        tried: list[tuple[float, Actions, Array, float]] = []
        for scale in self.scales if backward else (1.0,):
            for actions in arrangements:
                result = self._try(arrays, actions, wanted, scale)
                tried.append((result[1], actions, result[0], scale))
                if result[1] <= NEAR:
                    break
            if tried[-1][0] <= NEAR:
                break
        best = min(tried, key=lambda attempt: attempt[0])
        if best[0] > BROKEN:
            laid = [actions for actions in arrangements if any(action.kind == LAID for action in actions)]
            for actions in (other for plain in laid for other in refold(plain, shapes)):
                array, error = self._try(arrays, actions, wanted, best[3])
                if error <= BROKEN:
                    best = error, actions, array, best[3]
                    break
        tells = backward and best[0] <= NEAR and any(a.kind != COPY for a in best[1]) and np.any(best[2])
        if tells and len(self.scales) > 1:
            self.scales = (best[3],)
        if best[0] > BROKEN:  # the plainest, so that no chance decides what is compared
            plain = arrangements[0]
            if linear and all(action.kind == COPY for action in plain) and not are_equal(arrays):
                plain = min(arrangements, key=lambda actions: self._try(arrays, actions, wanted, 1.0)[1])
            array, error = self._try(arrays, plain, wanted, self.scales[0] if backward else 1.0)
            return plain, array, error
        return best[1], best[2], best[0]

    def _try(self, arrays: Mapping[int, Array], actions: Actions, wanted: Array, scale: float) -> tuple[Array, float]:
        array = join_arrays(arrays, self.axes, actions)
        data_laid = any(axis.data and action.kind == LAID for axis, action in zip(self.axes, actions))
        if scale != 1.0 and data_laid:
            array = array * scale
        if data_laid and array.ndim:
            array = self._reorder(array, wanted)
        return array, relative_error(array, wanted)

    def _reorder(self, array: Array, wanted: Array) -> Array:
        """The rows in the order of the other side's, where it takes the same samples in another order: found once, by
        the first tensor whose rows are the same."""
        if self.order is None and array.shape == wanted.shape and array.shape[0] > 1:
            rows = [row.tobytes() for row in np.ascontiguousarray(array.astype(np.float64))]
            others = [row.tobytes() for row in np.ascontiguousarray(wanted.astype(np.float64))]
            if rows != others and len(set(rows)) == len(rows) and sorted(rows) == sorted(others):
                places = {row: at for at, row in enumerate(rows)}
                self.order = np.array([places[row] for row in others])
        if self.order is None or array.shape[0] % len(self.order):
            return array
        inner = array.shape[0] // len(self.order)
        folded = array.reshape(len(self.order), inner, *array.shape[1:])
        ordered: Array = folded[self.order].reshape(array.shape)
        return ordered

    def _note_copies(
        self,
        merged: MergedRun,
        operator: Operator,
        slot: str,
        arrays: Mapping[int, Array],
        actions: Actions,
        wanted: Array,
    ) -> None:
        for axis, action in zip(self.axes, actions):
            if action.kind != COPY:
                continue
            for group in axis.groups:
                unlike = tuple(rank for rank in group[1:] if relative_error(arrays[rank], arrays[group[0]]) > OF_COPIES)
                errors = {rank: relative_error(arrays[rank], wanted) for rank in group}
                far = tuple(rank for rank in group if errors[rank] > 10 * min(errors.values()) and errors[rank] > NEAR)
                if unlike:
                    unlike = far or unlike
                    merged.unlike.append((operator, slot, unlike))
                    return

    def _blame(
        self,
        arrays: Mapping[int, Array],
        shapes: Mapping[int, tuple[int, ...]],
        wanted: Array,
        actions: Actions,
        scaled: bool,
    ) -> dict[int, float]:
        """How far each rank's own part is from its part of the reference; empty where a part is not known."""
        if self.order is not None:
            return {}
        scale = self.scales[0] if scaled and any(axis.data for axis in self.axes) else 1.0
        errors = {}
        for rank, array in arrays.items():
            part = cut_part(wanted, rank, shapes, self.axes, actions)
            if part is None:
                return {}
            errors[rank] = relative_error(array * scale if scale != 1.0 else array, part)
        return errors


def _size_of(record: TensorRecord) -> float:
    """The norm, zero where it is not known."""
    return float(record.norm or 0.0) if math.isfinite(record.norm or 0.0) else math.inf


def are_equal(arrays: Mapping[int, Array]) -> bool:
    first = arrays[min(arrays)]
    return all(relative_error(array, first) <= OF_COPIES for array in arrays.values())


def _find_odd_calls(runs: Mapping[int, Run]) -> list[tuple[Operator, tuple[int, ...]]]:
    """Calls that some ranks alone make, in order; those of torch.distributed are judged by themselves."""
    ranks: dict[str, list[int]] = {}
    operators: dict[str, Operator] = {}
    for rank, run in runs.items():
        for operator in run.operators:
            ranks.setdefault(operator.name, []).append(rank)
            operators.setdefault(operator.name, operator)
    few = [name for name, own in ranks.items() if len(own) < len(runs) and not name.startswith(OF_RANKS)]
    return [(operators[name], tuple(ranks[name])) for name in few]


def _merge_statistics(records: Mapping[int, TensorRecord], actions: Actions) -> tuple[TensorRecord, str] | None:
    """Of dumps without values: a copy is the first rank's; pieces have the extremes and the norm of all."""
    first = records[min(records)]
    if all(action.kind == COPY for action in actions):
        same = {(record.maximum, record.minimum, record.norm) for record in records.values()}
        return (first, "") if len(same) == 1 else None
    return None


def _rebuild(run: Run, changed: Mapping[str, Operator], dropped: set[str]) -> Run:
    operators = [changed.get(op.name, op) for op in run.operators if op.name not in dropped]
    return replace(run, rank=0, operators=tuple(replace(op, order=at) for at, op in enumerate(operators)))
