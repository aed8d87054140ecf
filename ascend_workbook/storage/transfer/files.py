"""What a file is made of: its SHA-256, and the MD5 of every part, as the service checks each that arrives."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.storage.local import read_umask

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
            with self.data.open("wb") as stream:
                stream.truncate(self.size)
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
        with self.data.open("r+b") as stream:
            stream.seek(number * self.part_bytes)
            stream.write(data)
        with self._lock, self.record.open("a", encoding="utf-8") as lines:
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
