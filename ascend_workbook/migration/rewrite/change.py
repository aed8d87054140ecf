"""What `rewrite` would do to one file: its bytes before and after, and the edits between them."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.reading.source import Source

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

    @property
    def hash_before(self) -> str:
        """Hash the bytes that the edits are good for."""
        return hashlib.sha256(self.before).hexdigest()


def make_change(source: Source, file: Path, before: bytes, text: str, applied_findings: Iterable[Finding]) -> Change:
    """Make the change of a file that is one text.

    Raises WorkbookError where its encoding cannot hold the result, or has two spellings of a character (cp932, big5,
    utf-7) and the file the other one: bytes that no edit means would change.
    """
    findings = tuple(applied_findings)
    try:
        if source.encode_text(source.text) != before:
            raise WorkbookError("migration.spelled", path=source.path, encoding=source.encoding)
        after = source.encode_text(text)
    except UnicodeEncodeError as cause:
        raise WorkbookError("migration.broken", path=source.path, error=str(cause)) from cause
    return Change(source.path, file, before, after, findings, make_rows(source, findings), source.sha256)


def make_rows(source: Source, findings: Iterable[Finding]) -> tuple[Row, ...]:
    return tuple(
        (
            source.path,
            bisect_right(source.line_starts, edit.start),
            finding.rule,
            source.text[edit.start : edit.end],
            "; ".join(edit.text.splitlines()),
        )
        for finding in findings
        for edit in finding.edits
    )


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
