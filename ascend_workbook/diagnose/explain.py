"""`explain`: logs, a pasted text, a bare code or a symptom in, one report out; and the short form for an error text.

A symptom is answered by its known causes, the most frequent first, each a sentence (locale/symptoms.toml) whose hint is
the cure, with the command that checks it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_workbook.diagnose.decode import find_other_reading, lines_of_codes, spell_out
from ascend_workbook.diagnose.episode import find_episodes, first_failing
from ascend_workbook.diagnose.known import Known, read_data
from ascend_workbook.diagnose.log import Log, find_logs
from ascend_workbook.diagnose.scan import Scan, scan_log
from ascend_workbook.diagnose.verdict import cause_of, fix_of, report_on
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence


@dataclass(frozen=True)
class Explanation:
    """Of one error text: which known failure it is, as sentences for `say`."""

    known: Known

    @property
    def cause(self) -> Scalar:
        return cause_of(self.known)

    @property
    def fix(self) -> Scalar:
        return fix_of(self.known)

    @property
    def confidence(self) -> Scalar:
        return Sentence(f"explain.confidence.{self.known.confidence}")

    @property
    def source(self) -> str:
        return self.known.source


def explain(*what: str | os.PathLike[str], symptom: str | None = None) -> Report:
    """Explain logs (files, folders, `-` for standard input), a pasted text or a code such as 507015.

    The report's verdict is the first error of the first failing rank: Fix where one was found, Look for known
    warnings or unexplained lines at the level ERROR, Good for clean logs, Not looked where nothing stood in them; NOTE
    for a text that names no error we know: it is no log, so nothing is called clean.
    `symptom` (slow, oom, nan, differs) gives a checklist instead. Raises WorkbookError for a path that is not there,
    for an empty text, and for logs beside a symptom.
    """
    if symptom is not None:
        if what:
            raise WorkbookError("explain.symptom_alone", what=[str(place) for place in what], symptom=symptom)
        return make_checklist(symptom)
    if not what or any(isinstance(place, str) and not place.strip() for place in what):
        raise WorkbookError("explain.nothing")
    spelled = [
        f"{line}\n"
        if isinstance(place, str) and (line := spell_out(place)) and not Path(place.strip()).exists()
        else place
        for place in what
    ]  # a bare code as the line it stands in
    report = report_on([_scan_log(log) for log in find_logs(spelled)])
    return replace(report, findings=(*report.findings, *_other_readings(what)))


def explain_text(text: str, log: Path | None = None) -> Explanation | None:
    """Return what a known failure's text means, or None: for those who show an error of their own.

    Where the text is empty, or only tells that another rank failed: the first error of `log`, which holds all output.
    """
    entry = _find_cause(Log("", data=text.encode("utf-8", errors="replace")))
    if log is not None and log.is_file() and (entry.peer if entry else not text.strip()):
        entry = _find_cause(Log(str(log), log, walked=True)) or entry
    return Explanation(entry) if entry is not None else None


def _find_cause(log: Log) -> Known | None:
    """Return the first failing rank's error where it is known and names a cause."""
    scan_result = scan_log(log)
    episodes = find_episodes([scan_result])
    entry = first_failing(episodes, scan_result.root_rank).known if episodes else None
    return entry if entry is not None and entry.specific else None


def _other_readings(places: Sequence[str | os.PathLike[str]]) -> Iterator[Finding]:
    """Yield a finding for a bare number that may be of another record than the one it was taken for."""
    for code in (place.strip() for place in places if isinstance(place, str)):
        if (reading := find_other_reading(code)) and not Path(code).exists():
            kind = "register" if reading.startswith("0x") else "overflow"
            yield Finding("EXP012", Status.NOT_LOOKED, f"EXP012.{kind}", {"code": code, "other": reading})


def _scan_log(log: Log) -> Scan:
    """Scan a log; of a short phrase that is no error message, return what the codes in it mean."""
    result = scan_log(log)
    if log.is_text and all(hit.kind == "level" for hit in result.hits):
        lines = lines_of_codes(log.data.decode("utf-8", errors="replace"))
        return scan_log(Log("", data=lines.encode())) if lines else result
    return result


#: Symptom -> (key of a cause, command that checks it), the most frequent cause first.
SYMPTOMS: dict[str, tuple[tuple[str, str], ...]] = {
    symptom: tuple((f"symptom.{symptom}.{cause}", command) for cause, command in commands.items())
    for symptom, commands in read_data("symptoms").items()
}
COLUMNS = (Column("number"), Column("cause", wrap=50), Column("command", wrap=60), Column("fix", wrap=50))


def make_checklist(symptom: str) -> Report:
    """Make a report of the known causes of a symptom. Raises WorkbookError for a symptom that has no list."""
    causes = SYMPTOMS.get(symptom)
    if causes is None:
        raise WorkbookError("explain.symptom_unknown", symptom=symptom, known=list(SYMPTOMS))
    rows = tuple((number, Sentence(key), command, NextStep(key)) for number, (key, command) in enumerate(causes, 1))
    args: dict[str, Scalar] = {"count": len(causes), "symptom": Sentence(f"symptom.{symptom}")}
    finding = Finding("EXP010", Status.NOTE, "EXP010.checklist", args)
    facts = {"symptom": symptom, "commands": [command for _, command in causes]}
    return Report("environment", "explain_symptom", (finding,), Table(COLUMNS, rows), facts=facts)
