"""What every storage does. Names are relative, with `/`; one that leaves the storage's root is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol


class Storage(Protocol):
    """A name that is not there raises FileNotFoundError; what the reader can mend, WorkbookError."""

    def local_path(self, name: str) -> Path:
        """Return where the file, or the folder with all its files, can be read on this machine; "" is the root itself.
        What is not there may raise, or give a path at which nothing is."""

    def identify(self, name: str) -> str:
        """Return a text that is equal for two names of one thing."""

    def read_bytes(self, name: str) -> bytes: ...

    def read_start(self, name: str, count: int) -> bytes:
        """Read the first `count` bytes, or fewer where there are no more."""

    def read_text(self, name: str) -> str: ...

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write the content; a reader sees the old content or the new one, never half of it."""

    def write_text(self, name: str, text: str) -> None: ...

    def exists(self, name: str) -> bool: ...

    def list_children(self, name: str = "") -> Sequence[str]:
        """List what lies directly in a folder, by name, numbers by value; folders end in `/`. Empty where there is
        none.
        """

    def describe_place(self, name: str) -> str:
        """Describe where it lies, in words for a reader."""

    def list_files(self, prefix: str = "") -> Iterator[str]:
        """List all files below the prefix, by name."""
