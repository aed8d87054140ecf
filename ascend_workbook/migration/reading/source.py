"""One Python file as the migration sees it: its text to the letter, its tree, and what its names mean.

Offsets are code points of `text`. `ast` counts columns in UTF-8 bytes, so a Chinese character on the line
shifts every column behind it: all positions go through `Source.offset_at`.
"""

from __future__ import annotations

import ast
import codecs
import hashlib
import io
import re
import threading
import tokenize
import warnings
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TypeVar, Union

from ascend_workbook.findings.finding import Edit, Place
from ascend_workbook.migration.reading.names import Names
from ascend_workbook.migration.reading.undecoded import (
    PYTHON_2,
    UNREADABLE,
    Unreadable,
    explain_undecoded_byte,
    find_declared_encoding,
    is_python_2,
    refuse_binary,
    refuse_large,
)

Node = TypeVar("Node", bound=ast.AST)
Import = Union[ast.Import, ast.ImportFrom]
#: The line ends Python knows; str.splitlines would also split at form feeds and U+2028.
LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Source:
    """A parsed file. `path` is how reports call it; `text` has no BOM but keeps its line ends."""

    path: str
    text: str
    tree: ast.Module
    encoding: str = "utf-8"
    bom: bytes = b""
    file: Path | None = None

    @property
    def sha256(self) -> str:
        """Hash the text: edits are good for this text only."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def folders(self) -> list[Path]:
        """The folders that the file lies in, from the inside out."""
        return list(self.file.resolve().parents if self.file else Path(self.path).parents)

    @cached_property
    def _packages(self) -> dict[str, bool]:
        return {}

    def is_of(self, package: str, *, beside: bool = True) -> bool:
        """Whether the file is part of a package, or the package's sources lie `beside` it."""
        if any(folder.name == package for folder in self.folders):
            return True
        if not self.file or not beside:
            return False
        if package not in self._packages:
            near = (folder / package / "__init__.py" for folder in self.folders[:8])
            self._packages[package] = any(file.is_file() for file in near)
        return self._packages[package]

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset at which each line begins; index 0 is line 1."""
        if "\r" not in self.text:
            return [0, *accumulate(map((1).__add__, map(len, self.text.split("\n")[:-1])))]
        return [0, *(end.end() for end in LINE_END.finditer(self.text))]

    @cached_property
    def line_end(self) -> str:
        """The file's first line end, or a plain one."""
        end = LINE_END.search(self.text)
        return end.group() if end else "\n"

    @cached_property
    def names(self) -> Names:
        """Resolve the names of the tree. Raises Unreadable where the tree nests too deeply."""
        try:
            return Names(self.tree)
        except RecursionError as cause:
            raise Unreadable(str(cause)) from cause

    def nodes_of_type(self, kind: type[Node]) -> list[Node]:
        """Return all nodes of one type, in the order of the text."""
        return self.names.by_type.get(kind, [])  # type: ignore[return-value]

    @cached_property
    def imports(self) -> list[Import]:
        """Every `import`, then every `from ... import`."""
        return [*self.nodes_of_type(ast.Import), *self.nodes_of_type(ast.ImportFrom)]

    @cached_property
    def strings(self) -> list[tuple[ast.Constant, str]]:
        """Every string constant with its value; rules look at the value first, which most have no use for."""
        constants = self.nodes_of_type(ast.Constant)
        return [(node, node.value) for node in constants if node.value.__class__ is str]

    def read_line(self, number: int) -> str:
        """A line by its number from 1, without its end."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def offset_at(self, line: int, byte_column: int) -> int:
        """The code point at a line (from 1) and an `ast` column (bytes from 0)."""
        return self.line_starts[line - 1] + _count_characters(self.read_line(line), byte_column)

    def span_of(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node stands in the text."""
        line, end_line = getattr(node, "lineno", 0), getattr(node, "end_lineno", None)
        if not line or not end_line:
            raise ValueError(f"{type(node).__name__} has no place in {self.path}")
        return self.offset_at(line, node.col_offset), self.offset_at(end_line, node.end_col_offset)  # type: ignore[attr-defined]

    def text_of(self, node: ast.AST) -> str:
        """The node's text as the author wrote it."""
        start, end = self.span_of(node)
        return self.text[start:end]

    def place_at(self, offset: int) -> Place:
        """Return the place of an offset."""
        line = bisect_right(self.line_starts, offset)
        return Place(self.path, line, offset - self.line_starts[line - 1] + 1)

    def place_of(self, node: ast.AST) -> Place:
        """Line and column, both from 1, the column in characters."""
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        if not line:
            raise ValueError(f"{type(node).__name__} has no place in {self.path}")
        return Place(self.path, line, _count_characters(self.read_line(line), column) + 1)

    def replace_text(self, node: ast.AST, expected: str, text: str) -> tuple[Edit, ...]:
        """An edit of the node's last letters `expected`, or none where the text is not what the tree says.

        Before Python 3.12 nodes inside an f-string carry wrong columns: such a span must not be edited."""
        _, end = self.span_of(node)
        start = end - len(expected)
        return (Edit(start, end, text),) if self.text[start:end] == expected else ()

    def encode_text(self, text: str) -> bytes:
        """A text as this file would hold it: same encoding, same BOM."""
        return self.bom + text.encode(self.encoding)


def _count_characters(line: str, byte_column: int) -> int:
    """How many characters stand before an `ast` column of a line."""
    if line.isascii():
        return byte_column
    return len(line.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "surrogatepass"))


#: One thread parses at a time: in some versions of Python several count the depth of their trees together (CPython's
#: issue 106905), and the filter of warnings is all threads' own.
PARSING = threading.Lock()


def parse_text(
    text: str, path: str = "<text>", *, encoding: str = "utf-8", bom: bytes = b"", file: Path | None = None
) -> Source:
    """Parse a text as a Source. Raises Unreadable with the line where Python cannot read it."""
    try:
        with PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are the script's own business
            tree = ast.parse(text)
    except SyntaxError as cause:
        line, message = cause.lineno or 0, cause.msg or "syntax error"
        key = PYTHON_2 if is_python_2(message, LINE_END.split(text)[line - 1 : line]) else UNREADABLE
        raise Unreadable(message, line, key) from cause
    except (ValueError, RecursionError, MemoryError) as cause:
        raise Unreadable(str(cause) or type(cause).__name__) from cause
    return Source(path, text, tree, encoding, bom, file)


def decode_bytes(data: bytes) -> tuple[str, str, bytes]:
    """Text, encoding and BOM of a file's bytes, by PEP 263. Raises Unreadable."""
    refuse_binary(data)
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        encoding = "utf-8"
        if b"coding" in b"".join(data.split(b"\n", 2)[:2]):
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            encoding = encoding.replace("utf-8-sig", "utf-8")
        return data[len(bom) :].decode(encoding), encoding, bom
    except UnicodeDecodeError as cause:
        raise explain_undecoded_byte(data, len(bom) + cause.start, encoding) from cause
    except (SyntaxError, LookupError) as cause:
        raise _explain_coding_error(data, str(cause)) from cause


def _explain_coding_error(data: bytes, error: str) -> Unreadable:
    """A coding line that cannot be followed; tokenize says the same of UTF-8 with a wrong byte in the first lines."""
    named = find_declared_encoding(data)
    try:
        is_utf_8 = not named or codecs.lookup(named).name == "utf-8"
    except LookupError:
        is_utf_8 = False
    if is_utf_8:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as wrong:
            return explain_undecoded_byte(data, wrong.start, named or "utf-8")
    return Unreadable(error, key="unreadable.coding", name=named or "?")  # no encoding of text, or the BOM's is another


def read_source(file: Path, path: str | None = None) -> Source:
    """Read a file as a Source. Raises Unreadable where it cannot be decoded or parsed, OSError where not read."""
    refuse_large(file.stat().st_size)
    text, encoding, bom = decode_bytes(file.read_bytes())
    return parse_text(text, path or file.name, encoding=encoding, bom=bom, file=file)
