"""The report of `explain`: the first error with its codes, what else the logs say, and the lines themselves."""

from __future__ import annotations

import os
import zlib
from collections import Counter
from typing import Any

from helpers.diagnosis.decode import Code, decode
from helpers.diagnosis.episode import Episode, episodes, first_failing, text_of
from helpers.diagnosis.known import Known
from helpers.diagnosis.scan import Hit, Scan
from helpers.errors import WorkbookError, reason
from helpers.finding import Finding, Place, Status
from helpers.redaction import credentials_of
from helpers.report import Column, Listing, Report, Table
from helpers.words import Scalar

COLUMNS = (
    Column("explain_role"),
    Column("rank"),
    Column("place"),
    Column("explain_codes"),
    Column("cause", wrap=46),
    Column("fix", wrap=46),
    Column("confidence"),
    Column("source"),
)
#: Other ranks and warnings shown; lines of the log shown; characters of an unknown error shown.
OTHERS, WARNINGS, EXCERPT_LINES, SHOWN = 8, 10, 30, 300
Row = tuple[Scalar, ...]


def report_on(scans: list[Scan]) -> Report:
    """What the logs came to."""
    found = episodes(scans)
    rows: list[Row] = []
    findings: list[Finding] = []
    facts: dict[str, Any] = {"logs": [scan.log.name for scan in scans], **_totals(scans)}
    listing = None
    if found:
        root = next((scan.root_rank for scan in scans if scan.root_rank), "")
        first = first_failing(found, root)
        lines, gone = _lines(first)
        codes = decode("\n".join(message for _, message in lines))
        findings.append(_first(first, found))
        findings += [_also(hit, entry) for hit, entry in first.also()]
        rows += _rows(first, codes) + _others(first, found)
        facts["first"] = _facts(first, codes)
        excerpt = "\n".join(f"{number}: {message}" for number, message in lines[:EXCERPT_LINES])
        listing = Listing("log_excerpt", redact(excerpt))
        findings += gone
    elif not any(scan.lines for scan in scans):
        findings.append(Finding("EXP006", Status.SKIPPED, "EXP006.empty", {"logs": len(scans)}))
    elif logs := [scan for scan in scans if not scan.log.is_text or scan.hits]:
        findings.append(_without_an_error(logs))
    findings += [_unread(scan) for scan in scans if scan.unread]
    findings += [_unlisted(scan) for scan in scans if scan.log.is_text and scan.lines and not scan.hits]
    warned, warning_rows = _warnings(scans)
    if facts["repeated"]:
        findings.append(Finding("EXP007", Status.OK, "EXP007.repeated", {"count": facts["repeated"]}))
    rows += warning_rows
    table = Table(COLUMNS, tuple(rows)) if rows else None
    return Report("environment", "explain", (*findings, *warned), table, listing=listing, facts=facts)


def _lines(first: Episode) -> tuple[list[tuple[int, str]], list[Finding]]:
    """The error's lines; of a log that went away or changed since it was read, those that were kept, and that said."""
    try:
        return text_of(first), []
    except (WorkbookError, OSError, EOFError, zlib.error) as error:
        cause = error.__cause__ or error
        why = reason(cause) if isinstance(cause, OSError) else str(cause)
        args: dict[str, Scalar] = {"path": first.main.log.name, "error": why}
        kept = [(hit.number, hit.line.message) for hit in first.hits]
        return kept, [Finding("EXP011", Status.SKIPPED, "EXP011.gone", args)]


def redact(text: str) -> str:
    """Without credentials, this process's and what has the shape of one: reports are sent to others."""
    return credentials_of(os.environ).text(text)


def cause(entry: Known) -> Scalar:
    return {"say": f"known.{entry.id}"}


def fix(entry: Known) -> Scalar:
    return {"hint": f"known.{entry.id}"}


def _first(first: Episode, found: list[Episode]) -> Finding:
    """The verdict."""
    place = _place(first.main)
    if first.known is None:
        args: dict[str, Scalar] = {"error": redact(first.main.line.message.strip())[:SHOWN]}
        return Finding("EXP002", Status.FAIL, "EXP002.unknown", args, place, 100)
    args = {"cause": cause(first.known), "fix": fix(first.known)}
    if len(found) == 1 or not first.rank:
        return Finding("EXP001", Status.FAIL, "EXP001.first", args, place, 100)
    args |= {"rank": first.rank, "ranks": len(found)}
    return Finding("EXP001", Status.FAIL, "EXP001.first_rank", args, place, 100)


def _also(hit: Hit, entry: Known) -> Finding:
    return Finding("EXP008", Status.NOTE, "EXP008.also", {"cause": cause(entry), "fix": fix(entry)}, _place(hit))


def _unread(scan: Scan) -> Finding:
    return Finding("EXP011", Status.SKIPPED, "EXP011.unread", {"path": scan.log.name, "error": scan.unread})


def _unlisted(scan: Scan) -> Finding:
    """A text, not a log: that it names nothing we know does not make it clean."""
    text = scan.log.data.decode("utf-8", errors="replace").strip()
    return Finding("EXP009", Status.NOTE, "EXP009.unlisted", {"text": redact(text)[:SHOWN]})


def _without_an_error(scans: list[Scan]) -> Finding:
    """Only follow-ups, only lines at the level ERROR, or clean."""
    hits = [hit for scan in scans for hit in scan.hits]
    follow_up = next(
        (hit for hit in hits if hit.known and hit.known[0].severity == "noise" and hit.known[0].peer), None
    )
    if follow_up is not None:
        entry = follow_up.known[0]
        args: dict[str, Scalar] = {"cause": cause(entry), "fix": fix(entry)}
        return Finding("EXP003", Status.FAIL, "EXP003.follow_up", args, _place(follow_up))
    levels = [hit for hit in hits if hit.kind == "level"]
    if levels:
        args = {"count": len(levels), "error": redact(levels[0].line.message.strip())[:SHOWN]}
        return Finding("EXP004", Status.WARN, "EXP004.level", args, _place(levels[0]))
    args = {"lines": sum(scan.lines for scan in scans), "logs": len(scans)}
    return Finding("EXP006", Status.OK, "EXP006.clean", args)


def _warnings(scans: list[Scan]) -> tuple[list[Finding], list[Row]]:
    """Known warnings, each once with how often."""
    hits = [hit for scan in scans for hit in scan.hits if hit.known and hit.known[0].severity == "warning"]
    counts = Counter(hit.known[0].id for hit in hits)
    firsts = {hit.known[0].id: hit for hit in reversed(hits)}
    findings, rows = [], []
    for name, count in counts.most_common(WARNINGS):
        hit, entry = firsts[name], firsts[name].known[0]
        args: dict[str, Scalar] = {"cause": cause(entry), "fix": fix(entry), "count": count}
        findings.append(Finding("EXP005", Status.WARN, "EXP005.warning", args, _place(hit)))
        rows.append(_row("warning", hit, entry))
    return findings, rows


def _rows(first: Episode, codes: list[Code]) -> list[Row]:
    """The first error, what its lines name beside it, and the codes from top to bottom."""
    rows = [_row("first", first.main, first.known, first.rank)]
    rows += [_row("same", hit, entry, first.rank) for hit, entry in first.also()]
    confidence: Scalar = {"say": "explain.confidence.documented"}
    for code in codes:
        role: Scalar = {"say": f"explain.role.{code.kind}"}
        rows.append((role, first.rank or None, None, code.code, code.meaning, None, confidence, code.source))
    return rows


def _others(first: Episode, found: list[Episode]) -> list[Row]:
    return [_row("other", other.main, other.known, other.rank) for other in found if other is not first][:OTHERS]


def _row(role: str, hit: Hit, entry: Known | None, rank: str = "") -> Row:
    head: Row = ({"say": f"explain.role.{role}"}, rank or hit.rank or None, str(_place(hit) or "") or None)
    if entry is None:
        return (*head, None, redact(hit.line.message.strip())[:SHOWN], None, None, None)
    confidence: Scalar = {"say": f"explain.confidence.{entry.confidence}"}
    return (*head, entry.id, cause(entry), fix(entry), confidence, entry.source)


def _place(hit: Hit) -> Place | None:
    return Place(hit.log.name, hit.number) if hit.log.name else None


def _totals(scans: list[Scan]) -> dict[str, int]:
    return {
        "lines": sum(scan.lines for scan in scans),
        "bytes": sum(scan.size for scan in scans),
        "repeated": sum(scan.repeated for scan in scans),
    }


def _facts(first: Episode, codes: list[Code]) -> dict[str, Any]:
    return {
        "id": first.known.id if first.known else None,
        "rank": first.rank or None,
        "log": first.main.log.name,
        "line": first.main.number,
        "error": redact(first.main.line.message.strip())[:SHOWN],
        "confidence": first.known.confidence if first.known else None,
        "sources": list(first.known.sources) if first.known else [],
        "codes": [{"kind": code.kind, "code": code.code} for code in codes],
    }
