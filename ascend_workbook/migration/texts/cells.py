"""Where a notebook's cell sources stand in its JSON, so that an edit changes their characters and no other byte.

A cell's source is one JSON string or a list of them. Each character of the decoded text has its place in the file;
an edit replaces the places of the characters it covers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ascend_workbook.findings.finding import Edit
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.migration.reading.undecoded import Unreadable

SPACE = re.compile(r"[ \t\r\n]*")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
PLAIN = re.compile(r"[^\s,\]}]+")
UNIT = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """A code cell: its number from 1 over all cells, its text, and the place of each character in the file.

    `ends` closes the place of the last character of each string; `places[i]` is (start, end).
    """

    number: int
    code: str
    places: list[tuple[int, int]]
    after: int


def read_code_cells(text: str) -> list[Cell]:
    """Read the code cells with a source. Raises Unreadable where the text is no notebook."""
    try:
        content = json.loads(text)
        key = "cells" if "cells" in content else "worksheets"
        sheet = content["cells"] if key == "cells" else content["worksheets"][0]["cells"]
        path: tuple[str | int, ...] = ("cells",) if key == "cells" else ("worksheets", 0, "cells")
        kinds = [(cell.get("cell_type"), "source" if "source" in cell else "input") for cell in sheet]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as cause:
        raise Unreadable(Sentence("migration.unread.no_notebook")) from cause
    strings = _find_strings(text)
    code_cells = []
    for at, (kind, field) in enumerate(kinds):
        inside = (*path, at, field)
        parts = [span for where, span in strings if where == inside or where[:-1] == inside and type(where[-1]) is int]
        if kind == "code" and parts:
            code_cells.append(_make_cell(text, at + 1, parts))
    return code_cells


def move_edits(text: str, cell: Cell, edits: Iterable[Edit]) -> list[Edit]:
    """Edits of the cell's code as edits of the file."""
    plain = text.isascii()
    file_edits: list[Edit] = []
    for change in edits:
        new = json.dumps(change.text, ensure_ascii=plain)[1:-1]
        covered = cell.places[change.start : change.end]
        if not covered:
            at = cell.places[change.start][0] if change.start < len(cell.places) else cell.after
            file_edits.append(Edit(at, at, new))
            continue
        for place in reversed(covered[1:]):
            file_edits.append(Edit(*place, ""))
        file_edits.append(Edit(*covered[0], new))
    return file_edits


def _make_cell(text: str, number: int, parts: list[tuple[int, int]]) -> Cell:
    code: list[str] = []
    places: list[tuple[int, int]] = []
    after = parts[-1][1] - 1
    for start, end in parts:
        for unit in UNIT.finditer(text, start + 1, end - 1):
            letters = json.loads(f'"{unit.group()}"', strict=False)
            code.append(letters)
            places.append(unit.span())
    return Cell(number, "".join(code), places, after)


def _find_strings(text: str) -> list[tuple[tuple[str | int, ...], tuple[int, int]]]:
    """Every string value with the keys and indices that lead to it. `text` is valid JSON."""
    strings_with_path: list[tuple[tuple[str | int, ...], tuple[int, int]]] = []
    path: list[str | int] = []
    key = False
    at = 0
    while True:
        match = SPACE.match(text, at)
        at = match.end() if match else at
        if at >= len(text):
            return strings_with_path
        letter = text[at]
        if letter in "{[":
            path.append("" if letter == "{" else 0)
            key, at = letter == "{", at + 1
        elif letter in "}]":
            path.pop()
            key, at = False, at + 1
        elif letter == ",":
            last = path[-1]
            key = isinstance(last, str)
            path[-1] = "" if isinstance(last, str) else last + 1
            at += 1
        elif letter == ":":
            key, at = False, at + 1
        elif letter == '"':
            string = STRING.match(text, at)
            assert string is not None
            if key:
                path[-1] = json.loads(string.group(), strict=False)
            else:
                strings_with_path.append((tuple(path), string.span()))
            at = string.end()
        else:
            plain = PLAIN.match(text, at)
            assert plain is not None
            at = plain.end()
