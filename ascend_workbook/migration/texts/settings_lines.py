"""The lines of a file of settings, YAML or JSON, as commands or as keys with values.

No parser of YAML: places must be to the letter, and templates (Jinja, Helm) are no YAML. What stands inside a text of
several lines or a string is no key.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.texts import shell

#: `key: value` of YAML, `"key": "value"` of JSON, alone on a line or in braces.
ENTRY = re.compile(
    r"(?:^\s*(?:-\s+)*|[{,]\s*)(?P<k>['\"]?)(?P<key>[A-Za-z_][\w./-]*)(?P=k)\s*:\s*"
    r"(?P<q>['\"])?(?P<value>(?(q)[^'\"\\]*|[^\s,{}\[\]'\"#]+))(?(q)(?P=q))(?=\s*(?:[,}\]]|$))"
)
#: A string in quotes where YAML begins one; `close` is empty where the line does not end it.
STRING = re.compile(
    r"(?:^\s*(?:-\s+)*|[{\[,]\s*|:\s+|(?<=['\"]):\s*)(?:[!&]\S+\s+)*"
    r"(?P<s>'(?:[^']|'')*|\"(?:\\.|[^\"\\])*)(?P<close>['\"])?"
)
ENDS = {"'": re.compile(r"(?:[^']|'')*'"), '"': re.compile(r"(?:\\.|[^\"\\])*\"", re.DOTALL)}
#: A plain value behind a key or a dash: deeper lines below go on with it.
PLAIN = re.compile(r"^(?P<in>\s*(?:-\s+)*)(?:['\"]?[\w./-]+['\"]?\s*:\s+|(?<=-\s))(?P<value>[^\s'\"{\[|>&*!#].*)$")
DASHES = re.compile(r"^\s*(?:-\s+)*")
COMMAND_KEYS = {"command", "cmd", "run", "script", "entrypoint", "args", "setup", "before_script", "test"}
COMMAND = re.compile(rf"^\s*(?:-\s+)*(?P<k>['\"]?)(?:{'|'.join(sorted(COMMAND_KEYS))})(?P=k)\s*:\s*(?=[^\s|>])")
ITEM = re.compile(r"^\s*-\s+['\"]?(?=[A-Za-z_][A-Za-z0-9_]*=)")


def read_setting_lines(source: Source) -> Iterator[tuple[int, str, bool]]:
    """Offset, characters without comment, and whether they are a command's; other text of several lines is left out."""
    inside, is_command, quoted_to = -1, False, 0
    for number, start in enumerate(source.line_starts, 1):
        line = source.read_line(number)
        if source.path.endswith(".json"):
            yield start, line, False
            continue
        indent = len(line) - len(line.lstrip())
        if start < quoted_to or (inside >= 0 and (not line.strip() or indent > inside)):
            if is_command and start >= quoted_to:
                yield start, shell.without_comment(line), True
            continue
        line = shell.without_comment(line)
        dashes, block, plain = DASHES.match(line), _key_of_block(line), PLAIN.match(line)
        above = dashes.group() if dashes else ""
        command_match = None if block is not None else COMMAND.match(line) or ITEM.match(line)
        is_command = command_match is not None or block in COMMAND_KEYS
        goes_on = block is not None or plain is not None
        inside = len(above) if goes_on and (block or ":" in line) else len(above.rstrip()) - 1 if goes_on else -1
        quoted_to = _quoted_to(source, start, line)
        if command_match:
            yield start + command_match.end(), line[command_match.end() :], True
        elif block is None:
            yield start, line, False


def _key_of_block(line: str) -> str | None:
    """The key whose block of text begins here (`run: |`), empty for an item's (`- >-`); None where none begins."""
    words = line.split()
    if not words or not re.fullmatch(r"[|>][-+\d]{0,2}", words.pop()):
        return None
    while words and words[-1][0] in "!&":
        words.pop()
    while words and words[0] in ("-", "?", "---"):
        words.pop(0)
    if words and not words[-1].endswith(":"):
        return None
    return " ".join(words)[:-1].strip("'\" ")


def _quoted_to(source: Source, start: int, line: str) -> int:
    """Where the string ends that a line begins and does not end; 0 where it begins none."""
    for string in STRING.finditer(line):
        at = string.start("s")
        if not string.group("close") and "," not in line[:at]:
            end = ENDS[line[at]].match(source.text, start + at + 1)
            return end.end() if end else 0
    return 0


def find_entries(line: str, *, is_json: bool) -> Iterator[re.Match[str]]:
    """The keys with their values on a line, as matches of ENTRY; what stands inside a string is none."""
    spans = [(match.start("s"), match.end()) for match in STRING.finditer(line)]
    at = 0
    while match := ENTRY.search(line, at):
        key = match.span("key")
        behind = bisect_right(spans, (key[0], 0)) - 1
        around = spans[behind] if behind >= 0 and key[0] < spans[behind][1] else None
        if around == (key[0] - 1, key[1] + 1) or (around is None and not is_json):
            yield match
            at = match.end()
        else:
            at = around[1] if around else match.end()
