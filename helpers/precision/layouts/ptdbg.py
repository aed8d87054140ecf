"""ptdbg_ascend's folders (2022 to 2024): a `.pkl` that is lines of JSON, and a folder of .npy files of its name.

    <dump_tag>_v<version>/[step<N>/]rank<R>/{dump.pkl, dump/<name>.npy}

A line is a tensor, [name, step, checksum or [], dtype, shape, [max, min, mean, norm]], or a stack,
[name, [[file, line, function, code], ...]]; a number among the arguments is a line whose dtype is its Python class.
Nothing is unpickled: what is not such lines is refused. Before v2 the time stands behind the name of the .npy folder.
https://gitcode.com/Ascend/mstt, debug/accuracy_tools/ptdbg_ascend/src/python/ptdbg_ascend/dump/dump.py
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.precision.layouts import folders, names, stacks
from helpers.precision.layouts.entries import number
from helpers.precision.record import FORWARD, Operator, Run, TensorRecord
from helpers.storage import Storage

NAME = "ptdbg_ascend"
SUFFIX = ".pkl"
#: Tag, step and rank.
DEPTH = 3
PLAIN = {"<class 'bool'>": bool, "<class 'int'>": int, "<class 'float'>": float}
Line = list[Any]


def recognises(storage: Storage) -> bool:
    """Whether there is a .pkl whose first byte begins a JSON list."""
    return any(storage.start(name, 1) == b"[" for name in _records(storage))


def read(storage: Storage, root: Path | None) -> tuple[list[Run], list[WorkbookError]]:
    """Every .pkl of every step and rank, and what could not be read."""
    single = folders.unambiguous(storage, list(_records(storage)), lambda name: _step_and_rank(storage, name))
    return folders.each(single, lambda name, troubles: _run(storage, name, root, troubles))


def _records(storage: Storage, name: str = "", depth: int = DEPTH) -> Iterator[str]:
    """All .pkl files; folders of tensors, which have a .pkl's name, are not looked into."""
    children = storage.children(name)
    stems = [child[: -len(SUFFIX)] for child in children if child.endswith(SUFFIX)]
    yield from (f"{name}{stem}{SUFFIX}" for stem in stems)
    for child in children if depth else ():
        if child.endswith("/") and not child.startswith(tuple(stems)):
            yield from _records(storage, f"{name}{child}", depth - 1)


def _step_and_rank(storage: Storage, name: str) -> tuple[int, int]:
    parents = Path(os.path.abspath(storage.shown(name))).parents  # noqa: PTH100 (a link keeps its own name)
    above = [parent.name for parent in parents][:DEPTH]
    step, rank = (max(folders.number(part, prefix) for part in above) for prefix in ("step", "rank"))
    return step, rank


def _run(storage: Storage, name: str, root: Path | None, troubles: list[WorkbookError]) -> Run:
    lines, cut = _lines(storage, name)
    files = _files(storage, name)
    try:
        operators = _operators(lines, files, root)
        run = Run(storage.local(name).parent, *_step_and_rank(storage, name), "tensor" if files else "statistics",
                  "L1", operators, cut=cut is not None, replayable=False)  # fmt: skip
        run.check()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as cause:
        raise WorkbookError("precision.pkl_malformed", path=storage.shown(name), error=repr(cause)) from cause
    if cut is not None:
        troubles.append(cut)
    return run


def _files(storage: Storage, name: str) -> Path | None:
    """The folder of .npy files; None where there is none (`summary_only`)."""
    stem = name[: -len(SUFFIX)]
    folder, _, own = stem.rpartition("/")
    above = f"{folder}/" if folder else ""
    found = [child for child in storage.children(above) if child == f"{own}/" or child.startswith(f"{own}_")
             and child.endswith("/")]  # fmt: skip
    if len(found) > 1 and f"{own}/" not in found:
        raise WorkbookError("precision.pkl_malformed", path=storage.shown(name), error=f"which is it: {found}")
    if not found:
        return None
    chosen = f"{own}/" if f"{own}/" in found else found[0]
    return storage.local(f"{above}{chosen}")


def _lines(storage: Storage, name: str) -> tuple[list[Line], WorkbookError | None]:
    """Lines up to the first that is damaged, and the error that tells of it."""
    found: list[Line] = []
    path = storage.shown(name)
    try:
        data = storage.read_bytes(name)
    except OSError as cause:
        raise WorkbookError("precision.json_unreadable", path=path, error=str(cause)) from cause
    for at, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(_line(line))
        except (ValueError, RecursionError) as cause:
            if not found:
                raise WorkbookError("precision.pkl_refused", path=path) from cause
            return found, WorkbookError("precision.json_salvaged", path=path, line=at, error=str(cause),
                                        count=len(found))  # fmt: skip
    return found, None


def _line(line: bytes) -> Line:
    content = json.loads(line)
    if not isinstance(content, list) or len(content) < 2 or not isinstance(content[0], str):
        raise ValueError("expected [name, ...]")
    return content


def _operators(lines: list[Line], files: Path | None, root: Path | None) -> tuple[Operator, ...]:
    """In the order of the lines, which is the order of execution."""
    found: dict[str, Operator] = {}
    for line in lines:
        call = names.old(line[0])
        if call is None:
            raise ValueError(f"{line[0]}: expected <name>_<call>_<forward|backward>_<input|output>")
        operator = found.get(call.name) or call.operator(len(found))
        found[call.name] = _with(operator, call.slot, line, files, root)
    return tuple(found.values())


def _with(operator: Operator, slot: str, line: Line, files: Path | None, root: Path | None) -> Operator:
    """The operator and what one line tells of it."""
    if len(line) == 2:
        place = stacks.innermost(((str(frame[0]), str(frame[1])) for frame in line[1] if len(frame) > 1), root)
        return replace(operator, place=place)
    dtype = str(line[3])
    if dtype in PLAIN:
        told = operator.direction == FORWARD and slot.startswith("input")
        more = ((slot, PLAIN[dtype](line[5][0])),) if told else ()
        return replace(operator, arguments=(*operator.arguments, *more))
    record = _record(line, slot, files)
    if slot.startswith("input"):
        return replace(operator, inputs=(*operator.inputs, record))
    return replace(operator, outputs=(*operator.outputs, record))


def _record(line: Line, slot: str, files: Path | None) -> TensorRecord:
    name, _, checksum, dtype, shape, numbers = line[:6]
    if Path(name).name != name:
        raise ValueError(f"{name!r} leaves the folder")
    maximum, minimum, mean, norm = (number(value) for value in (*numbers, None, None, None, None)[:4])
    file = files / f"{name}.npy" if files else None
    return TensorRecord(slot, str(dtype).rpartition(".")[2].lower(), tuple(map(int, shape)), maximum, minimum, mean,
                        norm, file, str(checksum) if checksum else None)  # fmt: skip


