"""The events of a Chrome trace, batch after batch, from a stream: memory holds one piece of the file at a time.

A piece is cut after its last `}, {`. Whether that stands between two events, and not inside one, is not guessed: only
then is `[` + the piece + `]` a JSON list, for the beginning of a list reads in one way only. Where it is not, the
text is walked bracket by bracket.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.profiling.readers.native.scanner import Scanner
from helpers.profiling.readers.records import Record, records
from helpers.profiling.readers.stream import Source, Window

#: One value longer than this is no event: nothing may make the reader hold more of a file
LONGEST = 2**26
#: Bytes that become records at once: these and all made of them should fit a cache
PIECE = 2**18
EVENTS = "traceEvents"
SPACE = re.compile(rb"[ \t\r\n]*")
COMMA = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")
BORDER = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*\{")
#: A text (group 1: its closing quote, empty where the file ends before it) or a bracket
TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[\[\]{}]', re.DOTALL)
SCALAR = re.compile(rb"[^ \t\r\n,:\[\]{}\"]+")


class _CutShort(Exception):
    """The file ends before the value does."""


class Document:
    """A trace file, of which an object's arrows are passed over: only the lists that torch_npu writes link events by
    them. `batches` reads it; after that `is_list` tells its form (False: an object with traceEvents),
    `members` holds the object's other members, and `cut_at` the byte at which a file cut short ends, or None."""

    def __init__(
        self, path: Path, piece: int = PIECE, longest: int = LONGEST, scanner: Scanner | None = None
    ) -> None:
        self.path = path
        self.is_list = False
        self.members: dict[str, Any] = {}
        self.cut_at: int | None = None
        self._piece, self._longest, self._scanner, self._some = piece, longest, scanner, False
        #: What is at hand of the file, from byte `_offset` on; read up to `_at`
        self._text, self._offset, self._at, self._ended = b"", 0, 0, False

    def batches(self) -> Iterator[list[Record]]:
        """The events in their order, but those that the scanner took. A file cut short gives those that are whole.

        Raises WorkbookError naming the file and the place where it is no trace, broken, or cut before any event.
        """
        with Source(self.path) as self._source:
            try:
                for batch in self._document():
                    self._some = self._some or bool(batch)
                    yield batch
            except _CutShort:
                self.cut_at = self._offset + len(self._text)
            if self._source.cut:
                self.cut_at = self._offset + len(self._text)
        if self.cut_at is not None and not self._some:
            raise self._fault("profiling.cut_short", self.cut_at, "no whole event comes before")

    def _document(self) -> Iterator[list[Record]]:
        opening = self._next()
        self.is_list = opening == b"["
        if self.is_list:
            yield from self._events()
        elif opening == b"{":
            yield from self._members()
        else:
            found = type(self._value()).__name__
            raise WorkbookError("profiling.not_a_trace", path=str(self.path), found=found)
        if self._next(needed=False):
            raise self._fault("profiling.broken_json", self._offset + self._at, "something follows the trace")

    def _members(self) -> Iterator[list[Record]]:
        self._at += 1
        seen, more = False, self._next() != b"}"
        while more:
            start = self._offset + self._at
            key = self._value()
            if not isinstance(key, str) or (key == EVENTS and seen):
                raise self._fault("profiling.broken_json", start, "expected the name of another member")
            self._expect(b":")
            seen = seen or key == EVENTS
            if key == EVENTS and self._next() == b"[":
                yield from self._events()
            else:
                self.members[key] = self._value()
            more = self._another(b"}")
        self._at += 1
        if EVENTS in self.members or not seen:
            raise WorkbookError("profiling.not_a_trace", path=str(self.path), found="dict")

    def _events(self) -> Iterator[list[Record]]:
        """From the `[` to behind the `]`."""
        self._at += 1
        more = self._next() != b"]"
        while more:
            if not (self._scanner and (yield from self._scan(self._scanner))):
                if len(self._text) - self._at < self._piece:
                    self._more()
                found = self._quick()
                yield self._walk() if found is None else found
            more = self._another(b"]")
        self._at += 1

    def _scan(self, scanner: Scanner) -> Generator[list[Record], None, bool]:
        """Lets the scanner take the events from here on until it takes none, for the next is odd, broken, too long or
        the last; gives those that it leaves to Python. Whether it took any."""
        window, start, some = Window(self._text[self._at :], self._piece), self._offset + self._at, False
        while True:
            window.fill(self._source)
            taken, asides = scanner.scan(window.text, window.size, self.is_list, some)
            if not taken:
                break
            window.drop(taken)
            some = self._some = True
            if asides:
                yield records(b"[%b]" % b",".join(asides))
        self._text, self._offset, self._at = window.rest(), start + window.dropped, 0
        return some

    def _quick(self) -> list[Record] | None:
        """All events up to the last border at hand, or None where there is none or it is not between two events."""
        end = min(len(self._text), self._at + 2 * PIECE)
        for _ in range(8):
            end = self._text.rfind(b"}", self._at, end)
            if end >= 0 and BORDER.match(self._text, end):
                try:
                    found = records(b"".join((b"[", memoryview(self._text)[self._at : end + 1], b"]")), self.is_list)
                except ValueError:
                    return None
                self._at = end + 1
                return found
        return None

    def _walk(self) -> list[Record]:
        """The next event, and those behind it that are at hand."""
        end = self._end_of_value()
        while comma := COMMA.match(self._text, end):
            following = self._end_at(comma.end())
            if following is None:
                break
            end = following
        text = self._text[self._at : end]
        try:
            found = records(b"[%b]" % text, self.is_list)
        except ValueError as cause:
            raise self._broken(text, cause, 1) from cause
        self._at = end
        return found

    def _value(self) -> Any:
        end = self._end_of_value()
        text = self._text[self._at : end]
        try:
            value = json.loads(text.decode("utf-8"), parse_float=str)
        except (ValueError, RecursionError) as cause:
            raise self._broken(text, cause, 0) from cause
        self._at = end
        return value

    def _end_of_value(self) -> int:
        """Where the value at hand ends in the text; reads on until it is whole."""
        self._next()
        while (end := self._end_at(self._at)) is None:
            if not self._more():
                raise _CutShort
        return end

    def _end_at(self, start: int) -> int | None:
        """The same for any place, or None where what is at hand does not hold all of it."""
        depth = 0
        if start < len(self._text) and self._text[start : start + 1] not in b'"[{':
            scalar = SCALAR.match(self._text, start)
            end = scalar.end() if scalar else start + 1
            return end if end < len(self._text) or self._ended else None
        for token in TOKEN.finditer(self._text, start):
            first = token.group()[:1]
            if first == b'"' and not token.group(1):
                return None
            depth += 1 if first in b"[{" else -1 if first in b"]}" else 0
            if depth <= 0:
                return token.end()
        return None

    def _next(self, needed: bool = True) -> bytes:
        """The next byte that is no space, or b"" at the end of the file where none is needed."""
        while True:
            self._at = SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at : self._at + 1]
            if not self._more():
                if needed:
                    raise _CutShort
                return b""

    def _expect(self, byte: bytes) -> None:
        found = self._next()
        if found != byte:
            error = f"expected {byte.decode()!r}, found {found.decode('latin-1')!r}"
            raise self._fault("profiling.broken_json", self._offset + self._at, error)
        self._at += 1

    def _another(self, closing: bytes) -> bool:
        """Whether a comma follows and not the closing bracket, which may not stand behind a comma."""
        if self._next() == closing:
            return False
        self._expect(b",")
        if self._next() == closing:
            raise self._fault("profiling.broken_json", self._offset + self._at, "nothing follows the comma")
        return True

    def _more(self) -> bool:
        """Reads on, the more the longer the value at hand is already; False at the end of the file."""
        left = self._text[self._at :]
        if len(left) > self._longest:
            self._fail_too_long()
        found = b"" if self._ended else self._source.read(max(self._piece, len(left)))
        self._ended = not found
        self._offset += self._at
        self._text, self._at = left + found, 0
        return bool(found)

    def _fail_too_long(self) -> None:
        place = {"byte": self._offset + self._at, "limit": self._longest}
        raise WorkbookError("profiling.too_long", path=str(self.path), **place)

    def _broken(self, text: bytes, cause: Exception, ahead: int) -> Exception:
        """The error of a value that does not read; the text before it had `ahead` characters more."""
        start = self._offset + self._at
        if isinstance(cause, UnicodeDecodeError):
            return WorkbookError("profiling.not_utf8", path=str(self.path), byte=start + cause.start - ahead)
        if not isinstance(cause, json.JSONDecodeError):
            return self._fault("profiling.broken_json", start, str(cause))
        if self._ended and self._at + len(text) == len(self._text) and not text.endswith((b"}", b"]")):
            return _CutShort()
        before = cause.doc[ahead : cause.pos].encode()
        return self._fault("profiling.broken_json", start + len(before), cause.msg)

    def _fault(self, key: str, byte: int, error: str) -> WorkbookError:
        with Source(self.path) as again:
            line, column = again.place(byte)
        return WorkbookError(key, path=str(self.path), error=error, byte=byte, line=line, column=column)
