"""The events of a Chrome trace, batch after batch, from a stream: memory holds one piece of the file at a time.

What is damaged is passed over or ends the reading, and is told: a trace of which nearly all is whole is worth more
than none."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Union

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.readers.native.scanner import Scanner

READ_SIZE = 2**20
#: What is shown of a file that is no JSON
SHOWN = 40
#: How a packed file begins, whatever it is called; and what Git leaves in the place of a file that it keeps elsewhere
PACKED, POINTER = b"\x1f\x8b", b"version https://git-lfs.github.com/spec/"
#: What the decoder makes of bytes that are no UTF-8, one for each
BAD = re.compile("[\udc80-\udcff]")


class Source:
    """A .json or .json.gz file, read piece by piece, as UTF-8: without a byte order mark, and what is no UTF-8 replaced
    by U+FFFD; `replaced` counts these bytes. `cut` says, at its end, that a gzip stream ended too early, `damage` what
    is wrong with one, and where in the packed file. Raises WorkbookError, naming the file, for what cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut, self.replaced, self.begin = False, 0, 0
        self.damage: dict[str, Any] = {}
        try:
            plain = path.open("rb")
            begin = plain.read(len(POINTER))
            plain.seek(0)
        except OSError as cause:
            raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause
        self._plain = plain
        packed = begin != POINTER and (path.suffix == ".gz" or begin.startswith(PACKED))
        self._file: Union[gzip.GzipFile, io.BufferedReader] = gzip.GzipFile(fileobj=plain) if packed else plain
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._first, self._over = True, False

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._plain.close()

    def read_bytes(self, size: int = READ_SIZE) -> bytes:
        """Read about `size` bytes of whole characters, none only at the end."""
        clean = b""
        while not clean and not self._over:
            piece = self._read_raw(size)
            self._over = not piece
            if self._first and piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                begin = repr(piece[:SHOWN])[2:-1]
                raise WorkbookError("profiling.not_json", path=str(self.path), begin=begin)
            if self._first and piece.startswith(codecs.BOM_UTF8):
                self.begin, piece = len(codecs.BOM_UTF8), piece[len(codecs.BOM_UTF8) :]
            self._first = False
            clean = piece
            if self._decoder.getstate()[0] or not piece.isascii():
                text, bad = BAD.subn("\ufffd", self._decoder.decode(piece, self._over))
                clean, self.replaced = text.encode(), self.replaced + bad
        return clean

    def _read_raw(self, size: int) -> bytes:
        pieces, left = [], size
        try:
            # read1 hands out all that could be unpacked; read would lose it to the error of a stream cut short
            while left and (piece := self._file.read1(left)):
                pieces.append(piece)
                left -= len(piece)
        except EOFError:
            self.cut = True
        except (gzip.BadGzipFile, zlib.error) as cause:
            self.damage = {"byte": self._plain.tell(), "error": str(cause)}
        except OSError as cause:
            raise WorkbookError("profiling.unreadable", path=str(self.path), error=str(cause)) from cause
        return b"".join(pieces)

    def find_place(self, byte: int) -> tuple[int, int]:
        """Return (line, column) of a byte from the present position on, both from 1."""
        line, column = 1, 1
        while byte > 0 and (piece := self.read_bytes(min(byte, READ_SIZE))):
            piece, byte = piece[:byte], byte - len(piece)
            at = piece.rfind(b"\n")
            line, column = line + piece.count(b"\n"), len(piece) - at if at >= 0 else column + len(piece)
        return line, column


class Window:
    """What is at hand of a stream, always in the same memory: `size` bytes of `text`, behind which a 0 stands.
    `dropped` counts what was before these."""

    def __init__(self, begin: bytes, piece: int) -> None:
        self._piece = piece
        self.text = bytearray(4 * piece + len(begin) + 1)  # a replaced byte becomes three
        self.text[: len(begin)] = begin
        self.size, self.dropped = len(begin), 0

    def fill_from(self, source: Source) -> None:
        """Read one piece more where less than one is at hand."""
        if self.size < self._piece:
            content = source.read_bytes(self._piece)
            self.text[self.size : self.size + len(content)] = content
            self.size += len(content)
        self.text[self.size] = 0

    def drop_bytes(self, count: int) -> None:
        """Drop the first `count` bytes."""
        self.text[: self.size - count] = self.text[count : self.size]
        self.size -= count
        self.dropped += count


#: One value longer than this is no event: nothing may make the reader hold more of a file
LONGEST = 2**24
#: Bytes that become events at once: these and all made of them should fit a cache
PIECE = 2**18
EVENTS = "traceEvents"
#: What says nothing between values: spaces, and bytes that are no text
SPACE = re.compile("[ \\t\\r\\n\ufffd]*")
#: Where the next event begins, behind one that is broken
NEXT = re.compile(r'[,\ufffd]\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id|s|bp)")')
COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
#: What ends or changes a value that is passed over: in a text, and outside of it
IN_TEXT, OUTSIDE = re.compile(r'"|\\.', re.DOTALL), re.compile(r'["\[\]{}]')
#: What may be left of a value at the end of a file that was cut short
PARTIAL = re.compile(r"[\w.+\-\\]{0,16}")
#: Digits of a whole number that Python reads; one with more stays a text
MOST_DIGITS = 4000


def _parse_int(text: str) -> int | str:
    return int(text) if len(text) <= MOST_DIGITS else text


#: Floats stay as they are written: a float64 of epoch microseconds resolves 0.25 us only
DECODER, LENIENT = (json.JSONDecoder(parse_float=str, parse_int=_parse_int, strict=strict) for strict in (True, False))
Event = dict[str, Any]


class _CutShort(Exception):
    """The file ends before the value does."""


class _Broken(Exception):
    """The JSON cannot be read on from a place in the text at hand, or from a byte of the file."""

    def __init__(self, at: int, error: str, byte: int | None = None) -> None:
        super().__init__(error)
        self.at, self.byte = at, byte


class Document:
    """A trace file, of which an object's arrows are passed over: only the lists that torch_npu writes link events by
    them. `read_batches` reads it; after that `is_list` tells its form (False: an object with traceEvents),
    `members` holds the object's other members, `cut_at` the byte behind which nothing was read, or None, and
    `damage` why, where it is not that the file ends there. `odd` counts what else was wrong, by PRF304's words."""

    def __init__(self, path: Path, piece: int = PIECE, longest: int = LONGEST, scanner: Scanner | None = None) -> None:
        self.path = path
        self.is_list = False
        self.members: dict[str, object] = {}
        self.cut_at: int | None = None
        self.damage: Sentence | None = None
        self.odd: Counter[str] = Counter()
        self._piece, self._longest, self._scanner, self._some = piece, longest, scanner, False
        #: What is at hand of the file, from byte `_offset` on; read up to `_at`
        self._text, self._offset, self._at, self._ended = "", 0, 0, False

    def read_batches(self) -> Iterator[list[Event]]:
        """Yield the events in their order, but those that the scanner took; of a damaged file those before the damage.
        Raises WorkbookError naming the file and the place where it is no trace, or damaged before any event."""
        error: WorkbookError | None = None
        with Source(self.path) as self._source:
            try:
                for batch in self._read_document():
                    self._some = self._some or bool(batch)
                    yield batch
            except _CutShort:
                self.cut_at = self._byte_of(len(self._text))
                error = self._make_error("profiling.cut_short", self.cut_at, "no whole event comes before")
            except _Broken as broken:
                self.cut_at = self._byte_of(broken.at) if broken.byte is None else broken.byte
                while not self._source.damage and self._source.read_bytes():
                    pass  # a packed file is wrong in itself where its sum at the end says so
                error = self._make_error("profiling.broken_json", self.cut_at, str(broken))
                self.damage = Sentence(error.key, **error.arguments)
            if self._source.damage:
                error = WorkbookError("profiling.damaged_gzip", path=str(self.path), **self._source.damage)
                self.damage = Sentence(error.key, **error.arguments)
            if self.cut_at is None and (self._source.cut or self._source.damage):
                self.cut_at = self._byte_of(len(self._text))
            if self._source.replaced:
                self.odd["replaced_bytes"] = self._source.replaced
        if error and not self._some:
            raise error

    def _byte_of(self, at: int) -> int:
        """Return the byte in the file of a place in the text at hand."""
        return self._source.begin + self._offset + len(self._text[:at].encode("utf-8", "surrogatepass"))

    def _read_document(self) -> Iterator[list[Event]]:
        opening = self._next_char()
        self.is_list = opening == "["
        if self.is_list:
            yield from self._read_events()
        elif opening == "{":
            yield from self._read_members()
        else:
            self._refuse_other()
        if self._next_char(needed=False):
            raise _Broken(self._at, "something follows the trace")

    def _refuse_other(self) -> None:
        """Raise WorkbookError: what is at hand begins neither an object nor a list."""
        begin = self._text[:SHOWN]
        if begin.startswith(POINTER.decode()):
            raise WorkbookError("profiling.is_pointer", path=str(self.path))
        try:
            type_name = type(self._read_value()).__name__
        except _Broken as broken:
            raise WorkbookError("profiling.not_json", path=str(self.path), begin=ascii(begin)[1:-1]) from broken
        raise WorkbookError("profiling.not_a_trace", path=str(self.path), found=type_name)

    def _read_members(self) -> Iterator[list[Event]]:
        self._at += 1
        has_events, more = False, self._next_char() != "}"
        while more:
            start = self._at
            key = self._read_value()
            if not isinstance(key, str):
                raise _Broken(min(start, self._at), "expected the name of another member")
            self._expect_char(":")
            if key == EVENTS and self._next_char() == "[":
                if has_events:
                    self.odd["more_lists"] += 1
                has_events = True
                yield from self._read_events()
            else:
                self.members[key] = self._read_value()
            more = self._another_follows("}")
        self._at += 1
        if EVENTS in self.members or not has_events:
            raise WorkbookError("profiling.not_a_trace", path=str(self.path), found="dict")

    def _read_events(self) -> Iterator[list[Event]]:
        """Yield the events from the `[` to behind the `]`."""
        self._at += 1
        more = self._next_char() != "]"
        while more:
            try:
                if not (self._scanner and (yield from self._scan_events(self._scanner))):
                    yield self._read_at_hand()
                more = self._another_follows("]")
            except _Broken as broken:
                self._pass_over(broken)
        self._at += 1

    def _pass_over(self, broken: _Broken) -> None:
        """Go on with the event behind what is broken, and count it. Raises _Broken where there is none."""
        byte, self._at, passed = self._byte_of(broken.at), broken.at, 0
        while not (following := NEXT.search(self._text, self._at)):
            passed += len(self._text) - self._at
            self._at = max(self._at, len(self._text) - SHOWN)
            if passed > self._longest or not self._read_more():
                raise _Broken(broken.at, str(broken), byte)
        self._at = following.end()
        self.odd["broken_events"] += 1

    def _scan_events(self, scanner: Scanner) -> Generator[list[Event], None, bool]:
        """Let the scanner take the events from here on until it takes none, for the next is odd, broken, too long or
        the last; give those that it leaves to Python. Return whether it took any."""
        window, start = (
            Window(self._text[self._at :].encode(), self._piece),
            self._byte_of(self._at) - self._source.begin,
        )
        some = False
        while True:
            window.fill_from(self._source)
            taken, asides = scanner.scan_events(window.text, window.size, self.is_list, some)
            if not taken:
                break
            window.drop_bytes(taken)
            some = self._some = True
            if asides:
                yield [DECODER.decode(aside.decode()) for aside in asides]
        self._text, self._offset, self._at = bytes(window.text[: window.size]).decode(), start + window.dropped, 0
        return some

    def _read_at_hand(self) -> list[Event]:
        """Return the next event, and those behind it that are at hand; what is no object is left out."""
        events = [self._read_value()]
        while (comma := COMMA.match(self._text, self._at)) and self._text.startswith("{", comma.end()):
            try:
                event, end = DECODER.raw_decode(self._text, comma.end())
            except (ValueError, RecursionError):
                break  # the next call reads it, and on
            events.append(event)
            self._at = end
        return [event for event in events if isinstance(event, dict)]

    def _read_value(self) -> object:
        """Return the value at hand, read on until it is whole; None of one that is too long or too deep."""
        self._next_char()
        decoder = DECODER
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
                if self._ended or not PARTIAL.fullmatch(self._text, end):  # else it may be a number that goes on
                    if end - self._at > self._longest:
                        self.odd["too_long"] += 1
                        value = None
                    self._at = end
                    return value
            except json.JSONDecodeError as error:
                if error.msg.startswith("Invalid control") and decoder is DECODER:
                    decoder = LENIENT
                    self.odd["control_characters"] += 1
                    continue
                rest, open_text = self._text[error.pos :], error.msg.startswith("Unterminated")
                if self._ended and (open_text or PARTIAL.fullmatch(rest)):
                    raise _CutShort from error
                if self._ended or not (open_text or len(rest) <= 16):
                    raise _Broken(error.pos, error.msg) from error
            except RecursionError:
                self._skip_value("too_deep")
                return None
            if len(self._text) - self._at > self._longest:
                self._skip_value("too_long")
                return None
            self._read_more()

    def _skip_value(self, reason: str) -> None:
        """Pass over a value, whatever is in its brackets or quotes, and count it."""
        self.odd[reason] += 1
        depth, in_text = 0, False
        while True:
            mark = (IN_TEXT if in_text else OUTSIDE).search(self._text, self._at)
            if mark is None:
                self._at = len(self._text) - (in_text and self._text.endswith("\\", self._at))
                if not self._read_more():
                    raise _CutShort
                continue
            self._at, token = mark.end(), mark.group()
            in_text ^= token == '"'
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
            if depth <= 0 and not in_text:
                return

    def _next_char(self, needed: bool = True) -> str:
        """Return the next character that is no space, or "" at the end of the file where none is needed."""
        while True:
            self._at = SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_more():
                if needed:
                    raise _CutShort
                return ""

    def _expect_char(self, char: str) -> None:
        if (actual := self._next_char()) != char:
            raise _Broken(self._at, f"expected {char!r}, found {actual!r}")
        self._at += 1

    def _another_follows(self, closing: str) -> bool:
        """Return whether a comma follows and not the closing bracket, which may not stand behind a comma."""
        if self._next_char() == closing:
            return False
        self._expect_char(",")
        if self._next_char() == closing:
            raise _Broken(self._at, "nothing follows the comma")
        return True

    def _read_more(self) -> bool:
        """Read on, the more the longer the value at hand is already; False at the end of the file."""
        left = self._text[self._at :]
        piece = b"" if self._ended else self._source.read_bytes(max(self._piece, len(left)))
        self._ended = not piece
        self._offset = self._byte_of(self._at) - self._source.begin
        self._text, self._at = left + piece.decode(), 0
        return bool(piece)

    def _make_error(self, key: str, byte: int, error: str) -> WorkbookError:
        with Source(self.path) as again:
            line, column = again.find_place(byte - self._source.begin)
        return WorkbookError(key, path=str(self.path), error=error, byte=byte, line=line, column=column)
