"""The forward pass of several ranks as one, without another side that tells how: copies, and rows of the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.ranks.arranging import Array, Axis
from ascend_workbook.precision.ranks.runs import OF_RANKS, TensorStore, are_equal
from ascend_workbook.precision.record import FORWARD, Operator, Run, TensorRecord
from ascend_workbook.precision.tensors.tensorfile import read_tensor


def make_whole(runs: Mapping[int, Run], axes: Sequence[Axis], store: TensorStore) -> Run:
    """Return the forward operators that every rank calls, with the tensors that are the same on all ranks or that are
    laid along the batch. What is left out is not compared."""
    first = runs[min(runs)]
    operators: list[Operator] = []
    for operator in first.operators:
        local = [run.by_name.get(operator.name) for _, run in sorted(runs.items())]
        if operator.direction != FORWARD or operator.head.startswith(OF_RANKS):
            continue
        ranks = {rank: op for rank, op in zip(sorted(runs), local) if op is not None}
        if len(ranks) == len(runs):
            inputs, outputs = (_join_records(ranks, part, axes, store) for part in ("inputs", "outputs"))
            if outputs:
                operators.append(replace(operator, inputs=inputs, outputs=outputs, order=len(operators)))
    return replace(first, rank=0, operators=tuple(operators))


def _join_records(
    operators: Mapping[int, Operator], part: str, axes: Sequence[Axis], store: TensorStore
) -> tuple[TensorRecord, ...]:
    joined = []
    for record in getattr(operators[min(operators)], part):
        files = {}
        for rank, operator in operators.items():
            own = next((other for other in getattr(operator, part) if other.slot == record.slot), None)
            if own is not None and own.file is not None:
                files[rank] = own.file
        if len(files) < len(operators):
            continue
        try:
            array = _join_arrays({rank: read_tensor(file) for rank, file in files.items()}, axes)
        except WorkbookError:
            continue
        if array is not None:
            joined.append(store.write_array(record, array) if array.shape != record.shape else record)
    return tuple(joined)


def _join_arrays(arrays: Mapping[int, Array], axes: Sequence[Axis]) -> Array | None:
    """The whole tensor; None where ranks that divide a tensor hold other values, or where there are no rows."""
    left = dict(arrays)
    for axis in axes:
        for group in axis.groups:
            ranks = [rank for rank in group if rank in left]
            own = {rank: left.pop(rank) for rank in ranks}
            if not own:
                continue
            first = own[ranks[0]]
            if not are_equal(own):
                rows = first.ndim and all(array.shape[1:] == first.shape[1:] for array in own.values())
                if not axis.data or not rows:
                    return None
                first = np.concatenate(list(own.values()))
            left[ranks[0]] = first
    return left[min(left)]
