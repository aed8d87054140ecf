"""ptdbg_ascend's folders (2022 to 2024): a `.pkl` that is lines of JSON, and a folder of .npy files of its name.

    <dump_tag>_v<version>/[step<N>/]rank<R>/{dump.pkl, dump/<name>.npy}

A line is a tensor, [name, step, checksum or [], dtype, shape, [max, min, mean, norm]], or a stack,
[name, [[file, line, function, code], ...]]; a number among the arguments is a line whose dtype is its Python class.
Nothing is unpickled: what is not such lines is refused. Before v2 the time stands behind the name of the .npy folder.
https://gitcode.com/Ascend/mstt, debug/accuracy_tools/ptdbg_ascend/src/python/ptdbg_ascend/dump/dump.py"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.layouts import folders
from ascend_workbook.precision.layouts.entries import find_innermost_place, parse_ptdbg_name, read_statistic
from ascend_workbook.precision.record import FORWARD, Operator, Run, TensorRecord
from ascend_workbook.storage import Storage

NAME = "ptdbg_ascend"
SUFFIX = ".pkl"
#: Tag, step and rank.
DEPTH = 3
PLAIN = {"<class 'bool'>": bool, "<class 'int'>": int, "<class 'float'>": float}
Line = list[Any]


def recognises(storage: Storage) -> bool:
    """Whether there is a .pkl whose first byte begins a JSON list."""
    return any(storage.read_start(name, 1) == b"[" for name in _find_records(storage))


def read(storage: Storage, root: Path | None) -> tuple[list[Run], list[WorkbookError]]:
    """Read every .pkl of every step and rank, and return what could not be read as errors."""
    single = folders.reject_ambiguous(storage, list(_find_records(storage)), lambda name: _step_and_rank(storage, name))
    return folders.read_each_run(single, lambda name, troubles: _read_run(storage, name, root, troubles))


def _find_records(storage: Storage, name: str = "", depth: int = DEPTH) -> Iterator[str]:
    """Find all .pkl files; folders of tensors, which have a .pkl's name, are not looked into."""
    children = storage.list_children(name)
    stems = [child[: -len(SUFFIX)] for child in children if child.endswith(SUFFIX)]
    yield from (f"{name}{stem}{SUFFIX}" for stem in stems)
    for child in children if depth else ():
        if child.endswith("/") and not child.startswith(tuple(stems)):
            yield from _find_records(storage, f"{name}{child}", depth - 1)


def _step_and_rank(storage: Storage, name: str) -> tuple[int, int]:
    parents = Path(os.path.abspath(storage.describe_place(name))).parents  # noqa: PTH100 (a link keeps its own name)
    above = [parent.name for parent in parents][:DEPTH]
    step, rank = (max(folders.number_in_name(part, prefix) for part in above) for prefix in ("step", "rank"))
    return step, rank


def _read_run(storage: Storage, name: str, root: Path | None, troubles: list[WorkbookError]) -> Run:
    lines, cut = _read_lines(storage, name)
    files = _find_tensor_folder(storage, name)
    try:
        operators = _gather_operators(lines, files, root)
        run = Run(
            storage.local_path(name).parent,
            *_step_and_rank(storage, name),
            "tensor" if files else "statistics",
            "L1",
            operators,
            cut=cut is not None,
            replayable=False,
        )
        run.check()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as cause:
        raise WorkbookError("precision.pkl_malformed", path=storage.describe_place(name), error=repr(cause)) from cause
    if cut is not None:
        troubles.append(cut)
    return run


def _find_tensor_folder(storage: Storage, name: str) -> Path | None:
    """Find the folder of .npy files; None where there is none (`summary_only`)."""
    folder, _, own = name[: -len(SUFFIX)].rpartition("/")
    above = f"{folder}/" if folder else ""
    file_names = [
        child
        for child in storage.list_children(above)
        if child == f"{own}/" or child.startswith(f"{own}_") and child.endswith("/")
    ]
    if f"{own}/" in file_names:
        file_names = [f"{own}/"]
    if len(file_names) > 1:
        error = f"which is it: {file_names}"
        raise WorkbookError("precision.pkl_malformed", path=storage.describe_place(name), error=error)
    return storage.local_path(f"{above}{file_names[0]}") if file_names else None


def _read_lines(storage: Storage, name: str) -> tuple[list[Line], WorkbookError | None]:
    """Read the lines up to the first that is damaged, and return the error that tells of it."""
    lines: list[Line] = []
    path = storage.describe_place(name)
    try:
        data = storage.read_bytes(name)
    except OSError as cause:
        raise WorkbookError("precision.json_unreadable", path=path, error=str(cause)) from cause
    for at, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
            if not isinstance(content, list) or len(content) < 2 or not isinstance(content[0], str):
                raise ValueError("expected [name, ...]")
            lines.append(content)
        except (ValueError, RecursionError) as cause:
            if not lines:
                raise WorkbookError("precision.pkl_refused", path=path) from cause
            damage: dict[str, Scalar] = {"line": at, "error": str(cause), "count": len(lines)}
            return lines, WorkbookError("precision.json_salvaged", path=path, **damage)
    return lines, None


def _gather_operators(lines: list[Line], files: Path | None, root: Path | None) -> tuple[Operator, ...]:
    """Gather the operators in the order of the lines, which is the order of execution."""
    by_name: dict[str, Operator] = {}
    for line in lines:
        call = parse_ptdbg_name(line[0])
        if call is None:
            raise ValueError(f"{line[0]}: expected <name>_<call>_<forward|backward>_<input|output>")
        operator = by_name.get(call.name) or call.make_operator(len(by_name))
        by_name[call.name] = _add_line(operator, call.slot, line, files, root)
    return tuple(by_name.values())


def _add_line(operator: Operator, slot: str, line: Line, files: Path | None, root: Path | None) -> Operator:
    """Return the operator with what one line tells of it."""
    if len(line) == 2:
        place = find_innermost_place(((str(frame[0]), str(frame[1])) for frame in line[1] if len(frame) > 1), root)
        return replace(operator, place=place)
    dtype = str(line[3])
    if dtype in PLAIN:
        if operator.direction != FORWARD or not slot.startswith("input"):
            return operator
        return replace(operator, arguments=(*operator.arguments, (slot, PLAIN[dtype](line[5][0]))))
    return operator.add_tensor(_make_record(line, slot, files))


def _make_record(line: Line, slot: str, files: Path | None) -> TensorRecord:
    name, _, checksum, dtype, shape, numbers = line[:6]
    if Path(name).name != name:
        raise ValueError(f"{name!r} leaves the folder")
    maximum, minimum, mean, norm = map(read_statistic, (*numbers, None, None, None, None)[:4])
    file, checksum = files / f"{name}.npy" if files else None, str(checksum) if checksum else None
    dtype = str(dtype).rpartition(".")[2].lower()
    return TensorRecord(slot, dtype, tuple(map(int, shape)), maximum, minimum, mean, norm, file, checksum)
