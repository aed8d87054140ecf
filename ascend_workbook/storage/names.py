"""Addresses `obs://bucket/prefix`, which names of objects may become files, and which files stay here.

A key is any text to the service: `../x`, `/etc/x`, a line break. What could leave a folder, or cannot be told on one
line, is refused before anything is read or written.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence, say

# What was read from a copy is told under the name that the reader gave.


def replace_path(value: Any, copy: str, original: str) -> Any:
    """Replace the copy's path by the original's in all texts of the value."""
    if isinstance(value, str):
        return value.replace(copy, original)
    if isinstance(value, dict):
        return {replace_path(name, copy, original): replace_path(part, copy, original) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(replace_path(part, copy, original) for part in value)
    return value


@contextmanager
def name_original_in_errors(original: str, copy: str) -> Iterator[None]:
    """Let a WorkbookError from within name what was given instead of its copy."""
    try:
        yield
    except WorkbookError as error:
        arguments = replace_path(error.arguments, copy, original)
        if arguments == error.arguments:
            raise
        raise WorkbookError(error.key, **arguments) from error


#: Names of files that hold what a user's script printed: his, not ours, and sent only where he asks for it.
USER_OUTPUT = ("output.log",)
#: How the first line of each such file begins, whatever its name.
USER_OUTPUT_MARK = "# ascend-workbook: user output"
PRIVATE_FILES = Path(__file__).with_name("private_files.txt")
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
    def parse(cls, text: str) -> Address:
        """Parse an address. Raises WorkbookError `storage.address` with what is wrong with it."""
        if not is_address(text):
            raise WorkbookError("storage.address", place=printable_name(text), why=Sentence("storage.why.scheme"))
        bucket, _, key = text.removeprefix(SCHEME).partition("/")
        key = key.strip("/")
        if not _BUCKET.fullmatch(bucket) or ".." in bucket:
            raise WorkbookError("storage.address", place=printable_name(text), why=Sentence("storage.why.bucket"))
        if key and (why := why_unsafe(key)):
            raise WorkbookError("storage.address", place=printable_name(text), why=Sentence(why))
        return cls(bucket, key)

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}".rstrip("/")

    @property
    def prefix(self) -> str:
        """Return what the keys below the address begin with."""
        return f"{self.key}/" if self.key else ""

    @property
    def name(self) -> str:
        """Return the last part of the address."""
        return (self.key or self.bucket).rpartition("/")[2]

    def join(self, name: str) -> Address:
        """Return the address of what lies in this one. Raises WorkbookError `storage.key` for an unsafe name."""
        name = name.strip("/") if name.endswith("/") else name
        if not name:
            return self
        check(name, str(self))
        return Address(self.bucket, self.prefix + name)


def mark_user_output() -> bytes:
    """Return the first line of a file into which a user's script prints."""
    return f"{USER_OUTPUT_MARK}. {say('storage.user_output', None)}\n".encode()


def read_user_output(path: Path) -> str:
    """Return what a user's script printed into the file, without our first line."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return text.partition("\n")[2] if text.startswith(USER_OUTPUT_MARK) else text


def is_private(name: str) -> bool:
    """Return whether a name, or relative path, is one that files with keys, passwords and tokens have."""
    files, folders, paths = (_private_patterns(kind) for kind in ("file", "folder", "path"))
    *above, last = name.split("/")
    tail = "/".join([*above[-1:], last])
    return bool(files.match(last) or paths.match(tail) or any(folders.match(part) for part in above))


@cache
def _private_patterns(kind: str) -> re.Pattern[str]:
    """Return what the names of files match, or those of folders, or a file's with its folder's."""
    lines = (line for line in PRIVATE_FILES.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    kinds = [(line, "folder" if line.endswith("/") else "path" if "/" in line else "file") for line in lines]
    patterns = [fnmatch.translate(line.rstrip("/")) for line, its_kind in kinds if its_kind == kind]
    return re.compile("|".join(patterns), re.IGNORECASE)


def is_address(place: object) -> bool:
    """Return whether a place is an address of object storage."""
    return isinstance(place, str) and place.startswith(SCHEME)


def why_unsafe(name: str) -> str:
    """Return the words' key of why a name may be no file's; empty for a good one."""
    if not name or name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        return "storage.why.path"
    if not name.isprintable():  # NUL, line breaks, marks that turn the direction of writing, half of a surrogate pair
        return "storage.why.letters"
    data = name.encode("utf-8")
    too_long = len(data) > MOST_KEY_BYTES or any(len(part) > MOST_PART_BYTES for part in data.split(b"/"))
    return "storage.why.long" if too_long else ""


def check(name: str, place: str) -> None:
    """Raise WorkbookError `storage.key` for a name that is not safe."""
    if why := why_unsafe(name):
        raise WorkbookError("storage.key", name=printable_name(name), place=place, why=Sentence(why))


def check_together(names: Iterable[str], place: str, *, fold: bool) -> None:
    """Raise WorkbookError for names that cannot be files together. One is both a file and a folder, or, where `fold` (a
    file system that does not tell capitals), two would be one file."""
    names_seen: dict[str, str] = {}
    for name in sorted(names):
        own_key = name.casefold() if fold else name
        if own_key in names_seen:
            raise WorkbookError("storage.case", first=names_seen[own_key], second=name, place=place)
        names_seen[own_key] = name
    for own_key, name in names_seen.items():
        above = own_key
        while "/" in above:
            above = above.rpartition("/")[0]
            if above in names_seen:
                raise WorkbookError("storage.both", name=names_seen[above], inner=name, place=place)


def printable_name(name: str) -> str:
    """Return a name as it can be shown on one line, whatever is in it."""
    return name if name.isprintable() else ascii(name)
