"""The logs to read: files, folders (plogs, torchrun's log folder), standard input, or a text."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from ascend_workbook.findings.errors import WorkbookError

#: What a folder's logs are called; others in it are left alone.
SUFFIXES = (".log", ".txt", ".out", ".err")
OVERFLOW_FILES = "opdebug"
RANK_IN_NAME = re.compile(r"(?:rank|worker|local_rank)[-_]?(\d+)|[/\\](\d+)[/\\]std(?:out|err)\.log$", re.IGNORECASE)
PATH_LIKE = re.compile(r"\S+[/\\]\S*|\S+\.(?:log|txt|out|err|json)")
GZIP = b"\x1f\x8b"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: Characters that no text holds (progress bars move with backspaces, colours begin with escapes), the share of them
#: in a log's beginning that makes it no text, and how much is looked at. Zeros at the very beginning are what a log
#: emptied under its writer has.
CONTROLS = bytes(range(8)) + bytes(range(14, 27)) + bytes(range(28, 32))
TOO_MANY, HEAD_BYTES, BLOCK_BYTES = 0.04, 1 << 16, 1 << 20


@dataclass(frozen=True)
class Log:
    """One log. `name` is shown; `rank` is what the file's name says, or empty. `walked`: found in a folder."""

    name: str
    path: Path | None = None
    data: bytes = b""
    walked: bool = False

    @property
    def is_text(self) -> bool:
        """Return whether a text was given in place of a log."""
        return self.path is None and not self.name

    @property
    def rank(self) -> str:
        match = RANK_IN_NAME.search(self.name)
        return next(filter(None, match.groups()), "") if match else ""

    def open_stream(self) -> BinaryIO:
        """Open the log's text as bytes, from the start, unpacked. Raises WorkbookError where it cannot be read or is no
        text.
        """
        if self.is_text:
            return io.BytesIO(self.data)
        try:
            return _decode_stream(
                self.path.open("rb") if self.path else io.BytesIO(self.data), str(self.path or self.name)
            )
        except (OSError, EOFError, zlib.error) as error:
            raise self.make_unreadable_error(error) from error

    def make_unreadable_error(self, error: Exception) -> WorkbookError:
        return WorkbookError("explain.unreadable", path=str(self.path or self.name), error=str(error))


def _decode_stream(stream: BinaryIO, name: str) -> BinaryIO:
    """Return the stream, of gzip its content, of UTF-16 with a byte order mark the same in UTF-8."""
    head = stream.read(HEAD_BYTES)
    stream.seek(0)
    if head.startswith(GZIP):
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=stream))
        head = stream.read(HEAD_BYTES)
        stream.seek(0)
    if head.startswith(UTF16):
        return _from_utf16(stream)
    body = head.lstrip(b"\0")
    if len(body) - len(body.translate(None, CONTROLS)) > TOO_MANY * len(body) or (head and not body):
        raise WorkbookError("explain.not_text", path=name)
    return stream


def _from_utf16(stream: BinaryIO) -> BinaryIO:
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    plain = tempfile.SpooledTemporaryFile(max_size=1 << 26)  # noqa: SIM115 - the caller closes it
    while block := stream.read(BLOCK_BYTES):
        plain.write(decoder.decode(block).encode("utf-8", errors="replace"))
    plain.seek(0)
    return cast(BinaryIO, plain)


def find_logs(places: Sequence[str | os.PathLike[str]]) -> list[Log]:
    """Find the logs behind paths, folders, `-` or texts. Raises WorkbookError for a path that is not there."""
    return [log for place in places for log in _find_logs_of(place)]


def _find_logs_of(place: str | os.PathLike[str]) -> Iterator[Log]:
    if place == "-":
        yield Log("-", data=sys.stdin.buffer.read())
        return
    path = _parse_path(place)
    if path is None:
        yield Log("", data=str(place).encode("utf-8", errors="replace"))
    elif path.is_dir():
        files = _find_in_folder(path)
        if not files:
            raise WorkbookError("explain.no_logs", path=str(path), suffixes=list(SUFFIXES))
        yield from (Log(str(file), file, walked=True) for file in files)
    else:
        yield Log(str(path), path)


def _parse_path(place: str | os.PathLike[str]) -> Path | None:
    """Return the path, or None for a text: what is neither a file nor looks like the name of one."""
    if isinstance(place, os.PathLike):
        return _require_path(Path(place))
    if "\n" in place or len(place) > 1000:
        return None
    if Path(place).exists() or PATH_LIKE.fullmatch(place.strip()):
        return _require_path(Path(place.strip()))
    return None


def _require_path(path: Path) -> Path:
    if not path.exists():
        raise WorkbookError("explain.no_file", path=str(path))
    return path


def _find_in_folder(folder: Path) -> list[Path]:
    """Return a folder's logs, with what went away or may not be entered, for the reader to say so."""
    lost: list[Path] = []
    files: list[Path] = []
    for place, _, names in os.walk(folder, onerror=lambda error: lost.append(Path(error.filename))):
        files += [file for file in (Path(place, name) for name in names) if _is_log(file)]
    return sorted(files + lost) if files else []


def _is_log(path: Path) -> bool:
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    if Path(name).suffix.lower() not in SUFFIXES and OVERFLOW_FILES not in name.lower():
        return False
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True
