"""What a file is made of: its SHA-256, and the MD5 of every part, as the service checks each that arrives."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

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
