"""`rewrite`: the script as transfer_to_npu's users have it, as a diff and, where asked, as files.

Edits are spans of the original text, so every other byte stays: line ends, BOM, encoding, comments.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.finding import Edit, Finding, Status
from helpers.migration.entry import needs_import, transfer_edit
from helpers.migration.files import Tree, tree
from helpers.migration.registry import wanted
from helpers.migration.repair import MANUAL, REWRITE, UNSUPPORTED, class_of, found
from helpers.migration.scan import scan_source
from helpers.migration.source import Source, Unreadable, decode, parse
from helpers.migration.texts import read_text, scan_text
from helpers.report import Column, Listing, Report, Table
from helpers.storage import open_storage
from helpers.words import Scalar

SUMMARY_WEIGHT = 1000.0
#: A line with its end, as Python counts lines.
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
COLUMNS = tuple(Column(name) for name in ("file", "line", "rule", "edit_before", "edit_after"))


def rewrite(
    path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, expect: dict[str, str] | None = None
) -> Report:
    """The migrated script as a diff; with `out` also as files in that folder, under the same names.

    `expect` maps file names to the hashes a scan gave (`report.facts["sha256"]`); a file that has changed
    since is refused. The input is never written to. Raises WorkbookError for an unreadable file, for edits
    that overlap, or where the result would not parse.
    """
    where = tree(path)
    changed: dict[str, tuple[Source, str, list[Finding]]] = {}
    left: list[Finding] = []
    for file in where.python:
        source = _read(file, where.name(file))
        if source is None:
            continue
        _refuse_changed(source, expect)
        text, made = migrate(source, alone=len(where.python) == 1)
        left += [finding for finding in scan_source(source) if class_of(finding) in (MANUAL, UNSUPPORTED)]
        if text != source.text:
            changed[source.path] = (source, text, made)
    for file in where.texts:
        if file.suffix != ".py":
            _rewrite_text(file, where.name(file), changed, left, expect)
    if out is not None:
        _write(where, changed, Path(out))
    return _report(path, where, changed, left, out)


def _rewrite_text(
    file: Path, name: str, changed: dict[str, tuple[Source, str, list[Finding]]], left: list[Finding],
    expect: dict[str, str] | None,
) -> None:  # fmt: skip
    """A launch script's own edits; lists of requirements are reported only."""
    try:
        source = read_text(file, name)
    except Unreadable as cause:
        raise WorkbookError("migration.unreadable", path=name, line=cause.line, error=cause.error) from cause
    _refuse_changed(source, expect)
    found = scan_text(source)
    made = [finding for finding in found if class_of(finding) == REWRITE]
    left += [finding for finding in found if class_of(finding) in (MANUAL, UNSUPPORTED)]
    if made:
        changed[name] = (source, apply(source, [edit for finding in made for edit in finding.edits]), made)


def migrate(source: Source, *, alone: bool = True) -> tuple[str, list[Finding]]:
    """The migrated text and the findings whose edits made it. `alone`: the file is a script, not part of a folder."""
    made = [finding for finding in scan_source(source) if class_of(finding) == REWRITE]
    if needs_import(source, alone=alone):
        edit, node = transfer_edit(source)
        made.insert(0, found(source, node, "MIG131.transfer", REWRITE, (edit,)))
    text = apply(source, [edit for finding in made for edit in finding.edits])
    try:
        parse(text, source.path)
    except Unreadable as cause:
        raise WorkbookError("migration.broken", path=source.path, error=str(cause)) from cause
    return text, made


def apply(source: Source, edits: Iterable[Edit]) -> str:
    """The text after the edits. Equal edits count once; overlapping ones raise WorkbookError."""
    text, last = source.text, len(source.text) + 1
    for edit in sorted(set(edits), key=lambda edit: (edit.start, edit.end), reverse=True):
        if edit.end > last:
            raise WorkbookError("migration.overlap", path=source.path, at=edit.start)
        text = text[: edit.start] + edit.text + text[edit.end :]
        last = edit.start
    return text


def diff(source: Source, text: str) -> str:
    """A unified diff from the source's text to another."""
    before, after = (LINE.findall(content) for content in (source.text, text))
    lines = difflib.unified_diff(before, after, f"a/{source.path}", f"b/{source.path}")
    return "".join(line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _read(file: Path, name: str) -> Source | None:
    """The file as a Source; None where no rule has anything to look for."""
    data = file.read_bytes()
    if not wanted(data) and b"torch" not in data:
        return None
    try:
        text, encoding, bom = decode(data)
        return parse(text, name, encoding=encoding, bom=bom, file=file)
    except Unreadable as cause:
        raise WorkbookError("migration.unreadable", path=name, line=cause.line, error=cause.error) from cause


def _refuse_changed(source: Source, expect: dict[str, str] | None) -> None:
    if expect is not None and expect.get(source.path, source.sha256) != source.sha256:
        raise WorkbookError("migration.changed", path=source.path)


def _write(where: Tree, changed: dict[str, tuple[Source, str, list[Finding]]], out: Path) -> None:
    """Every Python file and script of the tree, changed or not: the result must find what it needs."""
    storage = open_storage(os.fspath(out))
    files = dict.fromkeys((*where.python, *where.texts))
    for file in files:
        name = where.name(file)
        if storage.path(name).resolve() == file.resolve():
            raise WorkbookError("migration.out_is_input", path=str(file))
    for file in files:
        name = where.name(file)
        data = changed[name][0].encode(changed[name][1]) if name in changed else file.read_bytes()
        storage.write_bytes(name, data)


def _report(
    path: str | os.PathLike[str],
    where: Tree,
    changed: dict[str, tuple[Source, str, list[Finding]]],
    left: list[Finding],
    out: str | os.PathLike[str] | None,
) -> Report:
    made = [finding for _, _, findings in changed.values() for finding in findings]
    imports = [finding for finding in made if finding.rule == "MIG131"]
    numbers: dict[str, Scalar] = {
        "edits": sum(len(finding.edits) for finding in made), "files": len(changed), "imports": len(imports),
        "rewrites": len({(f.place.path, f.place.line) for f in made if f.place and f.rule != "MIG131"}),
        "manual": sum(class_of(finding) == MANUAL for finding in left),
        "unsupported": sum(class_of(finding) == UNSUPPORTED for finding in left),
    }  # fmt: skip
    status = max((finding.status for finding in left), default=Status.OK)
    key = "MIG130.migrated" if changed else "MIG130.nothing"
    summary = Finding(
        "MIG130", status, key, numbers if changed else {"files": len(where.python)}, weight=SUMMARY_WEIGHT
    )
    text = "".join(diff(source, after) for source, after, _ in changed.values())
    facts: dict[str, Any] = {
        "path": os.fspath(path), "out": os.fspath(out) if out is not None else None,
        "sha256": {name: source.sha256 for name, (source, _, _) in changed.items()},
    }  # fmt: skip
    return Report(
        "migration", "rewrite", (summary, *left), _table(changed), listing=Listing("diff", text, "diff"), facts=facts
    )


def _table(changed: dict[str, tuple[Source, str, list[Finding]]]) -> Table:
    rows = [
        (
            name,
            source.text.count("\n", 0, edit.start) + 1,
            finding.rule,
            source.text[edit.start : edit.end],
            "; ".join(edit.text.splitlines()),
        )
        for name, (source, _, findings) in changed.items()
        for finding in findings
        for edit in finding.edits
    ]
    return Table(COLUMNS, tuple(rows))
