"""The edits of a notebook: of its Python, judged as one text, of its shell commands, and of the files its cells write.

Lines and columns of those texts are the cells' own, so every edit goes back to the cell it came from, and from
there to the characters of the JSON.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Edit, Finding, Place
from ascend_workbook.migration.reading.source import LINE_END, Source, parse_text
from ascend_workbook.migration.reading.undecoded import explain_undecoded_byte
from ascend_workbook.migration.rewrite.change import Change, Row, apply_edits
from ascend_workbook.migration.texts import notebook
from ascend_workbook.migration.texts.lines import refuse_broken, text_source
from ascend_workbook.migration.texts.notebook import PlacedCell, find_syntax_error, read_cell

#: What a text becomes: the findings whose edits are made, and those left to a person.
Judge = Callable[[Source], "tuple[list[Finding], list[Finding]]"]


@dataclass
class Joined:
    """Lines of cells as one text; of each its cell, the number in it, and where it begins in the cell's code."""

    lines: list[str] = field(default_factory=list)
    at: list[tuple[PlacedCell, int, int]] = field(default_factory=list)

    def add_cell(self, cell: PlacedCell, text: str) -> None:
        self.lines += LINE_END.split(text)
        starts = [0, *(end.end() for end in LINE_END.finditer(cell.code))]
        self.at += [(cell, number, start) for number, start in enumerate(starts, 1)]

    def find_cell(self, source: Source, offset: int) -> tuple[PlacedCell, int, int]:
        """The cell, line and offset in its code of an offset of the joined text."""
        line = min(bisect_right(source.line_starts, offset), len(self.at))
        cell, number, start = self.at[line - 1]
        return cell, number, min(start + offset - source.line_starts[line - 1], len(cell.code))


@dataclass
class Edits:
    """What is gathered for one notebook."""

    name: str
    text: str
    made: list[Finding] = field(default_factory=list)
    left: list[Finding] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def take_findings(self, joined: Joined, source: Source, judge: Judge) -> None:
        applied_findings, left = judge(source)
        refuse_broken(source, apply_edits(source, [edit for finding in applied_findings for edit in finding.edits]))
        for finding in applied_findings:
            self.made.append(self._place_in_cell(joined, finding))
            for edit in finding.edits:
                cell, number, start = joined.find_cell(source, edit.start)
                end = max(start, joined.find_cell(source, edit.end)[2])
                if start == end and start < (top := notebook.magic_end(cell.code)):
                    start = end = top  # IPython wants a cell magic first, which may be all that the cell has
                    whole = LINE_END.search(cell.code[:top][-1:])
                    edit = edit if whole else replace(edit, text=f"\n{edit.text}".rstrip("\r\n"))
                place = f"{self.name}#cell{cell.number}"
                new = "; ".join(edit.text.splitlines())
                self.rows.append((place, number, finding.rule, cell.code[start:end], new))
                self.edits += notebook.move_edits(self.text, cell, (Edit(start, end, edit.text),))
        self.left += [self._place_in_cell(joined, finding) for finding in left]

    def _place_in_cell(self, joined: Joined, finding: Finding) -> Finding:
        if finding.place is None or not joined.at:
            return finding
        cell, number, _ = joined.at[min(max(finding.place.line, 1), len(joined.at)) - 1]
        return replace(finding, place=Place(f"{self.name}#cell{cell.number}", number, finding.place.column))


def rewrite_notebook(file: Path, name: str, python: Judge, shell: Judge) -> tuple[Change | None, list[Finding]]:
    """The notebook's change, if any, and the findings left. Raises Unreadable or OSError."""
    data = file.read_bytes()
    text, bom = _decode_notebook(data)
    next(notebook.code_cells(data), None)  # refuses another language than Python
    gathered = Edits(name, text)
    program = Joined()
    for cell in notebook.read_code_cells(text):
        if notebook.is_foreign(cell.code):
            target, body = notebook.split_foreign_cell(cell.code)
            if target.endswith(".py") and find_syntax_error(body) is None:
                joined = Joined()
                joined.add_cell(cell, body)
                gathered.take_findings(joined, parse_text(body, gathered.name), python)
            elif target and not target.endswith(".py"):
                _rewrite_cell(gathered, cell, body, target, shell)
            else:
                gathered.left += notebook.foreign_unread(cell.code, f"{gathered.name}#cell{cell.number}")
            continue
        cell_code = read_cell(cell.code)
        if cell_code.shell:
            _rewrite_cell(gathered, cell, cell_code.shell, "commands.sh", shell)
        if cell_code.error is None:
            program.add_cell(cell, cell_code.python)
        else:
            place, error = f"{name}#cell{cell.number}", cell_code.error
            gathered.left.append(notebook.not_read(place, error.lineno or 0, error.msg))
    gathered.take_findings(program, parse_text("\n".join(program.lines) + "\n", name), python)
    if not gathered.edits:
        return None, gathered.left
    after = apply_edits(text_source(text, name), gathered.edits)
    _check_notebook(text, after, name)
    digest = text_source(text, name).sha256
    findings, rows = tuple(gathered.made), tuple(gathered.rows)
    return Change(name, file, data, bom + after.encode("utf-8"), findings, rows, digest), gathered.left


def _rewrite_cell(gathered: Edits, cell: PlacedCell, text: str, target: str, judge: Judge) -> None:
    joined = Joined()
    joined.add_cell(cell, text)
    gathered.take_findings(joined, text_source(text, target), judge)


def _decode_notebook(data: bytes) -> tuple[str, bytes]:
    bom = data[:3] if data.startswith(b"\xef\xbb\xbf") else b""
    try:
        return data[len(bom) :].decode("utf-8"), bom
    except UnicodeDecodeError as cause:
        raise explain_undecoded_byte(data, len(bom) + cause.start, "utf-8") from cause


def _check_notebook(before: str, after: str, name: str) -> None:
    """Everything but the sources is as it was, and each cell that was Python still is."""
    for cell_before, other in zip(notebook.read_code_cells(before), notebook.read_code_cells(after)):
        top = cell_before.code[: notebook.magic_end(cell_before.code)]
        if not other.code.startswith(top):
            moved = f"{top.strip()} would move"
            raise WorkbookError("migration.broken", path=f"{name}#cell{other.number}", error=moved)
        was = not notebook.is_foreign(cell_before.code) and read_cell(cell_before.code).error is None
        error = read_cell(other.code).error if was else None
        if error is not None:
            raise WorkbookError("migration.broken", path=f"{name}#cell{other.number}", error=error.msg)
    if _without_sources(json.loads(before)) != _without_sources(json.loads(after)):
        raise WorkbookError("migration.broken", path=name, error="other parts of the notebook would change")


def _without_sources(content: object) -> object:
    if isinstance(content, list):
        return [_without_sources(value) for value in content]
    if isinstance(content, dict):
        code = content.get("cell_type") == "code"
        return {
            key: _without_sources(value) for key, value in content.items() if not (code and key in ("source", "input"))
        }
    return content
