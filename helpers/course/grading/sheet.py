"""The table of grades as CSV: a row per submission, and for each task how far it came, its points and tries."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from helpers.course.grading.attempt import Grade
from helpers.course.outcome import DONE, PARTLY
from helpers.words import show

LONGEST = 300
#: What makes a spreadsheet compute a cell (OWASP, CSV injection), the full-width forms too.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def points(grade: Grade, worth: Mapping[str, float], partly: float = 0.0) -> dict[str, float]:
    """Task -> points: all of what it is worth for done, the share `partly` of it for partly."""
    share = {DONE: 1.0, PARTLY: partly}
    return {task: share.get(grade.status.get(task, ""), 0.0) * most for task, most in worth.items()}


def sheet(grades: Sequence[Grade], worth: Mapping[str, float], lang: str, partly: float = 0.0) -> str:
    """With a byte order mark, so that Excel reads the names in Chinese."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n")
    each = [f"{task}_{what}" for task in worth for what in ("status", "points", "tries")]
    writer.writerow(["submission", "student", "points", "of", "seconds", "error", *each])
    for grade in grades:
        got = points(grade, worth, partly)
        row: list[object] = [grade.name, grade.student, _number(sum(got.values())), _number(sum(worth.values())),
                             grade.seconds, show(grade.trouble, lang) if grade.trouble else ""]  # fmt: skip
        for task in worth:
            row += [grade.status.get(task, ""), _number(got[task]), grade.tries.get(task, "")]
        writer.writerow([plain(cell) if isinstance(cell, str) else cell for cell in row])
    return "\ufeff" + sink.getvalue()


def plain(text: str) -> str:
    """One line of so many characters that no spreadsheet takes for a formula."""
    line = re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text)[:LONGEST]
    return f"'{line}" if text.startswith(FORMULA) or line.lstrip().startswith(FORMULA) else line


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else round(value, 2)
