"""A plain tree of .pt and .npy files, without any record of what they are: sides pair by relative path.

Folders of a step and a rank are taken as such where their names say so. Files that are named as msprobe or ptdbg_ascend
names them (a dump's tensors whose dump.json is lost) are gathered by operator. No file tells when it was made in the
run: the order is that of the names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from helpers.errors import WorkbookError
from helpers.precision.layouts import folders, names
from helpers.precision.record import BACKWARD, FORWARD, PARAMETERS, Operator, Run, TensorRecord
from helpers.precision.tensors.tensorfile import locate
from helpers.storage import Storage, natural

NAME = "files"
TENSORS, PICKLE = (".pt", ".npy"), ".pkl"
#: Folders that say where a file comes from, not what it holds.
AROUND = re.compile(r"(step|rank|proc)\d*|dump_tensor_data", re.ASCII)
RECORD = re.compile(r"(^|/)(dump|capture)\.json$")
WAYS = (FORWARD, BACKWARD, PARAMETERS)


def recognises(storage: Storage) -> bool:
    """Whether there is any file of a tensor, or a .pkl, of which it is said that it is not opened; and no record of
    another layout, which would lie one level further down."""
    found = list(storage.list())
    return any(name.endswith((*TENSORS, PICKLE)) for name in found) and not any(map(RECORD.search, found))


def read(storage: Storage, root: Path | None) -> tuple[list[Run], list[WorkbookError]]:
    """A run for each step and rank; `root` is of no use, nothing tells of a script."""
    found = sorted(storage.list(), key=natural)
    troubles = [WorkbookError("precision.pkl_refused", path=storage.shown(name)) for name in found
                if name.endswith(PICKLE)]  # fmt: skip
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in found:
        if name.endswith(TENSORS):
            groups[_step_and_rank(name)].append(name)
    runs = []
    for (step, rank), files in groups.items():
        run = Run(storage.local(""), step, rank, NAME, "", _operators(storage, files), replayable=False)
        try:
            run.check()
            runs.append(run)
        except ValueError as cause:
            args = {"path": storage.shown(""), "error": str(cause)}
            troubles.append(WorkbookError("precision.tree_ambiguous", **args))
    return runs, troubles


def _step_and_rank(name: str) -> tuple[int, int]:
    parents = PurePosixPath(name).parts[:-1]
    step, rank = (max((folders.number(part, prefix) for part in parents), default=0) for prefix in ("step", "rank"))
    return step, rank


def _operators(storage: Storage, files: list[str]) -> tuple[Operator, ...]:
    """Forward before backward before parameter gradients, by name."""
    found: dict[tuple[str, str], Operator] = {}
    for name in files:
        path = PurePosixPath(*(part for part in PurePosixPath(name).parts if not AROUND.fullmatch(part)))
        call = names.of(path.stem)
        if call is None:
            call = names.Call(str(path), str(path), FORWARD, 0, "output.0")
        key = (str(path.parent), call.name)
        operator = found.get(key) or call.operator(0)
        record = _record(storage, name, call.slot)
        if call.slot.startswith("output"):
            found[key] = replace(operator, outputs=(*operator.outputs, record))
        else:
            found[key] = replace(operator, inputs=(*operator.inputs, record))
    ordered = sorted(found.values(), key=lambda one: (WAYS.index(one.direction), natural(one.name)))
    return tuple(replace(operator, order=order) for order, operator in enumerate(ordered))


def _record(storage: Storage, name: str, slot: str) -> TensorRecord:
    """What the file's head tells; a file that cannot be read is a record that says why."""
    try:
        file = storage.local(name)
        stored = locate(file)
    except WorkbookError as cause:
        return TensorRecord(slot, "", (), trouble=cause.message("en"))
    dtype = "bfloat16" if stored.bfloat16 else np.dtype(stored.dtype).name
    return TensorRecord(slot, dtype, stored.shape, file=file)
