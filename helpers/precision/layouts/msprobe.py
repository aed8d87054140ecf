"""msprobe's dump folders, 8.x and 26.x: `step<N>/{rank<R>|proc<PID>}/{dump,stack,construct}.json`, of level debug
debug.json, and the tensors in `dump_tensor_data/`.

msprobe writes bare NaN and Infinity into its JSON, which Python's reader takes. Sources: mindstudio-probe 26.2.0,
msprobe/core/dump/data_dump; for 8.x
https://gitcode.com/Ascend/mstt/blob/master/debug/accuracy_tools/msprobe/docs/05.data_dump_PyTorch.md
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.finding import Place
from helpers.precision.layouts import folders, salvage, stacks
from helpers.precision.layouts.entries import operator, saved
from helpers.precision.record import Run
from helpers.storage import Storage

NAME = "msprobe"
#: Level debug has DEBUG in place of DUMP: what the script itself gave to PrecisionDebugger.save.
DEBUG = "debug.json"
DUMP, STACK, CONSTRUCT, TENSORS = "dump.json", "stack.json", "construct.json", "dump_tensor_data"
#: What content of another shape raises when it is read.
ODD = (KeyError, TypeError, ValueError, AttributeError)


def recognises(storage: Storage) -> bool:
    """Whether the folder, or a rank's folder in it, has one of msprobe's JSON files."""
    return any(_marked(storage, name) for name in ("", *folders.below(storage)))


def read(storage: Storage, root: Path | None) -> tuple[list[Run], list[WorkbookError]]:
    """Every rank of every step, and what could not be read."""
    found = [""] if _marked(storage, "") else list(folders.below(storage))
    single = folders.unambiguous(storage, found, partial(folders.of, storage))
    return folders.each(single, lambda name, troubles: _run(storage, name, root, troubles))


def _marked(storage: Storage, name: str) -> bool:
    return not {DUMP, STACK, CONSTRUCT, DEBUG}.isdisjoint(storage.children(name))


def _run(storage: Storage, name: str, root: Path | None, troubles: list[WorkbookError]) -> Run:
    """One rank's folder. A broken stack.json or construct.json goes to the troubles and the run is read without it; of
    a dump.json that was cut short the whole entries are taken, and that is told."""
    debug = storage.exists(f"{name}{DEBUG}") and not storage.exists(f"{name}{DUMP}")
    record = f"{name}{DEBUG if debug else DUMP}"
    content, cut = _dump(storage, record)
    places, containers, leaves = _around(storage, name, root, troubles)
    files = storage.local(f"{name}{TENSORS}")
    try:
        data = content["data"].items()
        made = saved if debug else partial(operator, places=places)
        operators = tuple(made(key, entry, order, files) for order, (key, entry) in enumerate(data))
        run = Run(files.parent, *folders.of(storage, name), str(content["task"]), str(content["level"]), operators,
                  containers, leaves, cut=cut is not None, replayable=not debug)  # fmt: skip
        run.check()
    except ODD as cause:
        raise _malformed(storage, record, cause) from cause
    if cut is not None:
        troubles.append(cut)
    return run


def _dump(storage: Storage, name: str) -> tuple[Any, WorkbookError | None]:
    """The content, and where it is only the part before the damage, the error that tells so."""
    text = _text(storage, name)
    try:
        return _parsed(storage, name, text), None
    except WorkbookError as cause:
        content = salvage.whole(text) if cause.key == "precision.json_cut" else {}
        if not content.get("data"):
            raise
        args = {**cause.arguments, "count": len(content["data"])}
        return content, WorkbookError("precision.json_salvaged", **args)


def _around(storage: Storage, name: str, root: Path | None,
            troubles: list[WorkbookError]) -> tuple[dict[str, Place], frozenset[str], frozenset[str]]:  # fmt: skip
    places: dict[str, Place] = {}
    modules: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    for file in (STACK, CONSTRUCT):
        if not storage.exists(f"{name}{file}"):
            continue
        try:
            content = read_json(storage, f"{name}{file}")
            if file == STACK:
                places = stacks.places(content, root)
            else:
                modules = stacks.containers(content)
        except WorkbookError as cause:
            troubles.append(cause)
        except ODD as cause:
            troubles.append(_malformed(storage, f"{name}{file}", cause))
    return places, *modules


def read_json(storage: Storage, name: str) -> Any:
    """A JSON file; missing, cut short or not text is one error that names the file and the place."""
    return _parsed(storage, name, _text(storage, name))


def _text(storage: Storage, name: str) -> str:
    try:
        return storage.read_text(name)
    except (OSError, UnicodeDecodeError) as cause:
        raise WorkbookError("precision.json_unreadable", path=storage.shown(name), error=str(cause)) from cause


def _parsed(storage: Storage, name: str, text: str) -> Any:
    path = storage.shown(name)
    try:
        return json.loads(text)
    except json.JSONDecodeError as cause:
        raise WorkbookError("precision.json_cut", path=path, line=cause.lineno, error=cause.msg) from cause
    except (RecursionError, ValueError) as cause:  # nested too deep, or a number of too many digits
        raise WorkbookError("precision.json_unreadable", path=path, error=str(cause)) from cause


def _malformed(storage: Storage, name: str, cause: BaseException) -> WorkbookError:
    return WorkbookError("precision.dump_malformed", path=storage.shown(name), error=repr(cause))
