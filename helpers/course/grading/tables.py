"""CSV files as people save them: UTF-8 or UTF-16 or GBK, with commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from helpers.course.grading.names import composed, without_suffix
from helpers.errors import WorkbookError, reason

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
    """(line, cells) of each row that is not empty. Raises WorkbookError where it is no table of text, or a quote has no
    end: it would take in all rows below it."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        raise WorkbookError("command.file", path=str(path), error=reason(error)) from error
    text = _text(data, path)
    lines = text.splitlines()
    if lines and lines[0].lower().startswith("sep="):  # Excel's own first line
        lines[0] = ""
    read = [_split("\n".join(lines), separator) for separator in SEPARATORS]
    found = next((rows for rows in read if rows is not None and all(len(row) > 1 for _, row in rows)), read[0])
    if found is None:
        raise WorkbookError("grading.no_csv", path=str(path))
    return found


def _text(data: bytes, path: Path) -> str:
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


def _split(text: str, separator: str) -> list[tuple[int, list[str]]] | None:
    """None where it is no CSV with this separator: a quote has no end, or a cell is as large as no name is."""
    reader = csv.reader(io.StringIO(f"{text}\n{END}", newline=""), delimiter=separator)
    try:
        read = [(reader.line_num, [each.strip() for each in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error:
        return None
    return read[:-1] if read[-1][1] == [END] else None


def names_in(path: str | os.PathLike[str]) -> dict[str, str]:
    """Submission, without its suffix -> student; nothing for no path. A first line of headings is left out.

    Raises WorkbookError for a line without a student, and for two lines on one submission.
    """
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, row in rows_of(Path(path)) if path else []:
        if len(row) < 2 or not row[0] or not row[1] or "\n" in row[0] + row[1]:
            raise WorkbookError("grading.names", path=str(path), line=line)
        name = without_suffix(composed(row[0]))
        if not found and name.lower() in HEADINGS:
            continue
        if name in found and found[name] != row[1]:
            raise WorkbookError("grading.names_twice", path=str(path), line=line, other=lines[name], name=name)
        found[name], lines[name] = composed(row[1]), line
    return found
