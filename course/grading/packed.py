"""The notebooks of a zip. Nothing of it is unpacked to the disk."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO

from ascend_workbook.findings.errors import WorkbookError
from course.grading.names import IT, describe_inside, is_beside, member_name
from course.record import NAME as RECORD

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
    """Return notebooks and records. Raises WorkbookError: it is no zip, has too much in it, a link, or is encrypted.
    Raises WorkbookError: it is no zip, has too much in it, a link, or is encrypted.
    """
    if path.stat().st_size > MOST_ZIP_BYTES:
        raise WorkbookError("grading.too_large", path=IT, most=MOST_ZIP_BYTES >> 20)
    kind = _other_format(path)
    if kind:
        raise WorkbookError("grading.other_archive", kind=kind)
    try:
        with zipfile.ZipFile(path) as packed:
            members = packed.infolist()
            if len(members) > MOST_MEMBERS:
                raise WorkbookError("grading.members", most=MOST_MEMBERS)
            return [(name, _read_member(packed, member, name)) for member, name in _wanted_of(members)]
    except BROKEN as error:
        raise WorkbookError("grading.bad_zip", error=str(error)[:200]) from error


def is_zip(path: Path) -> bool:
    """Return whether it is a zip by its content, whatever it is called."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def is_wanted(name: str) -> bool:
    """Return whether a file of this name, without folders, is read."""
    return not is_beside(name) and (name.lower().endswith(".ipynb") or name == RECORD)


def read_bounded(stream: IO[bytes], name: str = "") -> bytes:
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise WorkbookError("grading.too_large", path=describe_inside(name), most=MOST_BYTES >> 20)
    return data


def _other_format(path: Path) -> str:
    with path.open("rb") as stream:
        head = stream.read(8)
    return next((kind for magic, kind in OTHERS.items() if head.startswith(magic)), "")


def _wanted_of(members: Iterable[zipfile.ZipInfo]) -> list[tuple[zipfile.ZipInfo, str]]:
    named = [(member, member_name(member)) for member in members if not member.is_dir()]
    parts = [PurePosixPath(name).parts for _, name in named]
    return [pair for pair, path in zip(named, parts) if path and is_wanted(path[-1]) and not any(map(is_beside, path))]


def _read_member(packed: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    if stat.S_ISLNK(member.external_attr >> 16):
        raise WorkbookError("grading.link", path=describe_inside(name))
    with packed.open(member) as stream:  # what a member unpacks to is not what its header says
        return read_bounded(stream, name)
