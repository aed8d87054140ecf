"""The table of grades as CSV: a row per submission, and for each task how far it came, its points and tries.

Headings and sentences are in the reader's language. The last columns are codes, the same in both; so is the order.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from helpers.course.grading.attempt import Grade
from helpers.course.grading.tables import rows_of
from helpers.course.outcome import DONE, NOT_YET, PARTLY
from helpers.errors import WorkbookError
from helpers.words import LANGUAGES, Scalar, hint, say, show

LONGEST = 300
#: What makes a spreadsheet compute a cell (OWASP, CSV injection), the full-width forms too.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
COLUMNS = ("submission", "student", "points", "of", "seconds", "error")
OF_TASK = ("result", "points", "tries")


def points(grade: Grade, worth: Mapping[str, float], partly: float = 0.0) -> dict[str, float]:
    """Task -> points: all of what it is worth for done, the share `partly` of it for partly."""
    share = {DONE: 1.0, PARTLY: partly}
    return {task: share.get(grade.status.get(task, ""), 0.0) * most for task, most in worth.items()}


def sheet(grades: Sequence[Grade], worth: Mapping[str, float], lang: str, partly: float = 0.0) -> str:
    """With a byte order mark, so that Excel reads the names in Chinese."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n")
    writer.writerow(headings(worth, lang))
    for grade in grades:
        row = _row(grade, points(grade, worth, partly), worth, lang)
        writer.writerow([plain(cell) if isinstance(cell, str) else cell for cell in row])
    return "\ufeff" + sink.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def headings(worth: Mapping[str, float], lang: str) -> list[str]:
    each = [say(f"grading.column.task_{what}", lang, task=task) for task in worth for what in OF_TASK]
    codes = ["error_code", *(f"{task}_status" for task in worth)]
    return [*(say(f"grading.column.{name}", lang) for name in COLUMNS), *each, *codes]


def _row(grade: Grade, got: Mapping[str, float], worth: Mapping[str, float], lang: str) -> list[object]:
    row: list[object] = [grade.name, grade.student, _number(sum(got.values())), _number(sum(worth.values())),
                         grade.seconds, _said(grade, lang)]  # fmt: skip
    status = {task: grade.status.get(task, "") for task in worth}
    for task in worth:
        told = say(f"grading.status.{status[task]}", lang) if status[task] in (DONE, PARTLY, NOT_YET) else ""
        row += [told, _number(got[task]), grade.tries.get(task, "")]
    return [*row, grade.trouble["say"] if grade.trouble else "", *status.values()]


def _said(grade: Grade, lang: str) -> str:
    """What kept it from more, and the next step."""
    if not grade.trouble:
        return ""
    why = show(grade.trouble, lang)
    step = hint(str(grade.trouble["say"]), lang, **_arguments(grade.trouble))
    return say("grading.and_then", lang, why=why, step=step) if step else why


def _arguments(trouble: Mapping[str, Scalar]) -> dict[str, Scalar]:
    args = trouble.get("args")
    return dict(args) if isinstance(args, dict) else {}


def earlier(path: Path, worth: Mapping[str, float]) -> list[str]:
    """Submissions in a table of grades that lies there, in either language; nothing where there is no file.

    Raises WorkbookError for what is not written over: `grading.no_grades` for a file that is no such table,
    `grading.other_table` for one of another notebook than the one with the tasks `worth`.
    """
    if not path.exists():
        return []
    rows = [row for _, row in rows_of(path)]
    if not rows or rows[0][0] not in {say("grading.column.submission", lang) for lang in LANGUAGES}:
        raise WorkbookError("grading.no_grades", path=str(path))
    others: list[Scalar] = [each.rpartition("_")[0] for each in rows[0] if each.endswith("_status")]
    if others and not {*map(str, others)} & {*worth}:
        raise WorkbookError("grading.other_table", path=str(path), tasks=others)
    return [_unquoted(row[0]) for row in rows[1:]]


def _unquoted(cell: str) -> str:
    """Without the quote that `plain` put before a formula; a name may begin with one."""
    return cell[1:] if cell.startswith("'") and plain(cell[1:]) == cell else cell


def plain(text: str) -> str:
    """One line of so many characters that no spreadsheet takes for a formula."""
    line = re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text)[:LONGEST]
    return f"'{line}" if text.startswith(FORMULA) or line.lstrip().startswith(FORMULA) else line


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else round(value, 2)
