"""What `rewrite` would do to one file: its bytes before and after, and the edits between them."""

from __future__ import annotations

import ast
import difflib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import Findings, class_of
from ascend_workbook.migration.rewrite.entry import Ported

# What is gathered while a tree is rewritten.

INJECT, EXPLICIT = MODES = ("inject", "explicit")


@dataclass
class Work:
    """What is to be done for a tree."""

    where: Tree
    mode: str
    #: Files that are known to be started, whatever stands in them.
    scripts: frozenset[Path] = frozenset()
    changes: dict[str, Change] = field(default_factory=dict)
    left: list[Finding] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    #: Some file imports torch.
    torch: bool = False
    #: Places that run under transfer_to_npu only, and whether any file imports it.
    relying: list[Finding] = field(default_factory=list)
    imports: bool = False
    #: The scripts that import it (a notebook with its cells' tree), and those left without that load files by name.
    importing: list[tuple[Path, ast.Module | None]] = field(default_factory=list)
    loading: list[str] = field(default_factory=list)
    #: Which files say npu, and of the scripts around them those that are left so and those that still need cuda.
    ported: Ported = field(default_factory=Ported)
    already_npu: list[str] = field(default_factory=list)
    still_cuda: list[str] = field(default_factory=list)
    #: How many places of each class a scan finds in a file, and the file that is judged now.
    classes: dict[str, Counter[str]] = field(default_factory=dict)
    now: str = ""

    def count_scanned(self, scanned: list[Finding]) -> None:
        self.classes.setdefault(self.now, Counter()).update(map(class_of, scanned))


# Changes as one unified diff that `git apply` and `patch -p1` take, in the files' own bytes.

NO_NEWLINE = b"\n\\ No newline at end of file\n"
#: Characters that a name in a patch can hold only between quotes, as C writes them.
ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def make_patch(changes: Iterable[Change]) -> bytes:
    """Make one patch for all files, with `a/` and `b/` before the names."""
    patch = []
    for change in changes:
        before, after = list(BytesIO(change.before)), list(BytesIO(change.after))
        names = _quote_name(f"a/{change.name}"), _quote_name(f"b/{change.name}")
        lines = difflib.diff_bytes(difflib.unified_diff, before, after, *names, lineterm=b"\n")
        patch += [line if line.endswith(b"\n") else line + NO_NEWLINE for line in lines]
    return b"".join(patch)


def _quote_name(name: str) -> bytes:
    """A name with a space ends in a tab, one with a quote or control character stands between quotes."""
    if any(character in ESCAPED or ord(character) < 32 for character in name):
        return ('"' + "".join(ESCAPED.get(letter, letter) for letter in name) + '"').encode("utf-8", "surrogateescape")
    return (name + "\t" * (" " in name)).encode("utf-8", "surrogateescape")


#: Place, line, rule, the text before and after: a row of the report's table.
Row = tuple[str, int, str, str, str]


@dataclass(frozen=True)
class Change:
    """One file. `name` is relative to the tree's root; `made` are the findings whose edits were made."""

    name: str
    file: Path
    before: bytes
    after: bytes
    made: tuple[Finding, ...]
    rows: tuple[Row, ...]
    text_sha256: str


def make_change(source: Source, file: Path, before: bytes, text: str, applied_findings: Findings) -> Change:
    """Make the change of a file that is one text.

    Raises WorkbookError where its encoding cannot hold the result, or has two spellings of a character (cp932, big5,
    utf-7) and the file the other one: bytes that no edit means would change."""
    findings = tuple(applied_findings)
    try:
        if source.encode_text(source.text) != before:
            raise WorkbookError("migration.spelled", path=source.path, encoding=source.encoding)
        after = source.encode_text(text)
    except UnicodeEncodeError as cause:
        raise WorkbookError("migration.broken", path=source.path, error=str(cause)) from cause
    return Change(source.path, file, before, after, findings, make_rows(source, findings), source.sha256)


def make_rows(source: Source, findings: Findings) -> tuple[Row, ...]:
    rows: list[Row] = []
    for rule, edit in ((finding.rule, edit) for finding in findings for edit in finding.edits):
        line, before = bisect_right(source.line_starts, edit.start), source.text[edit.start : edit.end]
        rows.append((source.path, line, rule, before, "; ".join(edit.text.splitlines())))
    return tuple(rows)


def apply_edits(source: Source, edits: Iterable[Edit]) -> str:
    """Return the text after the edits. Equal edits count once; overlapping ones raise WorkbookError."""
    parts: list[str] = []
    last = 0
    for edit in sorted(set(edits), key=lambda edit: (edit.start, edit.end)):
        if edit.start < last:
            raise WorkbookError("migration.overlap", path=source.path, at=edit.start)
        parts += (source.text[last : edit.start], edit.text)
        last = edit.end
    return "".join((*parts, source.text[last:]))
