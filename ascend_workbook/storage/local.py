"""A folder as storage. Writes are whole or not at all; names stay inside."""

from __future__ import annotations

import errno
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.redaction.exits import redact_file

#: An address of some storage, also as Path writes it, with one slash
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
DIGITS = re.compile(r"(\d+)", re.ASCII)
_UMASK = threading.Lock()


class LocalStorage:
    """A folder. Names are relative, with `/`; a name that leaves the folder is refused."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    def resolve_name(self, name: str) -> Path:
        """Return the file behind a name."""
        full = (self.root / name).resolve()
        if not full.is_relative_to(self.root.resolve()):
            raise WorkbookError("storage.outside", name=name, root=str(self.root))
        return full

    def local_path(self, name: str) -> Path:
        """Return where the file, or the folder with all its files, can be read on this machine. Here it is itself, by
        the name it was given; a storage elsewhere brings a copy."""
        self.resolve_name(name)  # refuses a link that leads away
        return self.root / name

    def identify(self, name: str) -> str:
        """Return a text that is equal for two names of one thing."""
        return str(self.resolve_name(name))

    def read_bytes(self, name: str) -> bytes:
        return self.resolve_name(name).read_bytes()

    def read_start(self, name: str, count: int) -> bytes:
        """Read the first `count` bytes, or fewer where the file has no more; none of what is no file, as a pipe."""
        if not self.resolve_name(name).is_file():
            return b""
        with self.resolve_name(name).open("rb") as stream:
            return stream.read(count)

    def read_text(self, name: str) -> str:
        return self.resolve_name(name).read_text(encoding="utf-8")

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write aside, then rename: a reader sees the old file or the new one, never half of it."""
        target = self.resolve_name(name)
        refuse_unwritable(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            Path(aside).chmod(0o666 & ~read_umask())
            Path(aside).replace(target)
        except OSError as error:  # as of a full disk, which names no file
            Path(aside).unlink(missing_ok=True)
            raise OSError(error.errno, error.strerror, str(target)) from error
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise

    def write_text(self, name: str, text: str) -> None:
        """Write a text of ours, without credentials; bytes are written as they are."""
        self.write_bytes(name, encode_text(redact_file(name, text)))

    def exists(self, name: str) -> bool:
        return self.resolve_name(name).exists()

    def list_children(self, name: str = "") -> Sequence[str]:
        """List what lies directly in a folder, numbers by value; folders end in `/`. Empty where there is none."""
        folder = self.resolve_name(name)
        if not folder.is_dir():
            return []
        with os.scandir(folder) as entries:
            names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]
        return sorted(names, key=natural_key)

    def describe_place(self, name: str) -> str:
        """Describe where a file lies, in words for a reader."""
        return str(self.root / name)

    def list_files(self, prefix: str = "") -> Iterator[str]:
        """List all files below the prefix, by name; files still being written are left out."""
        for path in sorted(self.resolve_name(prefix).rglob("*")):
            if path.is_file() and not path.name.endswith(".part"):
                yield path.relative_to(self.root.resolve()).as_posix()


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Let an error of a write from within name the file: as of a full disk, it names none."""
    try:
        yield
    except OSError as error:
        if error.filename or not error.errno:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts names as a reader would: `step2` before `step10`; a number may have any length."""
    parts = [part.lstrip("0") if index % 2 else part for index, part in enumerate(DIGITS.split(name))]
    return tuple((1, len(part), part) if index % 2 else (0, 0, part) for index, part in enumerate(parts))


def refuse_unwritable(path: str | os.PathLike[str]) -> None:
    """Refuse a path at which no file can be made, before the work whose result goes there. Raises IsADirectoryError,
    NotADirectoryError or PermissionError that names the path as it was given, and WorkbookError where it is an address.
    """
    if ADDRESS.match(os.fspath(path)):  # a folder named `obs:` would be made
        raise WorkbookError("storage.local_only", path=os.fspath(path))
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    above = next(folder for folder in target.absolute().parents if folder.exists())
    code = 0 if above.is_dir() else errno.ENOTDIR
    if not code and not os.access(above, os.W_OK | os.X_OK):
        code = errno.EACCES
    if code:
        raise OSError(code, os.strerror(code), str(path))


def encode_text(text: str) -> bytes:
    """Encode as UTF-8; a byte of a file's name that is none stands escaped, `\\udcff`, as JSON has it too."""
    return text.encode("utf-8", "backslashreplace")


def read_umask() -> int:
    """Read the umask of the process; it can be read only by setting it, which no two threads may do at once."""
    with _UMASK:
        mask = os.umask(0o077)
        os.umask(mask)
    return mask


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file that the user named, whole or not at all; of a link the target is written, and the link stays.

    A text is ours and has no credentials; bytes are written as they are.
    """
    target = Path(path).resolve()
    data = encode_text(redact_file(target.name, content)) if isinstance(content, str) else content
    LocalStorage(target.parent).write_bytes(target.name, data)
