"""Finds the lines of a log that may tell of a failure, fast: substrings first, patterns only on what they leave.

A training log is nearly all clean. Searching a few substrings costs about 0.6 ns a byte each; the patterns of all
known failures on every line cost 300. NEEDLES must cover every known failure; a test holds that.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from ascend_workbook.diagnose.known import Known, find_matches
from ascend_workbook.diagnose.log import Line, Log, parse_line, replace_zeros
from ascend_workbook.findings.errors import WorkbookError

#: No needle is plain `error`: training logs say "val_error" in every line.
NEEDLES = (
    *(b"Error", b"error code", b"errcode", b"ERR", b"raceback (most", b"ailed", b" fail", b"arning: ", b"imeout"),
    *(b"GLIBC", b"NumPy 1.x", b"simulat", b"xitcode", b"SIG", b"egmentation", b"Killed", b"Root Cause"),
    *(b'"AI Core"', b"not support", b"[error]"),
)
#: CANN's codes stand in lines that say nothing else of an error.
CODES = re.compile(rb"E[A-Z1-9]\d{4}[:\[)]")
EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|Timeout|Expired)(?::|$)")
LEVEL = re.compile(r"(?<![\w=-])(?:ERROR|CRITICAL|FATAL)(?![\w=-])|\[error\]")
#: CANN's own log: lines of these levels tell of no failure, whatever they name.
QUIET = re.compile(r"\[(?:DEBUG|INFO|EVENT|TRACE)\]")
TRACEBACK = "Traceback (most recent call last)"
CHAINED = ("During handling of the above", "The above exception was")
#: Left out where lines are compared: numbers, addresses and hashes differ from line to line.
HEX = b"0123456789abcdefABCDEF"
CHUNK_BYTES = 1 << 26
#: Lines that differ in their numbers only are read this often; a storm of errors says nothing new after that.
REPEATS = 64
#: How far a traceback's last line is looked for, and how far an Opdebug record goes.
TRACEBACK_BYTES, RECORD_LINES = 60_000, 14


@dataclass(frozen=True)
class Hit:
    """A line that tells of a failure. `kind` is known, exception (unknown) or level (unknown).

    `start` is the byte where its text begins and `first` that line's number: the traceback's where it has one.
    `chained`: Python raised it while or because of the exception before.
    """

    log: Log
    number: int
    first: int
    start: int
    line: Line
    kind: str
    known: tuple[Known, ...] = ()
    chained: bool = False

    @property
    def rank(self) -> str:
        return self.line.rank or self.log.rank

    @property
    def strong(self) -> bool:
        """Return whether it ends the search: an exception, or a failure that is neither a warning nor a follow-up."""
        return self.kind == "exception" or any(entry.severity in ("error", "info") for entry in self.known)


@dataclass
class Scan:
    """What one log holds: its hits in the order of lines, and how much was read."""

    log: Log
    hits: list[Hit] = field(default_factory=list)
    lines: int = 0
    size: int = 0
    zeros: int = 0
    repeated: int = 0
    root_rank: str = ""
    unread: str = ""


def scan_log(log: Log) -> Scan:
    """Scan a log once. A log of a folder says in `unread` why it cannot be read; any other raises WorkbookError."""
    result = Scan(log)
    try:
        line_counts: Counter[bytes] = Counter()
        with log.open_stream() as stream:
            for chunk in _read_chunks(stream):
                data = replace_zeros(chunk)
                result.zeros += chunk.count(b"\0")
                _read_hits(result, data, line_counts)
                result.lines += data.count(b"\n") + (0 if data.endswith(b"\n") else 1)
                result.size += len(data)
        if result.size and result.zeros == result.size:
            raise WorkbookError("explain.zeros", path=log.name)
    except (WorkbookError, OSError, EOFError, zlib.error) as error:
        reason = error if isinstance(error, WorkbookError) else log.make_unreadable_error(error)
        if not log.walked:
            raise reason from error
        result.unread = str(error.__cause__ or error)
    result.hits.sort(key=lambda hit: hit.number)
    return result


def _read_chunks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield whole lines, many at once; a line longer than a chunk is cut, so that no log needs more memory than two."""
    rest = b""
    while block := stream.read(CHUNK_BYTES):
        cut = block.rfind(b"\n") + 1
        if cut == 0 and len(block) == CHUNK_BYTES:
            yield rest + block
            rest = b""
            continue
        whole = rest + (block[:cut] if len(block) == CHUNK_BYTES else block)
        rest = block[cut:] if len(block) == CHUNK_BYTES else b""
        yield whole
    if rest:
        yield rest


def _find_starts(data: bytes) -> list[int]:
    """Return where the lines begin that hold a needle or a code."""
    starts: set[int] = set()
    for needle in NEEDLES:
        at = data.find(needle)
        while at >= 0:
            starts.add(data.rfind(b"\n", 0, at) + 1)
            end = data.find(b"\n", at)
            at = data.find(needle, end) if end >= 0 else -1
    starts.update(data.rfind(b"\n", 0, match.start()) + 1 for match in CODES.finditer(data))
    return sorted(starts)


def _read_hits(result: Scan, data: bytes, line_counts: Counter[bytes]) -> None:
    """Add this chunk's hits."""
    number, counted, taken_starts = result.lines + 1, 0, set[int]()
    for start in _find_starts(data):
        end = data.find(b"\n", start)
        raw = data[start : end if end >= 0 else len(data)]
        key = raw.translate(None, HEX)
        line_counts[key] += 1
        if line_counts[key] > REPEATS:
            result.repeated += 1
            continue
        number += data.count(b"\n", counted, start)
        counted = start
        line = parse_line(_decode_text(raw))
        if TRACEBACK in line.message:
            _judge_traceback(result, data, start, number, line, taken_starts)
        elif start not in taken_starts:
            _judge_line(result, data, start, number, line, _decode_text(raw))


def _judge_line(result: Scan, data: bytes, start: int, number: int, line: Line, whole: str) -> None:
    """Add a hit, or nothing where the line only looked like one."""
    if "Root Cause" in line.message:
        rank = re.search(rb"rank\s*:\s*(\d+)", data[start : start + 1000])
        result.root_rank = result.root_rank or (rank.group(1).decode() if rank else "")
        return
    text = line.message
    if QUIET.match(text):
        return
    if '"AI Core"' in text:  # an Opdebug record: the status stands some lines below
        text = "\n".join(_decode_text(data[start : start + 2000]).split("\n")[:RECORD_LINES])
    entries = find_matches(text)
    if entries:
        kind = "known"
    elif EXCEPTION.match(line.message):
        kind = "exception"
    elif LEVEL.search(whole):
        kind = "level"
    else:
        return
    result.hits.append(Hit(result.log, number, number, result.size + start, line, kind, entries))


def _judge_traceback(result: Scan, data: bytes, start: int, number: int, first: Line, taken_starts: set[int]) -> None:
    """Take the line that ends the traceback as the hit; lines of other ranks in between are passed over."""
    at, passed = start, 0
    chained = any(word in data[max(0, start - 400) : start].decode("utf-8", "replace") for word in CHAINED)
    while 0 <= at < min(start + TRACEBACK_BYTES, len(data)):
        end = data.find(b"\n", at)
        line = parse_line(_decode_text(data[at : end if end >= 0 else len(data)]))
        message = line.message
        indented = not message.strip() or message[:1].isspace() or TRACEBACK in message
        if line.stream == first.stream:
            taken_starts.add(at)  # lines within quote the source, which may spell out a message
        if line.stream == first.stream and not indented:
            entries = find_matches(message)
            line = line._replace(time=line.time or first.time)
            kind = "known" if entries else "exception"
            offset = result.size + start
            result.hits.append(Hit(result.log, number + passed, number, offset, line, kind, entries, chained))
            return
        if end < 0:
            return
        at, passed = end + 1, passed + 1


def _decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")
