"""Rehearses the sample training with a student's arguments: which those may be, and what the report says of them."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.planning.rehearsal import rehearse
from course.exercises.data import as_typed
from course.exercises.editing import SCRIPTS
from course.exercises.patience import patient_limit
from course.exercises.task import Point

SCRIPT = SCRIPTS.parents[1] / "scripts" / "llama_train.py"
TIMEOUT_S = 150.0
#: What an option takes: one of these words, nothing (an empty tuple), or a whole number from 1 on (None).
Values = Mapping[str, "tuple[str, ...] | None"]
#: A whole number of more digits is none that a training has.
DIGITS = 9


def read_arguments(answer: object, known: Values) -> dict[str, str]:
    """Return the options of an answer with their values; the last counts where one stands twice.

    Raises WorkbookError `course.planning.…` where the answer is no command line of options of `known`.
    """
    words = _split_words(answer)
    if not words:
        raise WorkbookError("course.planning.nothing", known=list(known))
    options: dict[str, str] = {}
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in known:
            raise WorkbookError("course.planning.option", given=name[:80], known=list(known))
        allowed = known[name]
        if allowed == ():
            if equals:
                raise WorkbookError("course.planning.flag", option=name, given=value[:80])
            options[name] = ""
            continue
        value = value if equals else words.pop(0) if words else ""
        if allowed is None:
            if not (value.isascii() and value.isdigit() and len(value) <= DIGITS and int(value)):
                raise WorkbookError("course.planning.number", option=name, given=value[:80])
            value = str(int(value))
        elif value not in allowed:
            raise WorkbookError("course.planning.value", option=name, given=value[:80], known=list(allowed))
        options[name] = value
    return options


def _split_words(answer: object) -> list[str]:
    if isinstance(answer, str):
        try:
            return [as_typed(word) for word in shlex.split(answer)]
        except ValueError as error:
            raise WorkbookError("course.planning.words", given=answer[:80]) from error
    if isinstance(answer, list) and all(type(word) in (str, int) for word in answer):
        return [as_typed(str(word)) for word in answer]
    raise WorkbookError("course.planning.words", given=str(answer)[:80])


def list_words(options: Mapping[str, str]) -> list[str]:
    """Return the options as a command's words."""
    return [word for option in options.items() for word in option if word]


def rehearse_script(arguments: Sequence[str], folder: Path, *, cards: int = 1) -> Report:
    """Rehearse the sample training in a fresh folder, of several cards the first rank and the last."""
    shutil.rmtree(folder, ignore_errors=True)
    limit = patient_limit(TIMEOUT_S)
    ranks = sorted({0, cards - 1})
    return rehearse(SCRIPT, arguments, cards=cards, ranks=ranks, cures=False, out=folder, timeout_s=limit)


def judge_fit(report: Report) -> Point:
    """Return whether it fits for sure, with the report's own sentence on that, or on why it failed."""
    finding = next(finding for finding in report.findings if finding.rule == "PLN500")
    return finding.status is Status.GOOD, Sentence(finding.key, **finding.args)


def table_of(report: Report, part: str) -> Table | None:
    """Return the table of one part of the report; None where the rehearsal did not come so far."""
    return next((each.table for each in report.parts if each.verb == part), None)


def memory_by_kind(report: Report) -> dict[str, float]:
    """Return GiB at the peak by kind; of a training that did not fit, as they would be on a card without a limit."""
    table = table_of(report, "memory_kinds")
    return {_name_kind(row[0]): float(str(row[1])) for row in table.rows} if table else {}


def _name_kind(cell: Scalar) -> str:
    return str(cell["say"]).rpartition(".")[2] if isinstance(cell, Sentence) else str(cell)
