"""Python inside a launch script: `python - <<'EOF'`, `cat > train.py <<EOF`, `python -c '...'`.

What the shell hands on letter by letter is scanned and edited in place. Where the shell would change it first
(`$name`, backticks, backslashes outside a quoted marker) it is scanned as it stands and not edited; what Python cannot
read then is said, not passed over.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Edit, Finding, Place, Status
from ascend_workbook.migration.reading.names import TRANSFER as MODULE
from ascend_workbook.migration.reading.names import list_imported_names
from ascend_workbook.migration.reading.source import Source, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.registry import choose_rules, judge_source
from ascend_workbook.migration.repair import (
    AUTO,
    MANUAL,
    MEASURED,
    REWRITE,
    TRANSFER,
    Known,
    add_knowledge,
    class_of,
    found_at,
)

CODE = "MIG154"
KNOWN = Known(MEASURED, TRANSFER, hours={"no_import": 0.1})
#: `<<EOF`, `<<-'EOF'`, `<< "EOF"`, `<<\EOF`; a here-string (`<<<`) is none.
HERE = re.compile(
    r"(?<!<)<<(?P<tabs>-?)[ \t]*"
    r"(?:(?P<q>\\?['\"])(?P<quoted>[^'\"\\\n]+)(?P=q)|(?P<escaped>\\?)(?P<mark>[A-Za-z_][\w.-]*))"
)
WRITES = re.compile(r"(?:>|\btee(?:\s+-a)?)\s*['\"]?[\w./${}-]+\.py['\"]?(?=\s|$)")
RUNS = re.compile(r"(?<![\w./-])(?:\S*/)?python[\d.]*(?:\s+-\w+)*\s*(?:-(?:\s+\S+)*)?\s*$")
INLINE = re.compile(r"(?<![\w.-])python[\d.]*(?:\s+-[A-Zabd-z]\w*)*\s+-\w*c\s+(?P<q>\\?['\"])")
#: What opens, closes or hides a quote of the shell.
QUOTING = re.compile(r"[\\'\"]|(?:^|(?<=[\s;]))#", re.MULTILINE)
#: Inside a shell's quote: the characters that mean something there.
MEANT = {"": "", "'": "'", '"': '"$`\\'}
CHANGED = re.compile(r"[$`\\]")


@dataclass(frozen=True)
class Program:
    """Python at an offset of the script. `exact`: the shell hands it on as it stands; `closed`: characters that mean
    something to the shell there, so that no edit may bring one in."""

    start: int
    end: int
    code: str
    exact: bool
    closed: str = ""


def find_programs(source: Source) -> Iterator[Program]:
    text, at, quote = source.text, 0, ""
    open_marks: set[str] = set()
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        comment = text[at:end].lstrip().startswith("#")
        seen = () if comment else (HERE.search(text, at, end), INLINE.search(text, at, end))
        first_match = min(filter(None, seen), key=lambda match: match.start(), default=None)
        if first_match is None:
            at, quote = end + 1, quote_at(text, at, end + 1, quote)
            continue
        begin, quote = at, quote_at(text, at, first_match.start(), quote)
        outer = quote or quote_at(text, begin, first_match.start(), "")
        if first_match.re is HERE:
            at = yield from _read_here_document(text, first_match, begin, outer, open_marks)
        else:
            at = yield from _read_inline_program(text, first_match, outer)
        quote = quote if at > first_match.end() else quote_at(text, first_match.start(), at, quote)


def quote_at(text: str, start: int, end: int, quote: str) -> str:
    """The quote of the shell that is open at `end`, where `quote` was at `start`; nothing where none is."""
    at = start
    while match := QUOTING.search(text, at, end):
        at = match.end()
        letter = match.group()
        if letter == "\\":
            at += quote != "'"
        elif quote or letter != "#":
            quote = "" if letter == quote else quote or letter.replace("#", "")
        else:
            line = text.find("\n", at, end)
            at = line if line >= 0 else end
    return quote


def _read_here_document(
    text: str, here: re.Match[str], begin: int, outer: str, open_marks: set[str]
) -> Generator[Program, None, int]:
    """The body of a here-document; gives the offset behind it. A mark that nothing closes begins none.

    Inside a quote the document is the inner shell's, and the quote may end right behind its last line."""
    end = text.find("\n", here.end())
    tabs = r"\t*" if here.group("tabs") else ""
    mark = re.escape(here.group("quoted") or here.group("mark"))
    last = rf"^{tabs}{mark}(?=[ \t]*(?:\r?$|{outer or '$'}))"
    if end < 0 or last in open_marks or (outer and quote_at(text, here.end(), end, outer) != outer):
        return here.end()
    close = re.compile(last, re.MULTILINE).search(text, end + 1)
    if close is None:
        open_marks.add(last)
        return here.end()
    before, behind = text[begin : here.start()], text[here.end() : end]
    runs = RUNS.search(re.split(r"[;&|]", before)[-1])
    if (WRITES.search(before) or WRITES.search(behind) or runs) and close.start() > end + 1:
        body_text = text[end + 1 : close.start()]
        code = re.sub(r"(?m)^\t+", "", body_text) if here.group("tabs") else body_text
        literal = bool(here.group("quoted") or here.group("escaped"))
        unchanged = not any(letter in code for letter in MEANT[outer])
        exact = code == body_text and (literal or not CHANGED.search(code)) and unchanged
        yield Program(end + 1, close.start(), code, exact, MEANT[outer] + ("" if literal else "$`\\"))
    return close.end()


def _read_inline_program(text: str, inline: re.Match[str], outer: str) -> Generator[Program, None, int]:
    quote = inline.group("q")
    close = re.compile(r'(?<!\\)"' if quote == '"' else re.escape(quote)).search(text, inline.end())
    if close is None:
        return inline.end()
    code = text[inline.end() : close.start()]
    exact = (quote == "'" or not CHANGED.search(code)) and not any(letter in code for letter in MEANT[outer])
    yield Program(inline.end(), close.start(), code, exact, MEANT[quote[-1]] + MEANT[outer])
    return close.end()


def check(source: Source) -> Iterator[Finding]:
    """The findings of every program in a launch script, at their places in it."""
    for program in find_programs(source):
        yield from _judge_program(source, program)


def _judge_program(source: Source, program: Program) -> Iterator[Finding]:
    rules = choose_rules(program.code.encode("utf-8", "surrogatepass"))
    if not rules:
        return
    try:
        inner = parse_text(program.code, source.path)
        inner.names  # noqa: B018 - raises where the tree nests too deeply
    except Unreadable as cause:
        at = source.place_at(program.start)
        yield Finding("MIG154", Status.NOT_LOOKED, "MIG154.unread", {"error": cause.error}, at)
        return
    program_findings = judge_source(inner, rules)
    for finding in program_findings:
        yield _move_finding(source, program, inner, finding)
    if any(class_of(finding) == AUTO for finding in program_findings) and MODULE not in list_imported_names(inner.tree):
        yield add_knowledge(found_at(source, program.start, "MIG154.no_import", MANUAL), KNOWN)


def _move_finding(source: Source, program: Program, inner: Source, finding: Finding) -> Finding:
    place = finding.place
    if place is None:
        return finding
    at = _offset_in_script(source.text[program.start : program.end], inner, place) + program.start
    moved = source.place_at(at)
    if not program.exact or any(letter in inner_edit.text for inner_edit in finding.edits for letter in program.closed):
        args = {**finding.args, "class": MANUAL} if class_of(finding) == REWRITE else finding.args
        return replace(finding, args=args, place=moved, edits=())
    by = program.start
    edits = tuple(Edit(edit.start + by, edit.end + by, edit.text) for edit in finding.edits)
    return replace(finding, place=moved, edits=edits)


def _offset_in_script(script_text: str, inner: Source, place: Place) -> int:
    """A place of the program as an offset of what the script has, before the shell takes the tabs off its lines."""
    if script_text == inner.text:
        return inner.line_starts[place.line - 1] + place.column - 1
    lines = script_text.split("\n")
    tabs = len(lines[place.line - 1]) - len(lines[place.line - 1].lstrip("\t"))
    return sum(len(line) + 1 for line in lines[: place.line - 1]) + tabs + place.column - 1


def mask_programs(source: Source) -> str:
    """The script with blanks for its programs, as long as before: what is left is the shell's."""
    text = source.text
    for program in find_programs(source):
        blank = re.sub(r"[^\r\n]", " ", text[program.start : program.end])
        text = text[: program.start] + blank + text[program.end :]
    return text


def refuse_broken(source: Source, after: str) -> None:
    """Refuse an edit of the script after which a program that could be read no longer can. Raises WorkbookError."""
    old, new = [*find_programs(source)], [*find_programs(replace(source, text=after))]
    if len(old) != len(new):
        raise WorkbookError("migration.broken", path=source.path, error="a quote would end elsewhere")
    for before, now in zip(old, new):
        if before.code != now.code:
            with suppress(Unreadable):
                parse_text(before.code, source.path)
                try:
                    parse_text(now.code, source.path)
                except Unreadable as cause:
                    raise WorkbookError("migration.broken", path=source.path, error=str(cause)) from cause
