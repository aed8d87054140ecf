"""The events of a Chrome trace, batch after batch, from a stream: memory holds one piece of the file at a time.

A piece is cut after its last `}, {`. Whether that stands between two events, and not inside one, is not guessed: only
then is `[` + the piece + `]` a JSON list, for the beginning of a list reads in one way only. Where it is not, the
text is walked bracket by bracket.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from types import TracebackType
from typing import Union

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers.native.scanner import Scanner
from ascend_workbook.profiling.readers.records import Record, parse_records

READ_SIZE = 2**20


class Source:
    """A .json or .json.gz file, read piece by piece. `cut` says, at its end, that a gzip stream ended too early. Raises
    WorkbookError, naming the file, for what cannot be read or unpacked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut = False
        try:
            plain = path.open("rb")
        except OSError as cause:
            raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause
        self._plain = plain
        self._file: Union[gzip.GzipFile, io.BufferedReader] = (
            gzip.GzipFile(fileobj=plain) if path.suffix == ".gz" else plain
        )

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._plain.close()

    def read_bytes(self, size: int = READ_SIZE) -> bytes:
        """Read `size` bytes, fewer only at the end."""
        pieces, left = [], size
        try:
            # read1 hands out all that could be unpacked; read would lose it to the error of a stream cut short
            while left and (piece := self._file.read1(left)):
                pieces.append(piece)
                left -= len(piece)
        except EOFError:
            self.cut = True
        except (OSError, zlib.error) as cause:
            raise WorkbookError("profiling.unreadable", path=str(self.path), error=str(cause)) from cause
        return b"".join(pieces)

    def fill_room(self, room: memoryview) -> int:
        """Fill the room, less of it only at the end; return how many bytes."""
        if isinstance(self._file, gzip.GzipFile):
            content = self.read_bytes(len(room))
            room[: len(content)] = content
            return len(content)
        try:
            return self._file.readinto(room)
        except OSError as cause:
            raise WorkbookError("profiling.unreadable", path=str(self.path), error=str(cause)) from cause

    def find_place(self, byte: int) -> tuple[int, int]:
        """Return (line, column) of a byte from the present position on, both from 1."""
        line, column = 1, 1
        while byte > 0 and (piece := self.read_bytes(min(byte, READ_SIZE))):
            byte -= len(piece)
            at = piece.rfind(b"\n")
            line, column = line + piece.count(b"\n"), len(piece) - at if at >= 0 else column + len(piece)
        return line, column


class Window:
    """What is at hand of a stream, always in the same memory: `size` bytes of `text`, behind which a 0 stands.
    `dropped` counts what was before these."""

    def __init__(self, begin: bytes, piece: int) -> None:
        self._piece = piece
        self.text = bytearray(max(2 * piece, len(begin)) + 1)
        self.text[: len(begin)] = begin
        self.size, self.dropped = len(begin), 0

    def fill_from(self, source: Source) -> None:
        """Read one piece more where less than one is at hand."""
        if self.size < self._piece:
            self.size += source.fill_room(memoryview(self.text)[self.size : self.size + self._piece])
        self.text[self.size] = 0

    def drop_bytes(self, count: int) -> None:
        """Drop the first `count` bytes."""
        self.text[: self.size - count] = self.text[count : self.size]
        self.size -= count
        self.dropped += count


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
    them. `read_batches` reads it; after that `is_list` tells its form (False: an object with traceEvents),
    `members` holds the object's other members, and `cut_at` the byte at which a file cut short ends, or None."""

    def __init__(self, path: Path, piece: int = PIECE, longest: int = LONGEST, scanner: Scanner | None = None) -> None:
        self.path = path
        self.is_list = False
        self.members: dict[str, object] = {}
        self.cut_at: int | None = None
        self._piece, self._longest, self._scanner, self._some = piece, longest, scanner, False
        #: What is at hand of the file, from byte `_offset` on; read up to `_at`
        self._text, self._offset, self._at, self._ended = b"", 0, 0, False

    def read_batches(self) -> Iterator[list[Record]]:
        """Yield the events in their order, but those that the scanner took. A file cut short gives those that are
        whole. Raises WorkbookError naming the file and the place where it is no trace, broken, or cut before any
        event."""
        with Source(self.path) as self._source:
            try:
                for batch in self._read_document():
                    self._some = self._some or bool(batch)
                    yield batch
            except _CutShort:
                self.cut_at = self._offset + len(self._text)
            if self._source.cut:
                self.cut_at = self._offset + len(self._text)
        if self.cut_at is not None and not self._some:
            raise self._make_error("profiling.cut_short", self.cut_at, "no whole event comes before")

    def _read_document(self) -> Iterator[list[Record]]:
        opening = self._next_byte()
        self.is_list = opening == b"["
        if self.is_list:
            yield from self._read_events()
        elif opening == b"{":
            yield from self._read_members()
        else:
            type_name = type(self._read_value()).__name__
            raise WorkbookError("profiling.not_a_trace", path=str(self.path), found=type_name)
        if self._next_byte(needed=False):
            raise self._make_error("profiling.broken_json", self._offset + self._at, "something follows the trace")

    def _read_members(self) -> Iterator[list[Record]]:
        self._at += 1
        has_events, more = False, self._next_byte() != b"}"
        while more:
            start = self._offset + self._at
            key = self._read_value()
            if not isinstance(key, str) or (key == EVENTS and has_events):
                raise self._make_error("profiling.broken_json", start, "expected the name of another member")
            self._expect_byte(b":")
            has_events = has_events or key == EVENTS
            if key == EVENTS and self._next_byte() == b"[":
                yield from self._read_events()
            else:
                self.members[key] = self._read_value()
            more = self._another_follows(b"}")
        self._at += 1
        if EVENTS in self.members or not has_events:
            raise WorkbookError("profiling.not_a_trace", path=str(self.path), found="dict")

    def _read_events(self) -> Iterator[list[Record]]:
        """Yield the events from the `[` to behind the `]`."""
        self._at += 1
        more = self._next_byte() != b"]"
        while more:
            if not (self._scanner and (yield from self._scan_events(self._scanner))):
                if len(self._text) - self._at < self._piece:
                    self._read_more()
                events = self._read_quickly()
                yield self._walk_events() if events is None else events
            more = self._another_follows(b"]")
        self._at += 1

    def _scan_events(self, scanner: Scanner) -> Generator[list[Record], None, bool]:
        """Lets the scanner take the events from here on until it takes none, for the next is odd, broken, too long or
        the last; gives those that it leaves to Python. Whether it took any."""
        window, start, some = Window(self._text[self._at :], self._piece), self._offset + self._at, False
        while True:
            window.fill_from(self._source)
            taken, asides = scanner.scan_events(window.text, window.size, self.is_list, some)
            if not taken:
                break
            window.drop_bytes(taken)
            some = self._some = True
            if asides:
                yield parse_records(b"[%b]" % b",".join(asides))
        self._text, self._offset, self._at = bytes(window.text[: window.size]), start + window.dropped, 0
        return some

    def _read_quickly(self) -> list[Record] | None:
        """Return all events up to the last border at hand; None where there is none, or none between two events."""
        end = min(len(self._text), self._at + 2 * PIECE)
        for _ in range(8):
            end = self._text.rfind(b"}", self._at, end)
            if end >= 0 and BORDER.match(self._text, end):
                try:
                    events = parse_records(
                        b"".join((b"[", memoryview(self._text)[self._at : end + 1], b"]")), self.is_list
                    )
                except ValueError:
                    return None
                self._at = end + 1
                return events
        return None

    def _walk_events(self) -> list[Record]:
        """Return the next event, and those behind it that are at hand."""
        end = self._end_of_value()
        while comma := COMMA.match(self._text, end):
            following = self._end_at(comma.end())
            if following is None:
                break
            end = following
        text = self._text[self._at : end]
        try:
            events = parse_records(b"[%b]" % text, self.is_list)
        except ValueError as cause:
            raise self._error_of_broken_value(text, cause, 1) from cause
        self._at = end
        return events

    def _read_value(self) -> object:
        end = self._end_of_value()
        text = self._text[self._at : end]
        try:
            value = json.loads(text.decode("utf-8"), parse_float=str)
        except (ValueError, RecursionError) as cause:
            raise self._error_of_broken_value(text, cause, 0) from cause
        self._at = end
        return value

    def _end_of_value(self) -> int:
        """Return where the value at hand ends in the text; read on until it is whole."""
        self._next_byte()
        while (end := self._end_at(self._at)) is None:
            if not self._read_more():
                raise _CutShort
        return end

    def _end_at(self, start: int) -> int | None:
        """Return where the value that begins here ends, or None where what is at hand does not hold all of it."""
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

    def _next_byte(self, needed: bool = True) -> bytes:
        """Return the next byte that is no space, or b"" at the end of the file where none is needed."""
        while True:
            self._at = SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at : self._at + 1]
            if not self._read_more():
                if needed:
                    raise _CutShort
                return b""

    def _expect_byte(self, byte: bytes) -> None:
        actual = self._next_byte()
        if actual != byte:
            error = f"expected {byte.decode()!r}, found {actual.decode('latin-1')!r}"
            raise self._make_error("profiling.broken_json", self._offset + self._at, error)
        self._at += 1

    def _another_follows(self, closing: bytes) -> bool:
        """Return whether a comma follows and not the closing bracket, which may not stand behind a comma."""
        if self._next_byte() == closing:
            return False
        self._expect_byte(b",")
        if self._next_byte() == closing:
            raise self._make_error("profiling.broken_json", self._offset + self._at, "nothing follows the comma")
        return True

    def _read_more(self) -> bool:
        """Read on, the more the longer the value at hand is already; False at the end of the file."""
        left = self._text[self._at :]
        if len(left) > self._longest:
            place = {"byte": self._offset + self._at, "limit": self._longest}
            raise WorkbookError("profiling.too_long", path=str(self.path), **place)
        piece = b"" if self._ended else self._source.read_bytes(max(self._piece, len(left)))
        self._ended = not piece
        self._offset += self._at
        self._text, self._at = left + piece, 0
        return bool(piece)

    def _error_of_broken_value(self, text: bytes, cause: Exception, ahead: int) -> Exception:
        """Return the error of a value that does not read; the text before it had `ahead` characters more."""
        start = self._offset + self._at
        if isinstance(cause, UnicodeDecodeError):
            return WorkbookError("profiling.not_utf8", path=str(self.path), byte=start + cause.start - ahead)
        if not isinstance(cause, json.JSONDecodeError):
            return self._make_error("profiling.broken_json", start, str(cause))
        if self._ended and self._at + len(text) == len(self._text) and not text.endswith((b"}", b"]")):
            return _CutShort()
        before = cause.doc[ahead : cause.pos].encode()
        return self._make_error("profiling.broken_json", start + len(before), cause.msg)

    def _make_error(self, key: str, byte: int, error: str) -> WorkbookError:
        with Source(self.path) as again:
            line, column = again.find_place(byte)
        return WorkbookError(key, path=str(self.path), error=error, byte=byte, line=line, column=column)
