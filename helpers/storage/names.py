"""Addresses `obs://bucket/prefix`, and which names of objects may become files.

A key is any text to the service: `../x`, `/etc/x`, a line break. What could leave a folder, or cannot be told on one
line, is refused before anything is read or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from helpers.errors import WorkbookError

SCHEME = "obs://"
#: https://support.huaweicloud.com/intl/en-us/api-obs/obs_04_0021.html: 3 to 63 of these.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
#: https://support.huaweicloud.com/intl/en-us/api-obs/obs_04_0080.html: keys have at most 1,024 bytes.
MOST_KEY_BYTES, MOST_PART_BYTES = 1024, 255


@dataclass(frozen=True)
class Address:
    """`key` has no `/` at its ends; empty for the whole bucket."""

    bucket: str
    key: str = ""

    @classmethod
    def of(cls, text: str) -> Address:
        """Raises WorkbookError `storage.address` with what is wrong with it."""
        if not is_address(text):
            raise WorkbookError("storage.address", place=printed(text), why={"say": "storage.why.scheme"})
        bucket, _, key = text.removeprefix(SCHEME).partition("/")
        key = key.strip("/")
        if not _BUCKET.fullmatch(bucket) or ".." in bucket:
            raise WorkbookError("storage.address", place=printed(text), why={"say": "storage.why.bucket"})
        if key and (why := unsafe(key)):
            raise WorkbookError("storage.address", place=printed(text), why={"say": why})
        return cls(bucket, key)

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}".rstrip("/")

    @property
    def prefix(self) -> str:
        """What the keys below it begin with."""
        return f"{self.key}/" if self.key else ""

    @property
    def name(self) -> str:
        """The last part of it."""
        return (self.key or self.bucket).rpartition("/")[2]

    def below(self, name: str) -> Address:
        """Of a file or folder in it. Raises WorkbookError `storage.key` for a name that is not safe."""
        name = name.strip("/") if name.endswith("/") else name
        if not name:
            return self
        check(name, str(self))
        return Address(self.bucket, self.prefix + name)


def is_address(place: object) -> bool:
    """Whether it is one of object storage."""
    return isinstance(place, str) and place.startswith(SCHEME)


def unsafe(name: str) -> str:
    """The words' key of why the name may be no file's; empty for a good one."""
    if not name or name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        return "storage.why.path"
    if not name.isprintable():  # NUL, line breaks, marks that turn the direction of writing, half of a surrogate pair
        return "storage.why.letters"
    data = name.encode("utf-8")
    too_long = len(data) > MOST_KEY_BYTES or any(len(part) > MOST_PART_BYTES for part in data.split(b"/"))
    return "storage.why.long" if too_long else ""


def check(name: str, place: str) -> None:
    """Raises WorkbookError `storage.key` for a name that is not safe."""
    if why := unsafe(name):
        raise WorkbookError("storage.key", name=printed(name), place=place, why={"say": why})


def check_together(names: Iterable[str], place: str, *, fold: bool) -> None:
    """Raises WorkbookError for a name that is both a file and a folder, and, where `fold` (a file system that does not
    tell capitals), for two that would be one file."""
    seen: dict[str, str] = {}
    for name in sorted(names):
        own = name.casefold() if fold else name
        if own in seen:
            raise WorkbookError("storage.case", first=seen[own], second=name, place=place)
        seen[own] = name
    for own, name in seen.items():
        above = own
        while "/" in above:
            above = above.rpartition("/")[0]
            if above in seen:
                raise WorkbookError("storage.both", name=seen[above], inner=name, place=place)


def printed(name: str) -> str:
    """As it can be shown on one line, whatever is in it."""
    return name if name.isprintable() else ascii(name)
