"""msprobe's dump folders, 8.x and 26.x: `step<N>/{rank<R>|proc<PID>}/{dump,stack,construct}.json`, of level debug
debug.json, and the tensors in `dump_tensor_data/`. A capture of ours has edges.json beside them.

msprobe writes bare NaN and Infinity into its JSON, which Python's reader takes. Sources: mindstudio-probe 26.2.0,
msprobe/core/dump/data_dump; for 8.x
https://gitcode.com/Ascend/mstt/blob/master/debug/accuracy_tools/msprobe/docs/05.data_dump_PyTorch.md"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Place
from ascend_workbook.precision.layouts import folders
from ascend_workbook.precision.layouts.entries import (
    find_containers,
    read_modules,
    read_operator,
    read_places,
    read_sources,
    rename_parameters,
    saved_operator,
)
from ascend_workbook.precision.layouts.salvage import whole
from ascend_workbook.precision.record import Module, Run
from ascend_workbook.storage import Storage

NAME = "msprobe"
#: Level debug has DEBUG in place of DUMP: what the script itself gave to PrecisionDebugger.save.
DEBUG = "debug.json"
MINDSPORE = "mindspore"
DUMP, STACK, CONSTRUCT, TENSORS = "dump.json", "stack.json", "construct.json", "dump_tensor_data"
#: What made each call's inputs; msprobe itself writes none.
EDGES = "edges.json"
#: What content of another shape raises when it is read.
ODD = (KeyError, TypeError, ValueError, AttributeError)


def recognises(storage: Storage) -> bool:
    """Whether the folder, or a rank's folder in it, has one of msprobe's JSON files."""
    return any(_has_dump(storage, name) for name in ("", *folders.find_rank_folders(storage)))


def read(storage: Storage, root: Path | None) -> tuple[list[Run], list[WorkbookError]]:
    """Read every rank of every step, and return what could not be read as errors."""
    folder_names = [""] if _has_dump(storage, "") else list(folders.find_rank_folders(storage))
    single = folders.reject_ambiguous(storage, folder_names, partial(folders.step_and_rank_of, storage))
    return folders.read_each_run(single, lambda name, troubles: _read_rank(storage, name, root, troubles))


def _has_dump(storage: Storage, name: str) -> bool:
    return not {DUMP, STACK, CONSTRUCT, DEBUG}.isdisjoint(storage.list_children(name))


def _read_rank(storage: Storage, name: str, root: Path | None, troubles: list[WorkbookError]) -> Run:
    """Read one rank's folder. A broken file beside dump.json goes to the troubles and the run is read without it; of a
    dump.json that was cut short the whole entries are taken, and that is told."""
    debug = storage.exists(f"{name}{DEBUG}") and not storage.exists(f"{name}{DUMP}")
    record = f"{name}{DEBUG if debug else DUMP}"
    content, cut = _read_dump(storage, record)
    beside = _read_files_beside(storage, name, root, troubles)
    files = storage.local_path(f"{name}{TENSORS}")
    try:
        data = content["data"].items()
        make_operator = (
            saved_operator if debug else partial(read_operator, places=beside.places, modules=beside.modules)
        )
        operators = tuple(make_operator(key, entry, order, files) for order, (key, entry) in enumerate(data))
        framework = str(content.get("framework", "")).lower()
        if framework == MINDSPORE:
            operators = tuple(map(rename_parameters, operators))
        run = Run(
            files.parent,
            *folders.step_and_rank_of(storage, name),
            str(content["task"]),
            str(content["level"]),
            operators,
            *beside.containers,
            cut=cut is not None,
            replayable=not debug and framework != MINDSPORE,
            around=beside.around,
            sources=beside.sources,
        )
        run.check()
    except ODD as cause:
        raise _malformed_error(storage, record, cause) from cause
    if cut is not None:
        troubles.append(cut)
    return run


def _read_dump(storage: Storage, name: str) -> tuple[Any, WorkbookError | None]:
    """Read the content, and where it is only the part before the damage, the error that tells so."""
    text = _read_text(storage, name)
    try:
        return _parse_json(storage, name, text), None
    except WorkbookError as cause:
        content = whole(text) if cause.key == "precision.json_cut" else {}
        if not content.get("data"):
            raise
        args = {**cause.arguments, "count": len(content["data"])}
        return content, WorkbookError("precision.json_salvaged", **args)


@dataclass
class Beside:
    """What the files beside dump.json tell: of stack.json, construct.json and edges.json."""

    places: dict[str, Place] = field(default_factory=dict)
    containers: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    modules: dict[str, Module] = field(default_factory=dict)
    around: dict[Module, Module | None] = field(default_factory=dict)
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)


def _read_files_beside(storage: Storage, name: str, root: Path | None, troubles: list[WorkbookError]) -> Beside:
    beside = Beside()
    for file in (STACK, CONSTRUCT, EDGES):
        if not storage.exists(f"{name}{file}"):
            continue
        try:
            content = _parse_json(storage, f"{name}{file}", _read_text(storage, f"{name}{file}"))
            if file == STACK:
                beside.places = read_places(content, root)
            elif file == CONSTRUCT:
                beside.containers = find_containers(content)
                beside.modules, beside.around = read_modules(content)
            else:
                beside.sources = read_sources(content)
        except WorkbookError as cause:
            troubles.append(cause)
        except ODD as cause:
            troubles.append(_malformed_error(storage, f"{name}{file}", cause))
    return beside


def _read_text(storage: Storage, name: str) -> str:
    try:
        return storage.read_text(name)
    except (OSError, UnicodeDecodeError) as cause:
        raise WorkbookError("precision.json_unreadable", path=storage.describe_place(name), error=str(cause)) from cause


def _parse_json(storage: Storage, name: str, text: str) -> Any:
    path = storage.describe_place(name)
    try:
        return json.loads(text)
    except json.JSONDecodeError as cause:
        raise WorkbookError("precision.json_cut", path=path, line=cause.lineno, error=cause.msg) from cause
    except (RecursionError, ValueError) as cause:  # nested too deep, or a number of too many digits
        raise WorkbookError("precision.json_unreadable", path=path, error=str(cause)) from cause


def _malformed_error(storage: Storage, name: str, cause: BaseException) -> WorkbookError:
    return WorkbookError("precision.dump_malformed", path=storage.describe_place(name), error=repr(cause))
