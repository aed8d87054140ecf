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


def load_book(path: Path) -> Book:
    """Load a notebook. Raises OSError, ValueError or KeyError for what is no notebook."""
    book: Book = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(book["cells"], list) or book.get("nbformat") != 4:
        raise ValueError("no notebook of format 4")
    return book


def machine_places(run: Path) -> dict[str, str]:
    """Return the texts of this machine and what stands for them, the longest first."""
    places_known = {
        str(run): "<RUN>",
        str(PROJECT): "<PROJECT>",
        str(Path.home()): "<HOME>",
        sys.prefix: "<PYTHON>",
        tempfile.gettempdir(): "<TMP>",
        socket.gethostname(): "<HOST>",
    }
    replacements = {
        text: word for text, word in places_known.items() if len(text) >= SHORTEST or text == tempfile.gettempdir()
    }
    return dict(sorted(replacements.items(), key=lambda pair: -len(pair[0])))


def clean_book(book: Book, words: Mapping[str, str]) -> Book:
    """Clean a notebook of volatile metadata, warnings on stderr and the machine's places."""
    metadata = {name: content for name, content in book["metadata"].items() if name == "kernelspec"}
    cells = [_clean_cell(cell, number, words) for number, cell in enumerate(book["cells"])]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _clean_cell(cell: Book, number: int, words: Mapping[str, str]) -> Book:
    metadata = {name: content for name, content in cell["metadata"].items() if name not in VOLATILE}
    cleaned_cell = {
        **cell,
        "metadata": metadata,
        "id": f"cell{number}",
        "source": _replace_places(_join_source(cell["source"]), words),
    }
    if cell["cell_type"] == "code":
        outputs = [content for content in cell.get("outputs", ()) if content.get("name") != "stderr"]
        cleaned_cell["outputs"] = [_replace_places(content, words) for content in outputs]
    return cleaned_cell


def _replace_places(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _replace_places(part, words) for name, part in value.items()}
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return _replace_places("".join(value), words)
    if isinstance(value, list):
        return [_replace_places(part, words) for part in value]
    for text, word in words.items() if isinstance(value, str) else ():
        value = value.replace(text, word)
    return value


def _join_source(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def code_cells(book: Book) -> list[Book]:
    """Return the code cells."""
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def injected_parameters(book: Book) -> dict[str, Any] | None:
    """Return the parameters that papermill injected; None where the notebook has no such cell."""
    for cell in code_cells(book):
        if "injected-parameters" in cell["metadata"].get("tags", ()):
            nodes = [node for node in ast.parse(_join_source(cell["source"])).body if isinstance(node, ast.Assign)]
            return {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in nodes}
    return None


def read_sources(book: Book) -> list[str]:
    """Return the code of the cells, less the injected parameters. Their values are compared by name."""
    cells = code_cells(book)
    return [
        _join_source(cell["source"]) for cell in cells if "injected-parameters" not in cell["metadata"].get("tags", ())
    ]


def count_unrun(book: Book) -> int:
    """Count the code cells without an execution count. nbval would compare nothing there, and say nothing."""
    return sum(
        cell.get("execution_count") is None and bool(_join_source(cell["source"]).strip()) for cell in code_cells(book)
    )
