"""Code cells of a notebook: the Python rules on all cells together, shell commands by the rules of scripts.

Names run on from cell to cell, so the cells are judged as one text. A place is the cell, counted from 1 over all
cells as Jupyter shows them, and the line in it: `train.ipynb#cell3:2`. Edits are not offered: the file is JSON.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from helpers.finding import Finding, Place, Status
from helpers.migration.knowledge import dress
from helpers.migration.registry import wanted
from helpers.migration.source import Source, Unreadable, parse
from helpers.migration.texts import shell
from helpers.rules import judge
from helpers.words import Scalar

#: A line magic, a shell command or a help request.
MAGIC = re.compile(r"^(\s*)([%!?]|.*\?\s*$)")
#: Cell magics whose body is not this notebook's Python.
FOREIGN = re.compile(r"^\s*%%(?!time|timeit|capture|prun)(\w+)")
SHELLS = {"bash", "sh", "script", "system"}


def scan(data: bytes, name: str) -> list[Finding]:
    """The findings of a notebook's bytes, cell by cell. Raises Unreadable where it is no notebook."""
    text = ""
    at: list[tuple[str, int]] = []
    found: list[Finding] = []
    for number, code in _cells(data):
        place = f"{name}#cell{number}"
        found += _commands(code, place)
        python = _python(code)
        error = _broken(python)
        if error:
            args: dict[str, Scalar] = {"path": place, "line": error.lineno or 0, "error": error.msg}
            found.append(Finding("MIG100", Status.SKIPPED, "MIG100.unreadable", args, Place(place, error.lineno or 0)))
            continue
        lines = python.split("\n")
        at += [(place, line) for line in range(1, len(lines) + 1)]
        text += python + "\n"
    return sorted(
        (*found, *_judge(text, name, at)),
        key=lambda f: (_number(f), f.place.line, f.place.column, f.rule) if f.place else (0, 0, 0, f.rule),
    )


def _judge(text: str, name: str, at: list[tuple[str, int]]) -> Iterator[Finding]:
    rules = wanted(text.encode("utf-8", "surrogatepass"))
    source = parse(text, name) if rules else None
    for rule in rules:
        for finding in judge(source, {rule.code: rule.check}):
            place = finding.place
            if place:
                cell, line = at[place.line - 1]
                yield dress(replace(finding, place=Place(cell, line, place.column), edits=()), rule.known)
            else:
                yield finding


def _cells(data: bytes) -> Iterator[tuple[int, str]]:
    try:
        content: dict[str, Any] = json.loads(data)
        sheet = content if "cells" in content else content["worksheets"][0]  # worksheets: before version 4
        cells: list[dict[str, Any]] = list(sheet["cells"])
    except (ValueError, KeyError, IndexError, TypeError) as cause:
        raise Unreadable(f"no notebook: {cause}") from cause
    for number, cell in enumerate(cells, 1):
        if cell.get("cell_type") == "code":
            code = cell.get("source", cell.get("input", ""))
            yield number, "".join(code) if isinstance(code, list) else str(code)


def _python(code: str) -> str:
    """The cell with its magics as `pass`, so that lines and columns stay."""
    if FOREIGN.match(code):
        return "\n" * code.count("\n")
    return "\n".join(_plain(line) for line in re.split(r"\r\n|\r|\n", code))


def _plain(line: str) -> str:
    magic = MAGIC.match(line)
    if not magic or line.lstrip().startswith(("#", "'", '"')):
        return line
    return magic.group(1) + "pass"


def _broken(python: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(python)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error))
    return None


def _commands(code: str, place: str) -> Iterator[Finding]:
    """`!nvidia-smi`, `%env CUDA_VISIBLE_DEVICES=0`, and the lines of a %%bash cell."""
    foreign = FOREIGN.match(code)
    source = Source(place, code, ast.Module([], []))
    for number, start in enumerate(source.line_starts, 1):
        line = source.line(number)
        if (foreign and foreign.group(1) in SHELLS) or re.match(r"\s*(!|%env\b|%sx\b|%system\b)", line):
            for finding in shell.judge_line(source, start, line.replace("!", " ", 1)):
                yield dress(replace(finding, edits=()), shell.KNOWN)


def _number(finding: Finding) -> int:
    return int(finding.place.path.rpartition("#cell")[2] or 0) if finding.place else 0
