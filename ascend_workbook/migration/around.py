"""The code around a finding, as a reader of the report wants to see it: a few lines, the one in question marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Place
from ascend_workbook.migration.reading.source import LINE_END, decode_bytes
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.texts.lines import text_source
from ascend_workbook.migration.texts.notebook import read_code_cells

LINES = 3
LARGEST_BYTES = 16 << 20


def show_context(facts: dict[str, Any], finding: Finding, lines: int = LINES) -> str:
    """Return `lines` lines before and behind a finding's, numbered, `>` before its own, `^` under its column.

    `facts` are those of the scan's report. Raises WorkbookError where the file cannot be read, is not below the
    scanned folder, or has changed since it was scanned."""
    place = finding.place or Place("")
    every = LINE_END.split(text_of(facts, place))
    first, last = max(1, place.line - lines), min(len(every), place.line + lines)
    width = len(str(last))
    shown = []
    for number in range(first, last + 1):
        mark = ">" if number == place.line else " "
        shown.append(f"{mark} {number:>{width}}  {every[number - 1]}".rstrip())
        if number == place.line and place.column:
            before = every[number - 1][: place.column - 1]
            pad = "".join(" " if ord(character) < 0x2E80 else "  " for character in before.expandtabs(1))
            shown.append(f"  {'':>{width}}  {pad}^")
    return "\n".join(shown)


def text_of(facts: dict[str, Any], place: Place) -> str:
    """Read the text of a file of the scan, or of one cell of it. Raises WorkbookError as `show_context` does."""
    name, _, cell = place.path.partition("#cell")
    root = Path(facts["root"]).resolve()
    file = (root / name).resolve()
    if not file.is_relative_to(root):
        raise WorkbookError("storage.outside", name=name, root=str(root))
    try:
        if file.stat().st_size > LARGEST_BYTES:
            raise WorkbookError("command.file", path=str(file), error=f"> {LARGEST_BYTES >> 20} MiB")
        text = decode_bytes(file.read_bytes())[0]
        expected = facts["sha256"].get(name)
        if expected and text_source(text, name).sha256 != expected:
            raise WorkbookError("migration.changed", path=name)
        if cell:
            return next(
                notebook_cell.code for notebook_cell in read_code_cells(text) if notebook_cell.number == int(cell)
            )
    except OSError as error:
        raise WorkbookError("command.file", path=str(file), error=explain_os_error(error)) from error
    except (Unreadable, StopIteration, ValueError) as error:
        raise WorkbookError("migration.changed", path=name) from error
    return text
