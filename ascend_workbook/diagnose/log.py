"""The logs to read: files, folders (plogs, torchrun's log folder), standard input, or a text; and their lines.

Marks read in a line: torchrun's `[rank1]:` and `[default0]:`, `[3]:` of mpirun, `worker-1:` of launchers over hosts,
Ray's `(Worker pid=7)`, what Kubernetes and vLLM's logger put in front, RankID of torch_npu's suffix, and times as
Python's logging, glog, transformers and CANN's plog write them.
"""

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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Optional, cast

from ascend_workbook.findings.errors import WorkbookError

#: What a folder's logs are called; others in it are left alone.
SUFFIXES = (".log", ".txt", ".out", ".err")
OVERFLOW_FILES = "opdebug"
RANK_IN_NAME = re.compile(r"(?:rank|worker|local_rank)[-_]?(\d+)|[/\\](\d+)[/\\]std(?:out|err)\.log$", re.IGNORECASE)
PATH_LIKE = re.compile(r"\S+[/\\]\S*|\S+\.(?:log|txt|out|err|json)")
#: Bytes of a file's name on Linux (NAME_MAX).
LONGEST_NAME = 255
GZIP = b"\x1f\x8b"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: Characters that no text holds (progress bars move with backspaces, colours begin with escapes), the share of them
#: in a log's beginning that makes it no text, and how much is looked at. Zeros are none of them: a log that was emptied
#: under its writer begins with them, and where a machine or its disk went away they stand for what was never written.
CONTROLS = bytes(range(1, 8)) + bytes(range(14, 27)) + bytes(range(28, 32))
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
        """Open the text as bytes, unpacked. Raises WorkbookError where it cannot be read or is none."""
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
    body = head.replace(b"\0", b"")
    no_line = bool(body) and b"\0" in head and not re.search(rb"[\r\n]", body)  # a header of a binary, padded
    if no_line or len(body) - len(body.translate(None, CONTROLS)) > TOO_MANY * len(body):
        raise WorkbookError("explain.not_text", path=name)
    return stream


#: The first of some zeros within a line: what stands behind them was written later.
ZEROS = re.compile(rb"(?<=[^\n\0])\0(?=\0*[^\n\0])")


def replace_zeros(data: bytes) -> bytes:
    """Make of zeros within a line its end, and of others what a reader of lines passes over; as long as it was."""
    return ZEROS.sub(b"\n", data).replace(b"\0", b"\r") if b"\0" in data else data


def _from_utf16(stream: BinaryIO) -> BinaryIO:
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    plain = tempfile.SpooledTemporaryFile(max_size=1 << 26)  # noqa: SIM115 - the caller closes it
    while block := stream.read(BLOCK_BYTES):
        plain.write(decoder.decode(block).encode("utf-8", errors="replace"))
    plain.seek(0)
    return cast(BinaryIO, plain)


def find_logs(places: Sequence[str | os.PathLike[str]]) -> list[Log]:
    """Find the logs behind paths, folders, `-` or texts. Raises WorkbookError for a path that is not there."""
    logs: list[Log] = []
    for place in places:
        path = None if place == "-" else _parse_path(place)
        if place == "-":
            logs.append(Log("-", data=sys.stdin.buffer.read()))
        elif path is None:
            logs.append(Log("", data=str(place).encode("utf-8", errors="replace")))
        elif path.is_dir():
            files = _find_in_folder(path)
            if not files:
                raise WorkbookError("explain.no_logs", path=str(path), suffixes=list(SUFFIXES))
            logs += [Log(str(file), file, walked=True) for file in files]
        else:
            logs.append(Log(str(path), path))
    return logs


def _parse_path(place: str | os.PathLike[str]) -> Path | None:
    """Return the path, or None for a text: what is neither a file nor looks like the name of one."""
    if isinstance(place, str):
        if "\n" in place or len(place) > 1000:
            return None
        if any(len(os.fsencode(name)) > LONGEST_NAME for name in Path(place).parts):  # Linux refuses to look for it
            return None
        if not Path(place).exists() and not PATH_LIKE.fullmatch(place.strip()):
            return None
    path = Path(place.strip() if isinstance(place, str) else place)
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


#: (month, day, hour, minute, second): glog writes no year.
Time = tuple[int, int, int, int, float]

COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
PREFIX = re.compile(
    r"(?:\[(?:rank|default|Rank ?)(?P<a>\d+)\]:?|\[(?P<b>\d+)\]:|\((?P<c>\w+(?: [\w=]+)? pid=\d+)[^)]*\)"
    r"|(?P<d>(?:rank|worker|node)[-_ ]?\d+) ?[:|]"
    r"|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)? (?:stdout|stderr) [FP]"
    r"|(?:ERROR|WARNING|INFO) \d\d-\d\d \d\d:\d\d:\d\d \[?\S+:\d+\]) ?"
)
RANK_ID = re.compile(r"RankID:(\d+)")
STAMP = re.compile(r"\b(?:\d{4}-)?(\d\d)-(\d\d)[-T ](\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,6})(?:\.(\d{3}))?)?")
GLOG = re.compile(r"(?:^|\[)[IWEF](\d{1,2}?)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d+)")
AMERICAN = re.compile(r"\b(\d\d)/(\d\d)/\d{4} (\d\d):(\d\d):(\d\d)()")
#: Marks and times stand at the beginning.
HEAD = 200


class Line(NamedTuple):
    """`stream` is what stands in front of the line, `rank` that or the RankID in it; both may be empty.

    `message` keeps its indentation.
    """

    stream: str
    rank: str
    time: Optional[Time]
    message: str


def parse_line(text: str) -> Line:
    """Parse a line without colours and marks; of a progress bar drawn over itself take the last state."""
    text = COLOUR.sub("", text) if "\x1b" in text else text
    text = text.rstrip("\r\n").rsplit("\r", 1)[-1]
    ranks: list[str] = []
    at = 0
    while match := PREFIX.match(text, at):
        ranks += [group for group in match.groups() if group and group not in ranks]
        at = match.end()
    message = text[at:]
    stream = "/".join(ranks)
    suffix = None if stream.isdigit() else RANK_ID.search(message[:HEAD])
    head, time = text[:HEAD], None
    if stamp := STAMP.search(head) or GLOG.search(head) or AMERICAN.search(head):
        month, day, hour, minute, second, fraction = stamp.groups()[:6]
        time = int(month), int(day), int(hour), int(minute), float(f"{second}.{fraction or 0}")
    return Line(stream, suffix.group(1) if suffix else stream, time, message)
