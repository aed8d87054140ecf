"""The sources that a stage's report speaks of, kept with it: what it shows stays true when the files move on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import explain_os_error
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.repair import GRAVEST, class_of
from ascend_workbook.migration.texts import decode_text
from ascend_workbook.migration.texts.notebook import read_code_cells
from ascend_workbook.redaction.exits import redact_in_place

#: Bytes of one text, and of all together.
LARGEST, MOST = 200_000, 2_000_000


class NotKept(Exception):
    """A source that is not kept; `why` says so to a reader."""

    def __init__(self, key: str, **args: Scalar) -> None:
        super().__init__(key)
        self.why = Sentence(key, **args)


def keep_sources(scanned: Report, rewritten: Report) -> dict[str, Any]:
    """Return the facts `root`, `sources` (path below it -> the texts before and after) and `sources_left_out` (path ->
    why). They are of the files that have a finding or are rewritten, the gravest first, without credentials."""
    if "root" not in scanned.facts:
        return {}
    sources: dict[str, dict[str, str | None]] = {}
    left_out: dict[str, Sentence] = {}
    room = MOST
    for name in _name_files(scanned, rewritten):
        try:
            texts = _read_sides(name, scanned, rewritten)
            size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts.values() if text)
            if size > room:
                raise NotKept("sources.full", kb=MOST // 1000)
        except NotKept as reason:
            left_out[name] = reason.why
        else:
            sources[name], room = texts, room - size
    return {"root": scanned.facts["root"], "sources": sources, "sources_left_out": left_out}


def keep_files(files: Iterable[tuple[str, Path]]) -> dict[str, dict[str, str]]:
    """Return the fact `sources` of files that are as they were, by the names that a report has for them (that of a
    notebook's cell ends with #cell and its number), without credentials; those that are not kept are passed over."""
    sources: dict[str, dict[str, str]] = {}
    room = MOST
    for name, file in files:
        with suppress(NotKept):
            text = redact_in_place(_take_cell(_read(file), name.partition("#cell")[2]))
            size = len(text.encode("utf-8", "surrogatepass"))
            if size <= room:
                sources[name], room = {"before": text}, room - size
    return sources


def _name_files(scanned: Report, rewritten: Report) -> list[str]:
    ranks: dict[str, int] = dict.fromkeys(rewritten.facts.get("sha256", ()), len(GRAVEST))
    for finding in (*scanned.findings, *rewritten.findings):
        if finding.place and finding.place.path:
            kind = class_of(finding)
            rank = GRAVEST.index(kind) if kind in GRAVEST else len(GRAVEST)
            ranks[finding.place.path] = min(rank, ranks.get(finding.place.path, rank))
    return sorted(ranks, key=lambda name: (ranks[name], name))


def _read_sides(name: str, scanned: Report, rewritten: Report) -> dict[str, str | None]:
    """Return the texts of a file, or of a notebook's cell.

    Raises NotKept, also where the file is no longer the one that was scanned."""
    whole, _, cell = name.partition("#cell")
    changed, facts = whole in rewritten.facts.get("sha256", ()), rewritten.facts
    file = Path(scanned.facts["root"], whole)
    before = file.with_name(f"{file.name}.orig") if changed and facts.get("in_place") else file
    after = file if facts.get("in_place") else Path(facts["out"], whole) if facts.get("out") else None
    text = _read(before)
    wanted = {**facts.get("sha256", {}), **scanned.facts.get("sha256", {})}.get(whole)
    if wanted and hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != wanted:
        raise NotKept("sources.changed")
    texts = {"before": text, "after": _read(after) if changed and after else None}
    return {side: redact_in_place(_take_cell(text, cell)) if text is not None else None for side, text in texts.items()}


def _take_cell(text: str, number: str) -> str:
    """Return the code of one cell of a notebook's text; without a number the text."""
    if not number:
        return text
    try:
        cells = {str(cell.number): cell.code for cell in read_code_cells(text)}
        return cells[number]
    except (Unreadable, KeyError) as error:
        raise NotKept("sources.changed") from error


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST:
            raise NotKept("sources.large", kb=LARGEST // 1000)
        return decode_text(file.read_bytes())[0]
    except OSError as error:
        raise NotKept("sources.unread", error=explain_os_error(error)) from error
    except Unreadable as error:
        raise NotKept("sources.unread", error=str(error)) from error
