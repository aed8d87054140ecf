"""`explain`: logs, a pasted text or a bare code in, one report out; and the short form for an error text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.diagnosis.episode import episodes, first_failing
from helpers.diagnosis.known import Known
from helpers.diagnosis.log import Log, logs_of
from helpers.diagnosis.phrase import codes_inside, other_reading, spelled_out
from helpers.diagnosis.scan import Scan, scan
from helpers.diagnosis.symptoms import checklist
from helpers.diagnosis.verdict import cause, fix, report_on
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.report import Report
from helpers.words import Scalar


@dataclass(frozen=True)
class Explanation:
    """Of one error text: which known failure it is, as sentences for `say`."""

    known: Known

    @property
    def cause(self) -> Scalar:
        return cause(self.known)

    @property
    def fix(self) -> Scalar:
        return fix(self.known)

    @property
    def confidence(self) -> Scalar:
        return {"say": f"explain.confidence.{self.known.confidence}"}

    @property
    def source(self) -> str:
        return self.known.source


def explain(*what: str | os.PathLike[str], symptom: str | None = None) -> Report:
    """Reads logs (files, folders, `-` for standard input), a pasted text or a code such as 507015.

    The report's verdict is the first error of the first failing rank: FAIL where one was found, WARN for known
    warnings or unexplained lines at the level ERROR, OK for clean logs, SKIPPED where nothing stood in them; NOTE for
    a text that names no error we know: it is no log, so nothing is called clean.
    `symptom` (slow, oom, nan, differs) gives a checklist instead. Raises WorkbookError for a path that is not there,
    for an empty text, and for logs beside a symptom.
    """
    if symptom is not None:
        if what:
            raise WorkbookError("explain.symptom_alone", what=[str(place) for place in what], symptom=symptom)
        return checklist(symptom)
    if not what or any(isinstance(place, str) and not place.strip() for place in what):
        raise WorkbookError("explain.nothing")
    report = report_on([_read(log) for log in logs_of([_spelled_out(place) for place in what])])
    return replace(report, findings=(*report.findings, *_other_readings(what)))


def explanation(text: str, log: Path | None = None) -> Explanation | None:
    """What a known failure's text means, or None: for those who show an error of their own.

    Where the text is empty, or only tells that another rank failed: the first error of `log`, which holds all output.
    """
    entry = _cause_of(Log("", data=text.encode("utf-8", errors="replace")))
    if log is not None and log.is_file() and (entry.peer if entry else not text.strip()):
        entry = _cause_of(Log(str(log), log, walked=True)) or entry
    return Explanation(entry) if entry is not None else None


def _cause_of(log: Log) -> Known | None:
    """The first failing rank's error where it is known and names a cause."""
    read = scan(log)
    found = episodes([read])
    entry = first_failing(found, read.root_rank).known if found else None
    return entry if entry is not None and entry.specific else None


def _spelled_out(place: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """A bare code as the line it stands in; anything else as it is."""
    if isinstance(place, str) and (line := spelled_out(place)) and not Path(place.strip()).exists():
        return line + "\n"
    return place


def _other_readings(what: Sequence[str | os.PathLike[str]]) -> Iterator[Finding]:
    """A bare number may be of another record than the one it was taken for."""
    for code in (place.strip() for place in what if isinstance(place, str)):
        if (other := other_reading(code)) and not Path(code).exists():
            kind = "register" if other.startswith("0x") else "overflow"
            yield Finding("EXP012", Status.SKIPPED, f"EXP012.{kind}", {"code": code, "other": other})


def _read(log: Log) -> Scan:
    """What a log holds; of a short phrase that is no error message, what the codes in it mean."""
    found = scan(log)
    if log.is_text and all(hit.kind == "level" for hit in found.hits):
        lines = codes_inside(log.data.decode("utf-8", errors="replace"))
        return scan(Log("", data=lines.encode())) if lines else found
    return found
