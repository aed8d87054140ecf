"""What every storage does. Names are relative, with `/`; one that leaves the storage's root is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol


class Storage(Protocol):
    """A name that is not there raises FileNotFoundError; what the reader can mend, WorkbookError."""

    def local(self, name: str) -> Path:
        """Where the file, or the folder with all its files, can be read on this machine; "" is the root itself. What
        is not there may raise, or give a path at which nothing is."""

    def identity(self, name: str) -> str:
        """Equal for two names of one thing."""

    def read_bytes(self, name: str) -> bytes: ...

    def start(self, name: str, count: int) -> bytes:
        """The first `count` bytes, or fewer where there are no more."""

    def read_text(self, name: str) -> str: ...

    def write_bytes(self, name: str, data: bytes) -> None:
        """A reader sees the old content or the new one, never half of it."""

    def write_text(self, name: str, text: str) -> None: ...

    def exists(self, name: str) -> bool: ...

    def children(self, name: str = "") -> Sequence[str]:
        """What lies directly in a folder, by name, numbers by value; folders end in `/`. Empty where there is none."""

    def shown(self, name: str) -> str:
        """Where it lies, in words for a reader."""

    def list(self, prefix: str = "") -> Iterator[str]:
        """All files below the prefix, by name."""
