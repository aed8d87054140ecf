"""What a file is made of: its SHA-256, and the MD5 of every part, as the service checks each that arrives."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.sentence import say
from ascend_workbook.storage.local import name_in_errors, read_umask
from ascend_workbook.storage.transfer.manifest import Files

#: Nested as deep as there are stages of a file; mypy has no words for that.
Job = Callable[[], "Iterable[Any]"]


def run_jobs(first: Iterable[Job], workers: int) -> None:
    """Run all jobs; the first error ends the rest, jobs under way are waited for, and it is raised."""
    todo: Iterator[Job] = iter(first)
    more: list[Job] = []
    running: set[Future[Iterable[Job]]] = set()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="transfer")
    try:
        while True:
            while len(running) < 2 * workers and (job := more.pop() if more else next(todo, None)) is not None:
                running.add(pool.submit(job))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                more.extend(reversed(list(future.result())))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


EVERY_S = 2.0
Tell = Callable[[str], None]


@dataclass
class Progress:
    """`verb` is the words' key of the line. Files and bytes ended (sent now, or found there already) of those planned;
    `requests` are the parts and small files that really went over the wire now, with their `moved` bytes."""

    verb: str
    files: int
    bytes: int = 0
    tell: Tell | None = None
    ended: int = 0
    kept: int = 0
    requests: int = 0
    moved: int = 0
    _last: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count_part(self, count: int) -> None:
        """Count the bytes of one request that have arrived."""
        with self._lock:
            self.requests += 1
            self.moved += count
        self._report_progress()

    def count_file(self, *, was_there: bool = False) -> None:
        """Count a file that has ended. `was_there`: nothing had to move."""
        with self._lock:
            self.ended += 1
            self.kept += was_there
        self._report_progress()

    def _report_progress(self) -> None:
        with self._lock:
            due = self.tell is not None and time.monotonic() - self._last >= EVERY_S
            if due:
                self._last = time.monotonic()
            line = {"done": self.ended, "files": self.files, "moved": to_mib(self.moved), "bytes": to_mib(self.bytes)}
        if due and self.tell is not None:
            self.tell(say(self.verb, **line))


def to_mib(count: int) -> float:
    """Convert bytes to MiB with one digit behind the point."""
    return round(count / (1 << 20), 1)


# A file on its way from object storage: its bytes beside the target, and a line for each part that is there.


class PartialFile:
    """`about` says which content the parts belong to; those of another one are thrown away."""

    def __init__(self, target: Path, size: int, part_bytes: int, etag: str) -> None:
        self.target, self.size, self.part_bytes = target, size, part_bytes
        short = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:24]
        self.data = target.with_name(f".{short}.part")
        self.record = target.with_name(f".{short}.done.part")
        self.about = {"name": target.name, "bytes": size, "part_bytes": part_bytes, "etag": etag}
        self._lock = threading.Lock()

    def start_file(self) -> list[int]:
        """Start or resume the file, and return the numbers, from 0, of the parts that are missing."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        finished_parts = self._read_finished()
        if finished_parts is None:
            self.drop_file()
            with name_in_errors(self.data), self.data.open("wb") as stream:
                stream.truncate(self.size)
            with name_in_errors(self.record):
                self.record.write_text(json.dumps(self.about) + "\n", encoding="utf-8")
            finished_parts = set()
        return [number for number in range(-(-self.size // self.part_bytes)) if number not in finished_parts]

    def _read_finished(self) -> set[int] | None:
        """Return the finished parts, without a last line that was being written; None where they are of no use."""
        try:
            first, *lines = self.record.read_text(encoding="utf-8").split("\n")[:-1]
            if json.loads(first) != self.about or self.data.stat().st_size != self.size:
                return None
            return {int(line) for line in lines}
        except (OSError, ValueError):
            return None

    def part_span(self, number: int) -> tuple[int, int]:
        """Return (first byte, count) of a part."""
        first = number * self.part_bytes
        return first, min(self.part_bytes, self.size - first)

    def write_part(self, number: int, data: bytes) -> None:
        """Write the bytes first, then the line behind them. Raises OSError, as of a full disk."""
        with name_in_errors(self.data), self.data.open("r+b") as stream:
            stream.seek(number * self.part_bytes)
            stream.write(data)
        with self._lock, name_in_errors(self.record), self.record.open("a", encoding="utf-8") as lines:
            lines.write(f"{number}\n")

    def finish_file(self) -> None:
        """Give the file its own name."""
        self.data.chmod(0o666 & ~read_umask())
        self.data.replace(self.target)
        self.record.unlink(missing_ok=True)

    def drop_file(self) -> None:
        """Throw away what is there of the file."""
        for path in (self.data, self.record):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    def held_bytes(self) -> int:
        """Return how many bytes of the disk the file takes already."""
        return self.data.stat().st_blocks * 512 if self.data.exists() else 0


@dataclass
class Moved:
    """What came of a transfer. `files` as they should be; `requests` and `moved` bytes went over the wire; `kept` files
    were there already. `wrong`: name -> (words' key of why, bytes there), none of which got its name. `unchecked` files
    had no sum to be checked by; `beside` are files of no manifest; `left` are keys below a folder's address with
    unfinished uploads that are none of its files: not touched; `skipped`: files of the folder that stay here, and why,
    as upload.find_reason has it."""

    place: str
    files: Files
    path: Path = Path()
    requests: int = 0
    moved: int = 0
    kept: int = 0
    unchecked: int = 0
    wrong: dict[str, tuple[str, int]] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)
    left: tuple[str, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)


BLOCK = 1 << 20


@dataclass(frozen=True)
class Digest:
    """`md5` of each part of `part_bytes`, in hexadecimal; `stamp` is another one when the file was written to."""

    bytes: int
    sha256: str
    part_bytes: int
    md5: tuple[str, ...]
    stamp: tuple[int, ...]

    def part_span(self, number: int) -> tuple[int, int]:
        """Return (first byte, count) of the part, `number` from 1."""
        first = (number - 1) * self.part_bytes
        return first, min(self.part_bytes, self.bytes - first)


def compute_digest(path: Path, part_bytes: int) -> Digest:
    """Read the file once and compute its sums. Raises OSError."""
    whole, count = hashlib.sha256(), 0
    parts: list[str] = []
    with path.open("rb") as stream:
        before = compute_stamp(stream.fileno())
        while True:
            part, bytes_left = hashlib.md5(usedforsecurity=False), part_bytes
            while bytes_left and (block := stream.read(min(BLOCK, bytes_left))):
                whole.update(block)
                part.update(block)
                bytes_left -= len(block)
            count += part_bytes - bytes_left
            if bytes_left == part_bytes and parts:
                break
            parts.append(part.hexdigest())
            if bytes_left:
                break
    return Digest(count, whole.hexdigest(), part_bytes, tuple(parts), before)


def sha256_of(path: Path) -> str:
    """Compute the SHA-256 of a file's content. Raises OSError."""
    whole = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            whole.update(block)
    return whole.hexdigest()


def compute_stamp(file: int | Path) -> tuple[int, ...]:
    """Return the size, time of the last change and number of a file."""
    about = os.stat(file)  # noqa: PTH116 (an open file too)
    return about.st_size, about.st_mtime_ns, about.st_ino
