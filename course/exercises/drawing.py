"""What differs between students: drawn from the student's name, so that an answer of one does not fit another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

One = TypeVar("One")


def draw_number(student: str, what: str, below: int) -> int:
    """Draw a number from 0 to `below - 1`, the same on each machine and in each Python."""
    digest = hashlib.sha256(f"{what}\0{student}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % below


def pick_one(student: str, what: str, among: Sequence[One]) -> One:
    return among[draw_number(student, what, len(among))]
