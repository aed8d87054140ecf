"""The code of a run: each file before and after, its lines coloured, its findings under their lines.

A file is shown as it was looked at: as the report kept it, or as it still lies where it was scanned, which its
checksum or the lines that findings quote must prove. Lines are coloured here (Pygments): no script does it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Optional

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Report
from ascend_workbook.page.coloured import colour_lines, split_lines
from ascend_workbook.page.reports import describe_finding
from ascend_workbook.page.texts import say_both, show_both
from ascend_workbook.redaction.exits import redact_in_place

#: Classes of what is to be done about a place, from what weighs most.
CLASSES = ("unsupported", "manual", "rewrite", "advice", "auto")
#: Characters of all files that are coloured, and that are shown; a longer rest is named without its text.
COLOURED, SHOWN = 600_000, 3_000_000
#: Lines of a file from which equal lines are not all compared with one another.
MANY = 3000


@dataclass(frozen=True)
class SourceFile:
    """A file as it was looked at and, where it was rewritten, after that."""

    before: str
    after: Optional[str] = None


def collect_sources(report: Report) -> dict[str, SourceFile]:
    """Collect the files of a report of the migration stage by their names below the scanned folder."""
    sources = report.facts.get("sources")
    if isinstance(sources, Mapping):
        return {name: SourceFile(file["before"], file.get("after")) for name, file in sources.items()}
    parts = {part.verb: part for part in (report, *report.parts)}
    scanned, rewritten = parts.get("scan"), parts.get("rewrite")
    facts = (scanned or rewritten or report).facts
    root, sums = facts.get("root"), facts.get("sha256") or {}
    if not isinstance(root, str):
        return {}
    quoted = _quotes_by_file(placed_findings(report))
    files = {}
    for name in sorted({*quoted, *(rewritten.facts.get("sha256") or {} if rewritten else {})}):
        whole, _, cell = name.partition("#cell")
        content = _read_text(Path(root, whole))
        before = _take_cell(content, cell)
        checked = content if whole in sums else before
        if before is None or checked is None or not _is_as_looked_at(checked, sums.get(whole), quoted.get(name, {})):
            continue
        out = rewritten.facts.get("out") if rewritten else None
        after = _take_cell(_read_text(Path(out, whole)), cell) if isinstance(out, str) else None
        texts = [redact_in_place(text.decode("utf-8", "replace")) for text in (before, after) if text is not None]
        files[name] = SourceFile(*texts)
    return files


def _take_cell(content: bytes | None, number: str) -> bytes | None:
    """Return the code of one cell of a notebook, counted from 1 over all cells; without a number the whole content.

    None for a cell that is not there."""
    if content is None or not number:
        return content
    with suppress(ValueError, KeyError, IndexError, TypeError, AttributeError):
        source = json.loads(content)["cells"][int(number) - 1]["source"]
        return (source if isinstance(source, str) else "".join(source)).encode("utf-8", "surrogatepass")
    return None


def placed_findings(report: Report) -> list[Finding]:
    """Return the findings of a report and its parts that have a place with a line, each once.

    Of what ended a run at a line, which has no class, the first alone.
    """
    by_cause: dict[object, Finding] = {}
    for part in (report, *report.parts):
        for finding in part.findings:
            if finding.place and finding.place.line:
                cause = (finding.key, repr(finding.args)) if finding.args.get("class") else ""
                by_cause.setdefault((cause, finding.place), finding)
    return list(by_cause.values())


def _quotes_by_file(findings: Iterable[Finding]) -> dict[str, dict[int, str]]:
    quotes: dict[str, dict[int, str]] = {}
    for finding in findings:
        assert finding.place
        lines = quotes.setdefault(finding.place.path, {})
        lines[finding.place.line] = str(finding.args.get("code", ""))
    return quotes


def _read_text(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


def _is_as_looked_at(content: bytes, checksum: str | None, quotes: Mapping[int, str]) -> bool:
    """Return whether the content is what was looked at: by its checksum, else by every line that is quoted of it."""
    if checksum:
        return hashlib.sha256(content).hexdigest() == checksum
    lines = split_lines(content.decode("utf-8", "replace"))
    marked = {line: code.rstrip("…") for line, code in quotes.items() if code}
    return bool(marked) and all(
        0 < line <= len(lines) and lines[line - 1].strip().startswith(code) for line, code in marked.items()
    )


def describe_code(
    files: Mapping[str, SourceFile], findings: Iterable[Finding], left_out: Mapping[str, Any] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Describe each file with its lines, what was changed, and its findings; files with the gravest findings first.

    `left_out` says why a file was not kept.
    """
    by_file: dict[str, list[dict[str, Any]]] = {name: [] for name in files}
    for finding in findings:
        if finding.place:
            by_file.setdefault(finding.place.path, []).append(describe_placed(finding))
    described, room = [], [COLOURED, SHOWN]
    for name, rows in by_file.items():
        rows.sort(key=lambda row: (row["line"], row["column"]))
        file: dict[str, Any] = {"path": name, "findings": rows}
        file |= {"why": show_both(left_out[name])} if name in left_out else {}
        source = files.get(name)
        if source is not None and len(source.before) <= room[1]:
            size = len(source.before)
            file |= _describe_change(name, source, coloured=size <= room[0])
            room = [room[0] - size, room[1] - size]
        described.append(file)
    return sorted(described, key=_urgency_of)


def _urgency_of(file: dict[str, Any]) -> tuple[int, str]:
    ranks = [CLASSES.index(row["class"]) for row in file["findings"] if row["class"] in CLASSES]
    return min(ranks, default=len(CLASSES)), file["path"]


def describe_placed(finding: Finding) -> dict[str, Any]:
    """Describe a finding of a line: beside what every finding has, its class, quoted code, hours and confidence."""
    assert finding.place
    described = {**describe_finding(finding), "line": finding.place.line, "column": finding.place.column}
    described["class"] = str(finding.args.get("class", ""))
    for name in ("code", "effort_h"):
        if finding.args.get(name):
            described[name] = show_both(finding.args[name])
    if finding.args.get("confidence"):
        described["confidence"] = say_both(f"migration.confidence.{finding.args['confidence']}")
    return described


def _describe_change(name: str, source: SourceFile, *, coloured: bool) -> dict[str, Any]:
    """Describe the lines before, and as operations of difflib those that differ after."""
    before = split_lines(source.before)
    described: dict[str, Any] = {"before": colour_lines(name, source.before, len(before), coloured=coloured)}
    if source.after is None or source.after == source.before:
        return described
    after = split_lines(source.after)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(before) > MANY)
    operations = [operation for operation in matcher.get_opcodes() if operation[0] != "equal"]
    coloured_after = colour_lines(name, source.after, len(after), coloured=coloured)
    changed = {number: coloured_after[number] for _, _, _, begin, end in operations for number in range(begin, end)}
    described["operations"] = [list(operation[1:]) for operation in operations]
    described["after"] = changed
    described["added"] = sum(end - begin for *_, begin, end in operations)
    described["removed"] = sum(end - begin for _, begin, end, *_ in operations)
    return described
