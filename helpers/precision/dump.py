"""Reads msprobe's dump folders (26.x): `step<N>/{rank<R>|proc<PID>}/{dump,stack,construct}.json` and .pt files.

msprobe writes bare NaN and Infinity into its JSON, which Python's reader takes. Format: mindstudio-probe 26.2.0,
msprobe/core/dump/data_dump.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.finding import Place
from helpers.precision import arguments
from helpers.precision.record import BACKWARD, FORWARD, PARAMETERS, Operator, Run, TensorRecord

#: Which part of an entry holds what; in a backward entry `input` is the gradient of the operator's output.
INPUTS = (("input_args", "input"), ("input_kwargs", "input"), ("input", "input"), ("parameters", "parameters"))
FRAME = re.compile(r"File (?P<file>.+?), line (?P<line>\d+)")
#: Frames of the libraries and of our launcher say nothing about the user's script.
LIBRARIES = ("/site-packages/", "/dist-packages/", "/helpers/launch/child/")


def read_dump(folder: Path, root: Path | None = None) -> list[Run]:
    """All runs in a dump folder, by step and rank. `folder` holds step folders, or is a step, or a rank folder.

    Places below `root` (the script's folder) are told relative to it.

    Raises WorkbookError where there is no dump, or where one of its files is cut short (naming file and place).
    """
    runs, troubles = read_runs(folder, root)
    if troubles:
        raise troubles[0]
    return runs


def read_runs(folder: Path, root: Path | None = None) -> tuple[list[Run], list[WorkbookError]]:
    """What can be read of a dump folder, by step and rank, and what could not. Raises WorkbookError where nothing
    can."""
    runs: list[Run] = []
    troubles: list[WorkbookError] = []
    for path in sorted(_dump_files(folder)):
        try:
            runs.append(read_run(path.parent, root, troubles))
        except WorkbookError as cause:
            troubles.append(cause)
    if not runs:
        raise troubles[0] if troubles else WorkbookError("precision.no_dump", path=str(folder))
    return sorted(runs, key=lambda run: (run.step, run.rank)), troubles


def read_run(folder: Path, root: Path | None = None, troubles: list[WorkbookError] | None = None) -> Run:
    """One rank's folder of one step. With `troubles`, a broken stack.json or construct.json goes there and the run is
    read without it; else it is raised, as a broken dump.json always is."""
    content = read_json(folder / "dump.json")
    try:
        places = _places(folder / "stack.json", root)
        containers, leaves = _containers(folder / "construct.json")
    except WorkbookError as cause:
        if troubles is None:
            raise
        troubles.append(cause)
        places, containers, leaves = {}, frozenset(), frozenset()
    files = folder / "dump_tensor_data"
    try:
        data = content["data"].items()
        operators = tuple(_operator(name, entry, order, files, places) for order, (name, entry) in enumerate(data))
        run = Run(folder, _number(folder.parent, "step"), _rank(folder), str(content["task"]),
                  str(content["level"]), operators, containers, leaves)  # fmt: skip
        run.check()
    except (KeyError, TypeError, ValueError, AttributeError) as cause:
        raise WorkbookError("precision.dump_malformed", path=str(folder / "dump.json"), error=repr(cause)) from cause
    return run


def read_json(path: Path) -> Any:
    """A JSON file; missing, cut short or not text is one error that names the file and the place."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as cause:
        raise WorkbookError("precision.json_cut", path=str(path), line=cause.lineno, error=cause.msg) from cause
    except (OSError, UnicodeDecodeError, RecursionError) as cause:
        raise WorkbookError("precision.json_unreadable", path=str(path), error=str(cause)) from cause


def split_name(name: str) -> tuple[str, str, int]:
    """Head, direction and call number of a name as msprobe gives it.

    APIs end in `<call>.<direction>` (`Functional.conv2d.0.forward`), modules in `<direction>.<call>`.
    """
    head, first, second = name.rsplit(".", 2)
    if second in (FORWARD, BACKWARD):
        return head, second, int(first)
    if first in (FORWARD, BACKWARD, PARAMETERS):
        return head, first, int(second)
    raise ValueError(f"{name}: expected <name>.<call>.<direction> or <name>.<direction>.<call>")


def _dump_files(folder: Path) -> Iterator[Path]:
    if (folder / "dump.json").is_file():
        yield folder / "dump.json"
        return
    steps = [folder] if folder.name.startswith("step") else sorted(folder.glob("step*"))
    for step in steps:
        for rank in sorted(step.iterdir()) if step.is_dir() else ():
            if rank.name.startswith(("rank", "proc")) and rank.is_dir():
                yield rank / "dump.json"  # a missing one is reported when it is read


def _operator(name: str, entry: Any, order: int, files: Path, places: dict[str, Place]) -> Operator:
    head, direction, call = split_name(name)
    if direction == PARAMETERS:
        outputs = tuple(_tensors(entry, "output", files))
        return Operator(name, head, call, direction, order, (), outputs, places.get(name))
    inputs = tuple(t for part, slot in INPUTS for t in _tensors(entry.get(part), slot, files))
    outputs = tuple(_tensors(entry.get("output"), "output", files))
    forward = name.replace(f".{BACKWARD}", f".{FORWARD}")
    plain = tuple(p for part in ("input_args", "input_kwargs") for p in arguments.plain(entry.get(part), "input"))
    place = places.get(name, places.get(forward))
    return Operator(name, head, call, direction, order, inputs, outputs, place, plain)


def _tensors(part: Any, slot: str, files: Path) -> Iterator[TensorRecord]:
    """Every tensor of a part, wherever it nests; scalars and None are passed over."""
    if isinstance(part, list):
        for index, item in enumerate(part):
            yield from _tensors(item, f"{slot}.{index}", files)
    elif isinstance(part, dict) and "type" not in part:
        for key, item in part.items():
            yield from _tensors(item, f"{slot}.{key}", files)
    elif isinstance(part, dict) and "shape" in part and "dtype" in part:
        yield _tensor(part, slot, files)


def _tensor(item: dict[str, Any], slot: str, files: Path) -> TensorRecord:
    name = item.get("data_name")
    if name is not None and (Path(name).name != name or name in ("", ".", "..")):
        raise ValueError(f"data_name {name!r} leaves the folder")
    numbers = [item.get(key) for key in ("Max", "Min", "Mean", "Norm")]
    values = [float(value) if isinstance(value, (int, float)) else None for value in numbers]
    maximum, minimum, mean, norm = values
    dtype = str(item["dtype"]).rpartition(".")[2]
    file = files / name if name else None
    return TensorRecord(slot, dtype, tuple(map(int, item["shape"])), maximum, minimum, mean, norm, file)


def _places(path: Path, root: Path | None) -> dict[str, Place]:
    """Operator name -> the innermost frame that is not a library's. Empty where there is no stack.json."""
    if not path.is_file():
        return {}
    content = read_json(path)
    places: dict[str, Place] = {}
    try:
        for names, frames in _stacks(content):
            place = next(filter(None, (_frame(frame, root) for frame in frames)), None)
            if place:
                places.update(dict.fromkeys(names, place))
    except (TypeError, AttributeError, ValueError) as cause:
        raise WorkbookError("precision.dump_malformed", path=str(path), error=repr(cause)) from cause
    return places


def _stacks(content: Any) -> Iterator[tuple[list[str], list[str]]]:
    """Names that share a stack, and its frames. Before 8.3 each name had its own: {name: frames}."""
    for key, value in content.items():
        grouped = len(value) == 2 and isinstance(value[0], list)
        yield (value[0], value[1]) if grouped else ([key], value)


def _frame(text: str, root: Path | None) -> Place | None:
    found = FRAME.match(text.strip())
    if not found or any(library in found["file"] for library in LIBRARIES):
        return None
    path = Path(found["file"])
    near = root is not None and path.is_relative_to(root)
    return Place(str(path.relative_to(root) if near and root else path), int(found["line"]))


def _containers(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Entries that another entry names as its parent, and those of them whose children are APIs only.

    Empty at level L1, where construct.json is `{}`.
    """
    if not path.is_file():
        return frozenset(), frozenset()
    content = read_json(path)
    if not isinstance(content, dict):
        raise WorkbookError("precision.dump_malformed", path=str(path), error=f"{type(content).__name__} at the top")
    parents = {child: _parent(value) for child, value in content.items()}
    holders = frozenset(parent for parent in parents.values() if parent)
    branches = {parent for child, parent in parents.items() if child.startswith(("Module.", "Cell."))}
    return holders, holders - branches


def _parent(value: Any) -> str | None:
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, str) else None


def _number(folder: Path, prefix: str) -> int:
    digits = folder.name[len(prefix) :]
    return int(digits) if folder.name.startswith(prefix) and digits.isdigit() else 0


def _rank(folder: Path) -> int:
    """`rank3` is 3; `proc<pid>` (no process group) is the only rank of its run."""
    return _number(folder, "rank")
