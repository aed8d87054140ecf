"""stack.json and construct.json of msprobe: where in the script an operator was called, and which module holds it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Place

FRAME = re.compile(r"File (?P<file>.+?), line (?P<line>\d+)")
#: Frames of the libraries and of our launcher say nothing about the user's script.
LIBRARIES = ("/site-packages/", "/dist-packages/", "/ascend_workbook/machine/launch/child/")


def read_places(content: Any, root: Path | None) -> dict[str, Place]:
    """Map each operator name to the innermost frame that is not a library's. Raises TypeError, AttributeError or
    ValueError where the content is no stack.json."""
    by_operator: dict[str, Place] = {}
    for names, frames in _iterate_stacks(content):
        file_lines = ((match["file"], match["line"]) for frame in frames if (match := FRAME.match(frame.strip())))
        place = find_innermost_place(file_lines, root)
        if place:
            by_operator.update(dict.fromkeys(names, place))
    return by_operator


def find_innermost_place(frames: Iterable[tuple[str, str]], root: Path | None) -> Place | None:
    """Find the first frame (file and line) of the user's script, told relative to `root` where it lies in it."""
    for file, line in frames:
        if not any(library in file for library in LIBRARIES):
            path = Path(file)
            near = root is not None and path.is_relative_to(root)
            return Place(str(path.relative_to(root) if near and root else path), int(line))
    return None


def find_containers(content: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Find the entries that another entry names as its parent, and those of them whose children are APIs only. Raises
    TypeError where the content is no construct.json; at level L1 it is `{}`."""
    if not isinstance(content, dict):
        raise TypeError(f"{type(content).__name__} at the top")
    parents = {child: _parent_name(value) for child, value in content.items()}
    holders = frozenset(parent for parent in parents.values() if parent)
    branches = {parent for child, parent in parents.items() if child.startswith(("Module.", "Cell."))}
    return holders, holders - branches


def _iterate_stacks(content: Any) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the names that share a stack, and its frames. Before 8.3 each name had its own: {name: frames}."""
    for key, value in content.items():
        grouped = len(value) == 2 and isinstance(value[0], list)
        yield (value[0], value[1]) if grouped else ([key], value)


def _parent_name(value: Any) -> str | None:
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, str) else None
