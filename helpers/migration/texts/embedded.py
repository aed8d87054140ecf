"""Python inside a launch script: `python - <<'EOF'`, `cat > train.py <<EOF`, `python -c '...'`.

What the shell hands on letter by letter is scanned and edited in place. Where the shell would change it first
(`$name`, backticks, backslashes outside a quoted marker) it is scanned as it stands and not edited; what Python cannot
read then is said, not passed over.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

from helpers.finding import Edit, Finding, Place, Status
from helpers.migration.knowledge import MEASURED, TRANSFER, Known, dress
from helpers.migration.reading.imports import TRANSFER as MODULE
from helpers.migration.reading.imports import imported
from helpers.migration.reading.source import Source, parse
from helpers.migration.reading.undecoded import Unreadable
from helpers.migration.registry import wanted
from helpers.migration.repair import AUTO, MANUAL, REWRITE, class_of, found_at
from helpers.rules import judge

CODE = "MIG154"
KNOWN = Known(MEASURED, TRANSFER, hours={"no_import": 0.1})
#: `<<EOF`, `<<-'EOF'`, `<< "EOF"`; a here-string (`<<<`) is none.
HERE = re.compile(r"(?<!<)<<(?P<tabs>-?)\s*(?P<q>['\"]?)(?P<mark>[A-Za-z_]\w*)(?P=q)")
WRITES = re.compile(r"(?:>|\btee(?:\s+-a)?)\s*['\"]?[\w./${}-]+\.py['\"]?(?=\s|$)")
RUNS = re.compile(r"(?<![\w./-])(?:\S*/)?python[\d.]*(?:\s+-\w+)*\s*(?:-(?:\s+\S+)*)?\s*$")
INLINE = re.compile(r"(?<![\w.-])python[\d.]*(?:\s+-[A-Zabd-z]\w*)*\s+-\w*c\s+(?P<q>['\"])")
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


def programs(source: Source) -> Iterator[Program]:
    text, at = source.text, 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        here = None if line.lstrip().startswith("#") else HERE.search(line)
        if here:
            at = yield from _here(text, line, here, end)
            continue
        inline = None if line.lstrip().startswith("#") else INLINE.search(text, at, end)
        if inline:
            at = yield from _inline(text, inline, end)
            continue
        at = end + 1


def _here(text: str, line: str, here: re.Match[str], end: int) -> Generator[Program, None, int]:
    """The body of a here-document; gives the offset behind it."""
    tabs = r"\t*" if here.group("tabs") else ""
    close = re.compile(rf"^{tabs}{re.escape(here.group('mark'))}[ \t]*\r?$", re.MULTILINE).search(text, end + 1)
    stop = close.start() if close else len(text)
    if _is_python(line, here) and stop > end:
        written = text[end + 1 : stop]
        code = re.sub(r"(?m)^\t+", "", written) if here.group("tabs") else written
        kept = code == written
        exact = kept and bool(here.group("q") or not CHANGED.search(code))
        yield Program(end + 1, stop, code, exact, "" if here.group("q") else "$`\\")
    return close.end() + 1 if close else len(text)


def _is_python(line: str, here: re.Match[str]) -> bool:
    before, behind = line[: here.start()], line[here.end() :]
    if WRITES.search(before) or WRITES.search(behind):
        return True
    return RUNS.search(re.split(r"[;&|]", before)[-1]) is not None


def _inline(text: str, inline: re.Match[str], end: int) -> Generator[Program, None, int]:
    quote = inline.group("q")
    pattern = r"'" if quote == "'" else r'(?<!\\)"'
    close = re.compile(pattern).search(text, inline.end())
    if close is None:
        return end + 1
    code = text[inline.end() : close.start()]
    closed = quote if quote == "'" else '"$`\\'
    yield Program(inline.end(), close.start(), code, quote == "'" or not CHANGED.search(code), closed)
    rest = text.find("\n", close.end())
    return rest + 1 if rest >= 0 else len(text)


def check(source: Source) -> Iterator[Finding]:
    """The findings of every program in a launch script, at their places in it."""
    for program in programs(source):
        yield from _judge(source, program)


def _judge(source: Source, program: Program) -> Iterator[Finding]:
    rules = wanted(program.code.encode("utf-8", "surrogatepass"))
    if not rules:
        return
    try:
        inner = parse(program.code, source.path)
        inner.names  # noqa: B018 - raises where the tree nests too deeply
    except Unreadable as cause:
        at = found_at(source, program.start, "MIG154.unread", MANUAL).place
        yield Finding("MIG154", Status.SKIPPED, "MIG154.unread", {"error": cause.error}, at)
        return
    found = [dress(one, rule.known) for rule in rules for one in judge(inner, {rule.code: rule.check})]
    for finding in found:
        yield _moved(source, program, inner, finding)
    if any(class_of(finding) == AUTO for finding in found) and MODULE not in imported(inner.tree):
        yield dress(found_at(source, program.start, "MIG154.no_import", MANUAL), KNOWN)


def _moved(source: Source, program: Program, inner: Source, finding: Finding) -> Finding:
    place = finding.place
    if place is None:
        return finding
    at = _offset(source.text[program.start : program.end], inner, place) + program.start
    moved: Place | None = found_at(source, at, finding.key, MANUAL).place
    if not program.exact or any(letter in one.text for one in finding.edits for letter in program.closed):
        args = {**finding.args, "class": MANUAL} if class_of(finding) == REWRITE else finding.args
        return replace(finding, args=args, place=moved, edits=())
    edits = tuple(Edit(one.start + program.start, one.end + program.start, one.text) for one in finding.edits)
    return replace(finding, place=moved, edits=edits)


def _offset(written: str, inner: Source, place: Place) -> int:
    """A place of the program as an offset of what the script has, before the shell takes the tabs off its lines."""
    if written == inner.text:
        return inner.line_starts[place.line - 1] + place.column - 1
    lines = written.split("\n")
    tabs = len(lines[place.line - 1]) - len(lines[place.line - 1].lstrip("\t"))
    return sum(len(line) + 1 for line in lines[: place.line - 1]) + tabs + place.column - 1


def masked(source: Source) -> str:
    """The script with blanks for its programs, as long as before: what is left is the shell's."""
    text = source.text
    for program in programs(source):
        blank = re.sub(r"[^\r\n]", " ", text[program.start : program.end])
        text = text[: program.start] + blank + text[program.end :]
    return text
