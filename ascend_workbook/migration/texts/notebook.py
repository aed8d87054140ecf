"""Code cells of a notebook: the Python rules on all cells together, shell commands by the rules of scripts.

Names run on from cell to cell, so the cells are judged as one text; a file that %%writefile makes is one of its own.
A place is the cell, counted from 1 over all cells as Jupyter shows them, and the line in it:
`train.ipynb#cell3:2`. Edits are not offered: the file is JSON.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ascend_workbook.findings.finding import Edit, Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.reading.source import LINE_END, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable, explain_undecoded_byte
from ascend_workbook.migration.registry import choose_rules, judge_source
from ascend_workbook.migration.repair import Findings, shorten_line
from ascend_workbook.migration.texts.lines import is_text, scan_lines, text_source

UNIT = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)


@dataclass(frozen=True)
class PlacedCell:
    """A code cell: its number from 1 over all cells, its text, and the place of each character in the file.

    `ends` closes the place of the last character of each string; `places[i]` is (start, end)."""

    number: int
    code: str
    places: list[tuple[int, int]]
    after: int


class _Placed(str):
    """A string of a JSON text with where it stands there, its quotes included."""

    span: tuple[int, int]


def _load_placed(text: str) -> Any:
    """Load JSON whose values know their places where they are strings; keys do not."""

    def parse_string(text: str, begin: int, strict: bool) -> tuple[_Placed, int]:
        value, end = json.decoder.scanstring(text, begin, strict)  # type: ignore[attr-defined]
        placed = _Placed(value)
        placed.span = (begin - 1, end)
        return placed, end

    decoder: Any = json.JSONDecoder()
    decoder.parse_string = parse_string
    decoder.scan_once = json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    return decoder.decode(text)


def read_code_cells(text: str) -> list[PlacedCell]:
    """Read the code cells with a source. Raises Unreadable where the text is no notebook."""
    try:
        content = _load_placed(text)
        sheet = content if "cells" in content else content["worksheets"][0]
        cells = [(cell.get("cell_type"), cell.get("source", cell.get("input"))) for cell in sheet["cells"]]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as cause:
        raise Unreadable(Sentence("migration.unread.no_notebook")) from cause
    code_cells = []
    for number, (kind, source) in enumerate(cells, 1):
        parts = source if isinstance(source, list) else [] if source is None else [source]
        if kind == "code" and not all(isinstance(part, _Placed) for part in parts):
            raise Unreadable(Sentence("migration.unread.unplaced", cell=number))
        if kind == "code" and parts:
            code_cells.append(_make_cell(text, number, [part.span for part in parts]))
    return code_cells


def move_edits(text: str, cell: PlacedCell, edits: Iterable[Edit]) -> list[Edit]:
    """Edits of the cell's code as edits of the file."""
    plain = text.isascii()
    file_edits: list[Edit] = []
    for change in edits:
        new = json.dumps(change.text, ensure_ascii=plain)[1:-1]
        covered = cell.places[change.start : change.end]
        if not covered:
            at = cell.places[change.start][0] if change.start < len(cell.places) else cell.after
            file_edits.append(Edit(at, at, new))
            continue
        for place in reversed(covered[1:]):
            file_edits.append(Edit(*place, ""))
        file_edits.append(Edit(*covered[0], new))
    return file_edits


def _make_cell(text: str, number: int, parts: list[tuple[int, int]]) -> PlacedCell:
    code: list[str] = []
    places: list[tuple[int, int]] = []
    after = parts[-1][1] - 1
    for start, end in parts:
        for unit in UNIT.finditer(text, start + 1, end - 1):
            code.append(json.loads(f'"{unit.group()}"', strict=False))
            places.append(unit.span())
    return PlacedCell(number, "".join(code), places, after)


# A notebook cell as Python: magics and shell commands are taken out, every line and column stays where it is.

#: `%time f(x)`: the magic's argument is Python.
TIMED = re.compile(r"(?P<in>\s*)%(?:time|timeit|prun|memit|mprun|lprun)\b(?:\s+-\w+(?:\s+\d+\b)?)*\s*(?P<code>.*)")
#: `files = !ls` and `took = %timeit -o f(x)`: what is assigned does not matter.
ASSIGNED = re.compile(r"(?P<in>\s*)(?P<target>[A-Za-z_][\w.,\s\[\]]*=\s*)[!%]")
OTHER = re.compile(r"(?P<in>\s*)(?:[%!?]|[^#'\"]*\?{1,2}\s*$)")
#: Commands of a shell, in a line of a cell.
COMMAND = re.compile(
    r"\s*(?:[A-Za-z_][\w.,\s\[\]]*=\s*)?"
    r"(?:!!?|%(?:env|set_env|sx|sc|system)\b|%(?=(?:uv\s+)?pip\b|conda\b|mamba\b))"
)


@dataclass(frozen=True)
class Cell:
    """`python` and `shell` are as long as the cell, blank or `pass` for the other; `error`: of Python's parser."""

    python: str
    shell: str = ""
    error: SyntaxError | None = None


def read_cell(code: str) -> Cell:
    lines = LINE_END.split(code)
    commands = [""] * len(lines)
    for _ in range(len(lines) + 1):
        python = "\n".join(lines)
        error = find_syntax_error(python)
        at = (error.lineno or 0) - 1 if error else -1
        plain = without_magic(lines[at]) if 0 <= at < len(lines) else None
        if plain is None or plain == lines[at]:
            break
        _take_command(lines, at, commands)
        lines[at] = plain
    return Cell(python, "\n".join(commands) if any(commands) else "", error)


def without_magic(line: str) -> str | None:
    """The line as Python, as long as before where it matters; None where it does not look like IPython's."""
    timed = TIMED.match(line)
    if timed and timed.group("code") and find_syntax_error(timed.group("code")) is None:
        return f"{timed.group('in')}0;".ljust(timed.start("code")) + timed.group("code")
    assigned = ASSIGNED.match(line)
    if assigned:
        return f"{assigned.group('in')}{assigned.group('target')}0"
    other = OTHER.match(line)
    return f"{other.group('in')}pass" if other else None


def _take_command(lines: list[str], at: int, commands: list[str]) -> None:
    """Notes a shell command; the lines that a backslash joins to it are no Python."""
    end = at
    while lines[end].endswith("\\") and end + 1 < len(lines):
        end += 1
    command = COMMAND.match(lines[at])
    if command:
        commands[at : end + 1] = [" " * command.end() + lines[at][command.end() :], *lines[at + 1 : end + 1]]
    lines[at + 1 : end + 1] = [""] * (end - at)


def find_syntax_error(python: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(python)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error))
    return None


#: A cell magic, and those whose body is this notebook's Python.
CELL_MAGIC = re.compile(r"^\s*%%(!|\w+)[ \t]*([^\r\n]*)")
TRANSPARENT = {"time", "timeit", "capture", "prun", "memit"}
SHELLS = {"bash", "sh", "script", "system", "sx", "!"}
WRITES = {"writefile", "file"}
CUDA = re.compile(r"cuda|nccl|nvidia", re.IGNORECASE)


@dataclass
class Program:
    """Python that belongs together; of each of its lines the cell, the number in it, and how the cell has it."""

    lines: list[str] = field(default_factory=list)
    at: list[tuple[str, int, str]] = field(default_factory=list)

    def add_cell(self, place: str, code: str, python: str) -> None:
        self.lines += python.split("\n")
        self.at += [(place, number, line) for number, line in enumerate(LINE_END.split(code), 1)]


def scan_notebook(data: bytes, name: str) -> list[Finding]:
    """The findings of a notebook's bytes, cell by cell. Raises Unreadable where it is no notebook of Python."""
    program = Program()
    notebook_findings: list[Finding] = []
    for number, code in code_cells(data):
        place = f"{name}#cell{number}"
        if is_foreign(code):
            notebook_findings += _scan_foreign_cell(code, place)
            continue
        cell = read_cell(code)
        notebook_findings += _move_findings(scan_lines(text_source(cell.shell, "commands.sh")), place)
        if cell.error:
            notebook_findings.append(not_read(place, cell.error.lineno or 0, cell.error.msg))
        else:
            program.add_cell(place, code, cell.python)
    notebook_findings += _judge_program(program, name)

    def order(finding: Finding) -> tuple[int, int, int, str]:
        place = finding.place or Place("")
        return int(place.path.rpartition("#cell")[2] or 0), place.line, place.column, finding.rule

    return sorted(notebook_findings, key=order)


def is_foreign(code: str) -> bool:
    """A cell whose body is not this notebook's Python."""
    magic = CELL_MAGIC.match(code)
    return magic is not None and magic.group(1) not in TRANSPARENT


def split_foreign_cell(code: str) -> tuple[str, str]:
    """The file that such a cell is or writes (empty where it is neither), and its body, as long as the cell."""
    magic = CELL_MAGIC.match(code)
    if magic is None:
        return "", code
    body = re.sub(r"[^\r\n]", " ", code[: magic.end()]) + code[magic.end() :]
    kind, words = magic.group(1), magic.group(2).split()
    target = words[-1] if kind in WRITES and words else ""
    if kind in SHELLS and not (kind == "script" and words and "sh" not in words[0]):
        target = "commands.sh"
    return target if target.endswith(".py") or is_text(target.rpartition("/")[2]) else "", body


def magic_end(code: str) -> int:
    """Where the lines down to a cell magic end; 0 where there is none."""
    magic = CELL_MAGIC.match(code)
    line = LINE_END.search(code, magic.end()) if magic else None
    return line.end() if line else len(code) if magic else 0


def _scan_foreign_cell(code: str, place: str) -> Iterator[Finding]:
    """A cell that is a shell's, that writes a file, or that is in another language."""
    target, body = split_foreign_cell(code)
    if target.endswith(".py"):
        program = Program()
        program.add_cell(place, body, LINE_END.sub("\n", body))
        try:
            yield from _judge_program(program, place)
        except Unreadable as cause:
            yield not_read(place, cause.line, str(cause))
    elif target:
        yield from _move_findings(scan_lines(text_source(body, target)), place)
    else:
        yield from foreign_unread(code, place)


def foreign_unread(code: str, place: str) -> Iterator[Finding]:
    """A cell that says CUDA in another language, or in Python that cannot be read."""
    target, body = split_foreign_cell(code)
    error = find_syntax_error(body) if target.endswith(".py") else None
    if error is not None:
        yield not_read(place, error.lineno or 0, error.msg)
    elif CUDA.search(body):
        magic = CELL_MAGIC.match(code)
        args: dict[str, Scalar] = {"path": place, "magic": magic.group(1) if magic else ""}
        yield Finding("MIG100", Status.NOT_LOOKED, "MIG100.foreign_cell", args, Place(place))


def _judge_program(program: Program, name: str) -> Iterator[Finding]:
    """The findings of the Python rules. Raises Unreadable."""
    text = "\n".join(program.lines) + "\n"
    rules = choose_rules(text.encode("utf-8", "surrogatepass"))
    for finding in judge_source(parse_text(text, name), rules) if rules else ():
        place = finding.place
        if place:
            cell, line, source_line = program.at[place.line - 1]
            args = {**finding.args, "code": shorten_line(source_line)} if "code" in finding.args else finding.args
            finding = replace(finding, args=args, place=Place(cell, line, place.column), edits=())
        yield finding


def _move_findings(findings: Findings, place: str) -> Iterator[Finding]:
    """Findings of a cell's lines at their place in the cell."""
    for finding in findings:
        at = finding.place or Place("")
        yield replace(finding, place=Place(place, at.line, at.column), edits=())


def code_cells(data: bytes) -> Iterator[tuple[int, str]]:
    """Number (from 1, over all cells) and code of each code cell. Raises Unreadable: no notebook of Python."""
    try:
        content: dict[str, Any] = json.loads(data)
        sheet = content if "cells" in content else content["worksheets"][0]  # worksheets: before version 4
        cells: list[dict[str, Any]] = list(sheet["cells"])
        about = content.get("metadata") or {}
        spec = (about.get("language_info") or {}).get("name") or (about.get("kernelspec") or {}).get("language")
        language = "python" if str(spec or "").lower().startswith("python") else str(spec or "").lower()
    except UnicodeDecodeError as cause:
        raise explain_undecoded_byte(data, cause.start, cause.encoding) from cause
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as cause:
        raise Unreadable(Sentence("migration.unread.no_notebook")) from cause
    if language not in ("", "python"):
        raise Unreadable(Sentence("migration.unread.language", language=language))
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            code = cell.get("source", cell.get("input", ""))
            yield number, "".join(map(str, code)) if isinstance(code, list) else str(code)


def not_read(place: str, line: int, error: Scalar) -> Finding:
    args = {"path": place, **Unreadable(error, line).sentence_args}
    return Finding("MIG100", Status.NOT_LOOKED, "MIG100.unreadable", args, Place(place, line))
