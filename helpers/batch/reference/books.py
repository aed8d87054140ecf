"""A notebook as a reference keeps it: nothing of the machine, nothing of papermill, execution counts present."""

from __future__ import annotations

import ast
import json
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[3]
#: Metadata that belongs to one execution on one machine.
VOLATILE = ("papermill", "execution", "widgets")
#: Shorter ones are words of their own: / or /w must not be cut out of a text.
SHORTEST = 5
Book = dict[str, Any]


def load(path: Path) -> Book:
    """Raises OSError, ValueError or KeyError for what is no notebook."""
    book: Book = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(book["cells"], list) or book.get("nbformat") != 4:
        raise ValueError("no notebook of format 4")
    return book


def places(run: Path) -> dict[str, str]:
    """Texts of this machine and what stands for them, the longest first."""
    known = {str(run): "<RUN>", str(PROJECT): "<PROJECT>", str(Path.home()): "<HOME>", sys.prefix: "<PYTHON>",
             tempfile.gettempdir(): "<TMP>", socket.gethostname(): "<HOST>"}  # fmt: skip
    found = {text: word for text, word in known.items() if len(text) >= SHORTEST or text == tempfile.gettempdir()}
    return dict(sorted(found.items(), key=lambda one: -len(one[0])))


def cleaned(book: Book, words: Mapping[str, str]) -> Book:
    """The notebook without volatile metadata, warnings on stderr and the machine's places."""
    metadata = {name: one for name, one in book["metadata"].items() if name == "kernelspec"}
    cells = [_cell(cell, number, words) for number, cell in enumerate(book["cells"])]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cell(cell: Book, number: int, words: Mapping[str, str]) -> Book:
    metadata = {name: one for name, one in cell["metadata"].items() if name not in VOLATILE}
    kept = {**cell, "metadata": metadata, "id": f"cell{number}", "source": _replaced(_text(cell["source"]), words)}
    if cell["cell_type"] == "code":
        outputs = [one for one in cell.get("outputs", ()) if one.get("name") != "stderr"]
        kept["outputs"] = [_replaced(one, words) for one in outputs]
    return kept


def _replaced(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _replaced(one, words) for name, one in value.items()}
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return _replaced("".join(value), words)
    if isinstance(value, list):
        return [_replaced(one, words) for one in value]
    for text, word in words.items() if isinstance(value, str) else ():
        value = value.replace(text, word)
    return value


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def code(book: Book) -> list[Book]:
    """The code cells."""
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def given(book: Book) -> dict[str, Any] | None:
    """The parameters that papermill injected; None where the notebook has no such cell."""
    for cell in code(book):
        if "injected-parameters" in cell["metadata"].get("tags", ()):
            nodes = [node for node in ast.parse(_text(cell["source"])).body if isinstance(node, ast.Assign)]
            return {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in nodes}
    return None


def sources(book: Book) -> list[str]:
    """The code, less the injected parameters: their values are held against each other by name."""
    cells = code(book)
    return [_text(cell["source"]) for cell in cells if "injected-parameters" not in cell["metadata"].get("tags", ())]


def unrun(book: Book) -> int:
    """The number of code cells without an execution count: nbval would compare nothing there, and say nothing."""
    return sum(cell.get("execution_count") is None and bool(_text(cell["source"]).strip()) for cell in code(book))
