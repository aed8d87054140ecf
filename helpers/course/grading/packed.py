"""The notebooks of a zip. Nothing of it is unpacked to the disk."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO

from helpers.course.grading.names import IT, beside, inside, member_name
from helpers.course.record import NAME as RECORD
from helpers.errors import WorkbookError

try:
    from lzma import LZMAError
except ImportError:  # a Python that was built without it opens no such member: RuntimeError
    LZMAError = zlib.error  # type: ignore[assignment,misc]

MOST_BYTES, MOST_MEMBERS, MOST_ZIP_BYTES = 16 << 20, 2000, 256 << 20
MAGIC = b"PK"
#: Archives that are called .zip and are none, by how they begin.
OTHERS = {b"Rar!": "RAR", b"7z\xbc\xaf": "7z", b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zX": "xz"}

#: What a zip that is none, is encrypted, or breaks off raises; of a member that was packed with LZMA too.
BROKEN = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error, LZMAError)

#: A file's name inside a submission and its bytes.
Found = list[tuple[str, bytes]]


def files_in(path: Path) -> Found:
    """Notebooks and records. Raises WorkbookError: it is no zip, has too much in it, a link, or is encrypted."""
    if path.stat().st_size > MOST_ZIP_BYTES:
        raise WorkbookError("grading.too_large", path=IT, most=MOST_ZIP_BYTES >> 20)
    kind = _other(path)
    if kind:
        raise WorkbookError("grading.other_archive", kind=kind)
    try:
        with zipfile.ZipFile(path) as packed:
            members = packed.infolist()
            if len(members) > MOST_MEMBERS:
                raise WorkbookError("grading.members", most=MOST_MEMBERS)
            return [(name, _member(packed, each, name)) for each, name in _wanted_of(members)]
    except BROKEN as error:
        raise WorkbookError("grading.bad_zip", error=str(error)[:200]) from error


def is_zip(path: Path) -> bool:
    """By its content, whatever it is called."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def wanted(name: str) -> bool:
    """Whether a file of this name, without folders, is read."""
    return not beside(name) and (name.lower().endswith(".ipynb") or name == RECORD)


def bounded(stream: IO[bytes], name: str = "") -> bytes:
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise WorkbookError("grading.too_large", path=inside(name), most=MOST_BYTES >> 20)
    return data


def _other(path: Path) -> str:
    with path.open("rb") as stream:
        head = stream.read(8)
    return next((kind for magic, kind in OTHERS.items() if head.startswith(magic)), "")


def _wanted_of(members: Iterable[zipfile.ZipInfo]) -> list[tuple[zipfile.ZipInfo, str]]:
    named = [(each, member_name(each)) for each in members if not each.is_dir()]
    parts = [PurePosixPath(name).parts for _, name in named]
    return [one for one, path in zip(named, parts) if path and wanted(path[-1]) and not any(map(beside, path))]


def _member(packed: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    if stat.S_ISLNK(member.external_attr >> 16):
        raise WorkbookError("grading.link", path=inside(name))
    with packed.open(member) as stream:  # what a member unpacks to is not what its header says
        return bounded(stream, name)
