"""Changes as one unified diff that `git apply` and `patch -p1` take, in the files' own bytes.

A line of a patch ends at a line feed only: the carriage return of CRLF belongs to the line, and a file without
a last line feed says so. Lines are compared as bytes, so BOM and encoding stay what they are.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from ascend_workbook.migration.rewrite.change import Change

NO_NEWLINE = b"\n\\ No newline at end of file\n"
#: Characters that a name in a patch can hold only between quotes, as C writes them.
ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def make_patch(changes: Iterable[Change]) -> bytes:
    """Make one patch for all files, with `a/` and `b/` before the names."""
    return b"".join(line for change in changes for line in _of_one(change))


def show_patch(changes: Iterable[Change]) -> str:
    """Show the patch to people: undecodable bytes are replaced."""
    return make_patch(changes).decode("utf-8", "replace")


def _of_one(change: Change) -> Iterator[bytes]:
    before, after = _split_lines(change.before), _split_lines(change.after)
    names = _quote_name(f"a/{change.name}"), _quote_name(f"b/{change.name}")
    for line in difflib.diff_bytes(difflib.unified_diff, before, after, *names, lineterm=b"\n"):
        yield line if line.endswith(b"\n") else line + NO_NEWLINE


def _split_lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _quote_name(name: str) -> bytes:
    """A name with a space ends in a tab, one with a quote or control character stands between quotes."""
    if any(character in ESCAPED or ord(character) < 32 for character in name):
        return ('"' + "".join(ESCAPED.get(letter, letter) for letter in name) + '"').encode("utf-8", "surrogateescape")
    return (name + "\t" * (" " in name)).encode("utf-8", "surrogateescape")
