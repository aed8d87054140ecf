"""Why the bytes of a file are no text for Python: in which encoding they may be, where the first wrong one stands.

Python reads a source as UTF-8 unless a comment in its first two lines names another encoding (PEP 263). Editors on
Chinese Windows used to save GB18030 (GBK) without one: Python refuses such a file, and so does the scan.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence, show

# Whether what Python cannot parse is Python 2: told by the parser's message or by the line it stopped at.

#: What the parser of Python 3 says of Python 2 only.
MESSAGES = re.compile(
    r"Missing parentheses in call to '(?:print|exec)|multiple exception types must be parenthesized"
    r"|leading zeros in decimal integer literals"
)
#: Statements and literals that Python 3 dropped, for messages that say no more than "invalid syntax".
LINES = re.compile(
    r"^\s*(?:print(?:\s*>>|\s+[\w'\"%(\[])|exec\s+[\w'\"]|raise\s+[\w.]+\s*,|except\s+[\w.]+\s*,\s*\w+\s*:)"
    r"|\bur['\"]|`[^`]+`|<>|\b0[0-7]+\b|\b(?:0[xX][\da-fA-F]+|\d+)[lL]\b|\bdef\s+\w+\([^)]*\(\w+\s*,"
)


def is_python_2(message: str, lines: list[str]) -> bool:
    """Return whether a file that does not parse is Python 2; `lines`: the line at which the parser stopped, or none."""
    return bool(MESSAGES.search(message)) or any(LINES.search(line) for line in lines)


COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
LINE = re.compile(rb"\r\n|\r|\n")
UNREADABLE, PYTHON_2 = PARSED = "unreadable.other", "unreadable.python_2"
#: How a common Chinese character stands in GB18030: both of its bytes are high, those of Latin-1 stand alone.
PAIR = re.compile(rb"[\x81-\xfe][\xa1-\xfe]")
HIGH = re.compile(rb"[\x80-\xff]")
MOSTLY = 0.9
#: Of the characters of a script in UTF-16 at least so many are ASCII.
SOME = 0.3
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


#: Of a script, a Dockerfile, a list of requirements: more is data.
LARGEST_BYTES = 4 << 20


class Unreadable(Exception):
    """A file that cannot be read: `key` names the sentence that says why, `line` where; 0 where no line is at fault."""

    def __init__(self, error: Scalar, line: int = 0, key: str = UNREADABLE, **args: Any) -> None:
        super().__init__(show(error, "en"))
        self.line = line
        self.key = key
        self.said: dict[str, Scalar] = {"error": error, **args}

    @property
    def error(self) -> Scalar:
        """Why: the parser's own words, or a sentence within a sentence."""
        if self.key == UNREADABLE:
            return self.said["error"]
        return Sentence(self.key, **self.said)

    @property
    def sentence_args(self) -> dict[str, Scalar]:
        """Return what the sentence MIG100.unreadable takes beside the path."""
        at: Scalar = Sentence("unreadable.line", line=self.line) if self.line and self.key in PARSED else ""
        return {"line": self.line, "at": at, "error": self.error, "next": NextStep(self.key, **self.said)}


def find_declared_encoding(data: bytes) -> str:
    """The encoding that a comment in the first two lines names; empty without one."""
    for line in LINE.split(data.removeprefix(codecs.BOM_UTF8), 2)[:2]:
        if cookie := COOKIE.match(line):
            return cookie[1].decode("ascii")
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return ""


def explain_undecoded_byte(data: bytes, at: int, encoding: str) -> Unreadable:
    """The byte at offset `at` is none of `encoding`'s."""
    lines = LINE.split(data[:at])
    guess = guess_encoding(data)
    args: dict[str, Any] = {
        "byte": f"0x{data[at]:02X}",
        "at_line": len(lines),
        "at_byte": len(lines[-1]) + 1,
        "encoding": encoding,
        "guess": Sentence("unreadable.guess", guess=guess) if guess else "",
        "name": guess or "NAME",
    }
    key = "unreadable.declared" if find_declared_encoding(data) else "unreadable.encoding"
    return Unreadable(f"{args['byte']} is not {encoding}", len(lines), key, **args)


def guess_encoding(data: bytes) -> str:
    """Return `gb18030` where the bytes look like Chinese text in it, else empty."""
    high = len(HIGH.findall(data))
    try:
        data.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    return "gb18030" if high and 2 * len(PAIR.findall(data)) >= MOSTLY * high else ""


def refuse_large(size: int, limit: int = LARGEST_BYTES) -> None:
    """Bytes of a file that is about to be read. Raises Unreadable."""
    if size > limit:
        raise Unreadable(f"> {limit >> 20} MiB", key="unreadable.large", limit=limit >> 20)


def refuse_binary(data: bytes) -> None:
    """Python has no NUL in its source; a file that has one is no script, whatever its name. Raises Unreadable."""
    at = data.find(b"\0")
    fewer, more = sorted(data[parity:512:2].count(0) for parity in (0, 1))
    # two bytes a character without a BOM: NUL stands before ASCII or behind it, hardly both
    is_wide = at >= 0 and 10 * fewer <= more and more >= SOME * len(data[:512]) / 2
    if data.startswith(UTF_16) or is_wide:
        raise Unreadable("UTF-16", key="unreadable.utf_16")
    if at >= 0:
        raise Unreadable("NUL", key="unreadable.binary", at=at)
