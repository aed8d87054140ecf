"""The table of grades as CSV: a row per submission, and for each task how far it came, its points and tries.

Headings and sentences are in the reader's language. The last columns are codes, the same in both; so is the order.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, hint, say, show
from course.exercises.outcome import DONE, NOT_YET, PARTLY
from course.grading.attempt import Grade
from course.grading.submission import compose_name, without_suffix

LARGEST = 16 << 20
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
#: A workbook of Excel that was not saved as CSV begins so (.xlsx, .xls).
BOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
SEPARATORS = (",", "\t", ";", "，", "；")
#: Read behind the last row: within an open quote it is no row of its own.
END = "\ue000"
#: What the first line of a list of names may say in place of a submission.
HEADINGS = ("submission", "file", "提交", "文件", "文件名", "作业")


def rows_of(path: Path) -> list[tuple[int, list[str]]]:
    """Return (line, cells) of each row that is not empty. Raises WorkbookError where it is no table of text, or a quote
    has no end: it would take in all rows below it."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        raise WorkbookError("command.file", path=str(path), error=explain_os_error(error)) from error
    text = _decode_table(data, path)
    lines = text.splitlines()
    if lines and lines[0].lower().startswith("sep="):  # Excel's own first line
        lines[0] = ""
    read = [_split_rows("\n".join(lines), separator) for separator in SEPARATORS]
    rows_read = next((rows for rows in read if rows is not None and all(len(row) > 1 for _, row in rows)), read[0])
    if rows_read is None:
        raise WorkbookError("grading.no_csv", path=str(path))
    return rows_read


def _decode_table(data: bytes, path: Path) -> str:
    if data.startswith(BOOKS) or len(data) > LARGEST:
        raise WorkbookError("grading.no_csv", path=str(path))
    encodings = [MARKS[mark] for mark in MARKS if data.startswith(mark)]
    if not encodings and b"\0" in data[:200]:
        encodings = ["utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"]
    for encoding in encodings or ["utf-8", "gb18030"]:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise WorkbookError("grading.no_csv", path=str(path))


def _split_rows(text: str, separator: str) -> list[tuple[int, list[str]]] | None:
    """Return the rows; None where it is no CSV with this separator: an open quote, or a cell too large for a name."""
    reader = csv.reader(io.StringIO(f"{text}\n{END}", newline=""), delimiter=separator)
    try:
        read = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error:
        return None
    return read[:-1] if read[-1][1] == [END] else None


def names_in(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return each submission, without its suffix, with its student; nothing for no path. A first line of headings is
    left out.

    Raises WorkbookError for a line without a student, and for two lines on one submission.
    """
    students: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, row in rows_of(Path(path)) if path else []:
        if len(row) < 2 or not row[0] or not row[1] or "\n" in row[0] + row[1]:
            raise WorkbookError("grading.names", path=str(path), line=line)
        name = without_suffix(compose_name(row[0]))
        if not students and name.lower() in HEADINGS:
            continue
        if name in students and students[name] != row[1]:
            raise WorkbookError("grading.names_twice", path=str(path), line=line, other=lines[name], name=name)
        students[name], lines[name] = compose_name(row[1]), line
    return students


LONGEST = 300
#: What makes a spreadsheet compute a cell (OWASP, CSV injection), the full-width forms too.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
COLUMNS = ("submission", "student", "points", "of", "seconds", "error")
OF_TASK = ("result", "points", "tries")


def count_points(grade: Grade, worth: Mapping[str, float], partly: float = 0.0) -> dict[str, float]:
    """Return each task's points: all of what it is worth for done, the share `partly` of it for partly."""
    share = {DONE: 1.0, PARTLY: partly}
    return {task: share.get(grade.status.get(task, ""), 0.0) * most for task, most in worth.items()}


def write_sheet(grades: Sequence[Grade], worth: Mapping[str, float], lang: str, partly: float = 0.0) -> str:
    """Return the table of grades as CSV with a byte order mark, so that Excel reads the names in Chinese."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n")
    task_columns = [say(f"grading.column.task_{what}", lang, task=task) for task in worth for what in OF_TASK]
    codes = ["error_code", *(f"{task}_status" for task in worth)]
    writer.writerow([*(say(f"grading.column.{name}", lang) for name in COLUMNS), *task_columns, *codes])
    for grade in grades:
        got = count_points(grade, worth, partly)
        points, most = _round_number(sum(got.values())), _round_number(sum(worth.values()))
        row: list[object] = [grade.name, grade.student, points, most, grade.seconds, _describe_trouble(grade, lang)]
        status = {task: grade.status.get(task, "") for task in worth}
        for task in worth:
            status_text = say(f"grading.status.{status[task]}", lang) if status[task] in (DONE, PARTLY, NOT_YET) else ""
            row += [status_text, _round_number(got[task]), grade.tries.get(task, "")]
        row = [*row, grade.trouble["say"] if grade.trouble else "", *status.values()]
        writer.writerow([make_plain(cell) if isinstance(cell, str) else cell for cell in row])
    return "\ufeff" + sink.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def _describe_trouble(grade: Grade, lang: str) -> str:
    """Return what kept it from more, and the next step."""
    if not grade.trouble:
        return ""
    why = show(grade.trouble, lang)
    step = hint(grade.trouble["say"], lang, **grade.trouble.get("args", {}))
    return say("grading.and_then", lang, why=why, step=step) if step else why


def earlier_submissions(path: Path, worth: Mapping[str, float]) -> list[str]:
    """Return the submissions in a table of grades that lies there, in either language; nothing where there is no file.

    Raises WorkbookError for what is not written over: `grading.no_grades` for a file that is no such table,
    `grading.other_table` for one of another notebook than the one with the tasks `worth`.
    """
    if not path.exists():
        return []
    rows = [row for _, row in rows_of(path)]
    if not rows or rows[0][0] not in {say("grading.column.submission", lang) for lang in LANGUAGES}:
        raise WorkbookError("grading.no_grades", path=str(path))
    others: list[Scalar] = [heading.rpartition("_")[0] for heading in rows[0] if heading.endswith("_status")]
    if others and not {*map(str, others)} & {*worth}:
        raise WorkbookError("grading.other_table", path=str(path), tasks=others)
    names = [row[0] for row in rows[1:]]  # without the quote that `make_plain` put before a formula
    return [name[1:] if name.startswith("'") and make_plain(name[1:]) == name else name for name in names]


def make_plain(text: str) -> str:
    """Return one line of so many characters that no spreadsheet takes for a formula."""
    line = re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text)[:LONGEST]
    return f"'{line}" if text.startswith(FORMULA) or line.lstrip().startswith(FORMULA) else line


def _round_number(value: float) -> float | int:
    return int(value) if value == int(value) else round(value, 2)
