"""CSV files as people save them: UTF-8 or UTF-16 or GBK, with commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from course.grading.names import compose_name, without_suffix

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
    has no end: it would take in all rows below. Raises WorkbookError where it is no table of text, or a quote has no
    end: it would take in all rows below it."""
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
    """Return the rows; None where it is no CSV with this separator: a quote has no end, or a cell is as large as no
    name is.
    """
    reader = csv.reader(io.StringIO(f"{text}\n{END}", newline=""), delimiter=separator)
    try:
        read = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error:
        return None
    return read[:-1] if read[-1][1] == [END] else None


def names_in(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return each submission, without its suffix, with its student; nothing for no path. A first line of headings is
    left out. A first line of headings is left out.

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
