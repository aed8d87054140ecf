"""The report of `explain`: the first error with its codes, what else the logs say, and the lines themselves."""

from __future__ import annotations

import os
import zlib
from collections import Counter
from typing import Any

from ascend_workbook.diagnose.decode import Code, decode_text
from ascend_workbook.diagnose.episode import Episode, find_episodes, first_failing, read_text
from ascend_workbook.diagnose.known import Known
from ascend_workbook.diagnose.scan import Hit, Scan
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence
from ascend_workbook.redaction import make_credential_redactor

COLUMNS = (
    *map(Column, ("explain_role", "rank", "place", "explain_codes")),
    *(Column("cause", wrap=46), Column("fix", wrap=46), Column("confidence"), Column("source")),
)
#: Other ranks shown; lines of the log shown; characters of an unknown error shown.
OTHERS, EXCERPT_LINES, SHOWN = 8, 30, 300
Row = tuple[Scalar, ...]


def report_on(scans: list[Scan]) -> Report:
    """Make a report of what the logs came to."""
    episodes = find_episodes(scans)
    rows: list[Row] = []
    findings: list[Finding] = []
    facts: dict[str, Any] = {"logs": [scan.log.name for scan in scans]}
    for name, part in (("lines", "lines"), ("bytes", "size"), ("repeated", "repeated")):
        facts[name] = sum(getattr(scan, part) for scan in scans)
    listing = None
    if episodes:
        root = next((scan.root_rank for scan in scans if scan.root_rank), "")
        first = first_failing(episodes, root)
        lines, findings_of_gone = _read_lines(first)
        codes = decode_text("\n".join(message for _, message in lines))
        findings.append(_first_finding(first, episodes))
        findings += [
            Finding("EXP008", Status.NOTE, "EXP008.also", args_of(entry), _place_of(hit))
            for hit, entry in first.other_causes()
        ]
        others = [episode for episode in episodes if episode is not first][:OTHERS]
        rows += _make_rows(first, codes)
        rows += [_make_row("other", episode.main, episode.known, episode.rank) for episode in others]
        facts["first"] = {
            "id": first.known.id if first.known else None,
            "rank": first.rank or None,
            "log": first.main.log.name,
            "line": first.main.number,
            "error": redact_text(first.main.line.message.strip())[:SHOWN],
            "confidence": first.known.confidence if first.known else None,
            "sources": list(first.known.sources) if first.known else [],
            "codes": [{"kind": code.kind, "code": code.code} for code in codes],
        }
        excerpt = "\n".join(f"{number}: {message}" for number, message in lines[:EXCERPT_LINES])
        listing = Listing("log_excerpt", redact_text(excerpt))
        findings += findings_of_gone
    elif not any(scan.lines for scan in scans):
        findings.append(Finding("EXP006", Status.NOT_LOOKED, "EXP006.empty", {"logs": len(scans)}))
    elif logs := [scan for scan in scans if not scan.log.is_text or scan.hits]:
        findings.append(_no_error_finding(logs))
    findings += [
        Finding("EXP011", Status.NOT_LOOKED, "EXP011.unread", {"path": scan.log.name, "error": scan.unread})
        for scan in scans
        if scan.unread
    ]
    findings += [
        Finding("EXP011", Status.NOTE, "EXP011.zeros", {"path": scan.log.name, "count": scan.zeros})
        for scan in scans
        if scan.zeros and not scan.unread
    ]
    for scan in scans:
        if scan.log.is_text and scan.lines and not scan.hits:  # a text that names nothing we know is not clean
            text = scan.log.data.decode("utf-8", errors="replace").strip()
            findings.append(Finding("EXP009", Status.NOTE, "EXP009.unlisted", {"text": redact_text(text)[:SHOWN]}))
    warned, warning_rows = _collect_warnings(scans)
    if facts["repeated"]:
        findings.append(Finding("EXP007", Status.GOOD, "EXP007.repeated", {"count": facts["repeated"]}))
    rows += warning_rows
    table = Table(COLUMNS, tuple(rows)) if rows else None
    return Report("environment", "explain", (*findings, *warned), table, listing=listing, facts=facts)


def _read_lines(first: Episode) -> tuple[list[tuple[int, str]], list[Finding]]:
    """Return the error's lines; of a log that went away or changed since it was read, those that were kept."""
    try:
        return read_text(first), []
    except (WorkbookError, OSError, EOFError, zlib.error) as error:
        cause = error.__cause__ or error
        why = explain_os_error(cause) if isinstance(cause, OSError) else str(cause)
        args: dict[str, Scalar] = {"path": first.main.log.name, "error": why}
        lines_kept = [(hit.number, hit.line.message) for hit in first.hits]
        return lines_kept, [Finding("EXP011", Status.NOT_LOOKED, "EXP011.gone", args)]


def redact_text(text: str) -> str:
    """Redact credentials, this process's and what has the shape of one: reports are sent to others."""
    return make_credential_redactor(os.environ).redact_text(text)


def cause_of(entry: Known) -> Scalar:
    return Sentence(f"known.{entry.id}")


def fix_of(entry: Known) -> Scalar:
    return NextStep(f"known.{entry.id}")


def args_of(entry: Known) -> dict[str, Scalar]:
    return {"cause": cause_of(entry), "fix": fix_of(entry)}


def _first_finding(first: Episode, episodes: list[Episode]) -> Finding:
    """Make the finding that is the verdict."""
    place = _place_of(first.main)
    if first.known is None:
        args: dict[str, Scalar] = {"error": redact_text(first.main.line.message.strip())[:SHOWN]}
        return Finding("EXP002", Status.FIX, "EXP002.unknown", args, place, 100)
    args = args_of(first.known)
    if len(episodes) == 1 or not first.rank:
        return Finding("EXP001", Status.FIX, "EXP001.first", args, place, 100)
    args |= {"rank": first.rank, "ranks": len(episodes)}
    return Finding("EXP001", Status.FIX, "EXP001.first_rank", args, place, 100)


def _no_error_finding(scans: list[Scan]) -> Finding:
    """Make the finding where there is no error: only follow-ups, only lines at the level ERROR, or clean."""
    hits = [hit for scan in scans for hit in scan.hits]
    for hit in hits:
        if hit.known and hit.known[0].severity == "noise" and hit.known[0].peer:
            return Finding("EXP003", Status.FIX, "EXP003.follow_up", args_of(hit.known[0]), _place_of(hit))
    levels = [hit for hit in hits if hit.kind == "level"]
    if levels:
        args: dict[str, Scalar] = {"count": len(levels), "error": redact_text(levels[0].line.message.strip())[:SHOWN]}
        return Finding("EXP004", Status.LOOK, "EXP004.level", args, _place_of(levels[0]))
    args = {"lines": sum(scan.lines for scan in scans), "logs": len(scans)}
    return Finding("EXP006", Status.GOOD, "EXP006.clean", args)


def _collect_warnings(scans: list[Scan]) -> tuple[list[Finding], list[Row]]:
    """Return the known warnings, each once with how often."""
    hits = [hit for scan in scans for hit in scan.hits if hit.known and hit.known[0].severity == "warning"]
    counts = Counter(hit.known[0].id for hit in hits)
    firsts = {hit.known[0].id: hit for hit in reversed(hits)}
    findings, rows = [], []
    for name, count in counts.most_common():
        hit, entry = firsts[name], firsts[name].known[0]
        args = {**args_of(entry), "count": count}
        findings.append(Finding("EXP005", Status.LOOK, "EXP005.warning", args, _place_of(hit)))
        rows.append(_make_row("warning", hit, entry))
    return findings, rows


def _make_rows(first: Episode, codes: list[Code]) -> list[Row]:
    """Make the rows: the first error, what its lines name beside it, and the codes from top to bottom."""
    rows = [_make_row("first", first.main, first.known, first.rank)]
    rows += [_make_row("same", hit, entry, first.rank) for hit, entry in first.other_causes()]
    confidence: Scalar = Sentence("explain.confidence.documented")
    for code in codes:
        role: Scalar = Sentence(f"explain.role.{code.kind}")
        rows.append((role, first.rank or None, None, code.code, code.meaning, None, confidence, code.source))
    return rows


def _make_row(role: str, hit: Hit, entry: Known | None, rank: str = "") -> Row:
    head: Row = (Sentence(f"explain.role.{role}"), rank or hit.rank or None, str(_place_of(hit) or "") or None)
    if entry is None:
        return (*head, None, redact_text(hit.line.message.strip())[:SHOWN], None, None, None)
    confidence: Scalar = Sentence(f"explain.confidence.{entry.confidence}")
    return (*head, entry.id, cause_of(entry), fix_of(entry), confidence, entry.source)


def _place_of(hit: Hit) -> Place | None:
    return Place(hit.log.name, hit.number) if hit.log.name else None
