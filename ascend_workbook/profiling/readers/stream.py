"""A trace file's bytes in pieces, unpacked where it is gzip, so that no file has to fit into memory."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from types import TracebackType
from typing import Union

from ascend_workbook.findings.errors import WorkbookError

PIECE = 2**20


class Source:
    """A .json or .json.gz file, read piece by piece. `cut` says, at its end, that a gzip stream ended too early.

    Raises WorkbookError, naming the file, for what cannot be read or unpacked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut = False
        try:
            plain = path.open("rb")
        except OSError as cause:
            raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause
        self._plain = plain
        self._file: Union[gzip.GzipFile, io.BufferedReader] = (
            gzip.GzipFile(fileobj=plain) if _is_packed(path) else plain
        )

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._plain.close()

    def read_bytes(self, size: int = PIECE) -> bytes:
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
        while byte > 0 and (piece := self.read_bytes(min(byte, PIECE))):
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

    def remaining_bytes(self) -> bytes:
        return bytes(self.text[: self.size])


def _is_packed(path: Path) -> bool:
    return path.suffix == ".gz"
