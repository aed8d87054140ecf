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

    def part(self, number: int) -> tuple[int, int]:
        """(first byte, count) of the part, `number` from 1."""
        first = (number - 1) * self.part_bytes
        return first, min(self.part_bytes, self.bytes - first)


def digest(path: Path, part_bytes: int) -> Digest:
    """Reads the file once. Raises OSError."""
    whole, count = hashlib.sha256(), 0
    parts: list[str] = []
    with path.open("rb") as stream:
        before = stamp(stream.fileno())
        while True:
            part, left = hashlib.md5(usedforsecurity=False), part_bytes
            while left and (block := stream.read(min(BLOCK, left))):
                whole.update(block)
                part.update(block)
                left -= len(block)
            count += part_bytes - left
            if left == part_bytes and parts:
                break
            parts.append(part.hexdigest())
            if left:
                break
    return Digest(count, whole.hexdigest(), part_bytes, tuple(parts), before)


def sha256_of(path: Path) -> str:
    """Of a file's content. Raises OSError."""
    whole = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            whole.update(block)
    return whole.hexdigest()


def stamp(file: int | Path) -> tuple[int, ...]:
    """Size, time of the last change and number of a file."""
    about = os.stat(file)  # noqa: PTH116 (an open file too)
    return about.st_size, about.st_mtime_ns, about.st_ino
