"""A plain tree of .pt and .npy files, without any record of what they are: sides pair by relative path.

Folders of a step and a rank are taken as such where their names say so. Files that are named as msprobe or ptdbg_ascend
names them (a dump's tensors whose dump.json is lost) are gathered by operator. No file tells when it was made in the
run: the order is that of the names."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.layouts import folders
from ascend_workbook.precision.layouts.entries import Call, parse_tensor_name
from ascend_workbook.precision.record import BACKWARD, FORWARD, PARAMETERS, Operator, Run, TensorRecord
from ascend_workbook.precision.tensors.tensorfile import locate_tensor
from ascend_workbook.storage import Storage, natural_key

NAME = "files"
TENSORS, PICKLE = (".pt", ".npy"), ".pkl"
#: Folders that say where a file comes from, not what it holds.
AROUND = re.compile(r"(step|rank|proc)\d*|dump_tensor_data", re.ASCII)
RECORD = re.compile(r"(^|/)(dump|capture)\.json$")
WAYS = (FORWARD, BACKWARD, PARAMETERS)


def recognises(storage: Storage) -> bool:
    """Return whether there is any file of a tensor, or a .pkl, of which it is said that it is not opened; and no record
    of another layout, which would lie one level further down."""
    file_names = list(storage.list_files())
    return any(name.endswith((*TENSORS, PICKLE)) for name in file_names) and not any(map(RECORD.search, file_names))


def read(storage: Storage, root: Path | None) -> tuple[list[Run], list[WorkbookError]]:
    """Read a run for each step and rank; `root` is of no use, nothing tells of a script."""
    file_names = sorted(storage.list_files(), key=natural_key)
    troubles = [
        WorkbookError("precision.pkl_refused", path=storage.describe_place(name))
        for name in file_names
        if name.endswith(PICKLE)
    ]
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in file_names:
        if name.endswith(TENSORS):
            groups[_step_and_rank(name)].append(name)
    runs = []
    for (step, rank), files in groups.items():
        run = Run(storage.local_path(""), step, rank, NAME, "", _gather_operators(storage, files), replayable=False)
        try:
            run.check()
            runs.append(run)
        except ValueError as cause:
            args = {"path": storage.describe_place(""), "error": str(cause)}
            troubles.append(WorkbookError("precision.tree_ambiguous", **args))
    return runs, troubles


def _step_and_rank(name: str) -> tuple[int, int]:
    parents = PurePosixPath(name).parts[:-1]
    step, rank = (
        max((folders.number_in_name(part, prefix) for part in parents), default=0) for prefix in ("step", "rank")
    )
    return step, rank


def _gather_operators(storage: Storage, files: list[str]) -> tuple[Operator, ...]:
    """Gather the operators by name: forward before backward before parameter gradients."""
    by_call: dict[tuple[str, str], Operator] = {}
    for name in files:
        path = PurePosixPath(*(part for part in PurePosixPath(name).parts if not AROUND.fullmatch(part)))
        call = parse_tensor_name(path.stem)
        if call is None:
            call = Call(str(path), str(path), FORWARD, 0, "output.0")
        key = (str(path.parent), call.name)
        operator = by_call.get(key) or call.make_operator(0)
        by_call[key] = operator.add_tensor(_read_record(storage, name, call.slot))
    ordered = sorted(
        by_call.values(), key=lambda operator: (WAYS.index(operator.direction), natural_key(operator.name))
    )
    return tuple(replace(operator, order=order) for order, operator in enumerate(ordered))


def _read_record(storage: Storage, name: str, slot: str) -> TensorRecord:
    """Read what the file's head tells; a file that cannot be read is a record that says why."""
    try:
        file = storage.local_path(name)
        stored = locate_tensor(file)
    except WorkbookError as cause:
        return TensorRecord(slot, "", (), trouble=cause.message("en"))
    return TensorRecord(
        slot, "bfloat16" if stored.bfloat16 else stored.float8 or np.dtype(stored.dtype).name, stored.shape, file=file
    )
