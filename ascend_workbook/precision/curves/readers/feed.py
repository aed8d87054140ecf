"""Files read piece by piece: what was appended since the last look is read alone, so that a run can be followed."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import suppress

from ascend_workbook.precision.curves.series import Curve

#: A line, or a piece of a progress bar's line, longer than this is no log line.
LONGEST = 1 << 20
#: What colours a terminal's text, and moves in it
COLOUR = re.compile(r"\x1b\[[0-9;?]{0,32}[A-Za-z]")


class Feed(ABC):
    """Takes a file's bytes in order and keeps what they tell in `curve`."""

    def __init__(self, curve: Curve, path: str) -> None:
        self.curve, self.path = curve, path
        curve.files.append(path)

    @abstractmethod
    def feed(self, data: bytes) -> None:
        """The next bytes, in pieces of any size."""

    @abstractmethod
    def end(self) -> None:
        """No more bytes will come: what is left over is read as it is, or told to be cut short."""


class LineFeed(Feed):
    """Text by line. A carriage return parts the states of a progress bar within one line."""

    def __init__(self, curve: Curve, path: str) -> None:
        super().__init__(curve, path)
        self.number = 0
        self._rest = b""
        self._skipping = False
        self._is_utf8 = False

    def feed(self, data: bytes) -> None:
        data = self._rest + data
        whole, newline, self._rest = data.rpartition(b"\n")
        if newline:
            for line in self._decode_lines(whole).split("\n"):
                self._split_line(line)
        if len(self._rest) > LONGEST:
            self._drop_long_line()

    def end(self) -> None:
        if self._rest:
            self._split_line(self._decode_lines(self._rest), last=True)
            self._rest = b""

    def _decode_lines(self, data: bytes) -> str:
        """As UTF-8, or line by line as GB 18030 (GBK) where no line of the file was UTF-8 beyond ASCII before."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return "\n".join(map(self._decode_line, data.split(b"\n")))
        self._is_utf8 |= not text.isascii()
        return text

    def _decode_line(self, line: bytes) -> str:
        for encoding in ("utf-8",) if self._is_utf8 else ("utf-8", "gb18030"):
            with suppress(UnicodeDecodeError):
                text = line.decode(encoding)
                self._is_utf8 |= encoding == "utf-8" and not text.isascii()
                return text
        return line.decode("utf-8", errors="replace")

    @abstractmethod
    def read_line(self, text: str, last: bool) -> None:
        """One line, or one state of a progress bar; the `last` one of the file may be cut short."""

    def _split_line(self, text: str, last: bool = False) -> None:
        self.number += 1
        if "\x1b" in text:
            text = COLOUR.sub("", text)
        if self._skipping:  # the end of a line whose beginning was too long
            self._skipping = False
            return
        if "\r" in text:
            for part in filter(str.strip, text.split("\r")):
                self.read_line(part, last)
        else:
            self.read_line(text, last)

    def _drop_long_line(self) -> None:
        """States of a progress bar are read so far as they are whole; anything else of this length is left out."""
        states, separator, self._rest = self._rest.rpartition(b"\r")
        if separator and not self._skipping:
            for part in states.decode("utf-8", errors="replace").split("\r"):
                if len(part) <= LONGEST:
                    self.number += 1
                    self.read_line(part, False)
                    self.number -= 1
        if not separator or len(self._rest) > LONGEST:
            self._rest, self._skipping = b"", True
            self.curve.add_note("ACC257.long_line", path=self.path, line=self.number + 1, limit=LONGEST)
