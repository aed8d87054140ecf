"""One submission: a notebook, a folder with one, or a zip with one. Nothing of a zip is unpacked to the disk."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from helpers.course.record import NAME as RECORD
from helpers.course.registry import EXERCISES
from helpers.errors import WorkbookError, reason

MOST_BYTES, MOST_MEMBERS, MOST_ZIP_BYTES = 16 << 20, 2000, 256 << 20
#: What Jupyter and macOS put beside the work.
BESIDE = (".ipynb_checkpoints", "__MACOSX")


@dataclass(frozen=True)
class Submission:
    """What was handed in as the file or folder `name`: the notebook and, where it came along, course.json, as bytes."""

    name: str
    notebook: bytes
    record: bytes = b""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.notebook + b"\0" + self.record).hexdigest()[:16]

    def claimed_tries(self) -> dict[str, int]:
        """Task -> tries as the student's own course.json tells them; nothing where it cannot be read."""
        try:
            told = json.loads(self.record.decode("utf-8"))["tasks"]
            return {str(name): tries for name, each in told.items() if type(tries := each["tries"]) is int}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return {}


def entries(folder: Path) -> list[Path]:
    """Submissions in the folder, by name: notebooks, zips and folders. Raises WorkbookError where there is none."""
    if not folder.is_dir():
        raise WorkbookError("grading.no_folder", path=str(folder))
    found = [path for path in _seen(folder) if _submission(path)]
    if not found:
        raise WorkbookError("grading.empty", path=str(folder))
    return found


def left_out(folder: Path) -> list[Path]:
    """What else lies in the folder, by name: files of another kind, which are not graded."""
    return [path for path in _seen(folder) if not _submission(path)]


def _seen(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if not path.name.startswith(".") and path.name not in BESIDE]


def _submission(path: Path) -> bool:
    return path.suffix in (".ipynb", ".zip") or path.is_dir() or path.is_symlink()


def name_of(path: Path) -> str:
    """Who handed it in, as the file or folder is called."""
    return path.stem if path.suffix in (".ipynb", ".zip") else path.name


def read(path: Path, wanted: str = EXERCISES) -> Submission:
    """Of several notebooks the one with `wanted` in its name.

    Raises WorkbookError naming what is wrong with it: no notebook or several, a link, too large, a broken zip.
    """
    if path.is_symlink():
        raise WorkbookError("grading.link", path=path.name)
    try:
        if path.is_dir():
            return _of(path.name, _folder(path), wanted)
        if path.suffix == ".zip":
            return _zip(path, wanted)
        with path.open("rb") as stream:
            return Submission(path.name, _bounded(stream, path.name))
    except OSError as error:
        raise WorkbookError("command.file", path=path.name, error=reason(error)) from error


def _folder(path: Path) -> dict[str, bytes]:
    files = [each for each in _inside(path) if _wanted(each.name)]
    links = [each.name for each in files if each.is_symlink()]
    if links:
        raise WorkbookError("grading.link", path=f"{path.name}/{links[0]}")
    found = {}
    for each in files:
        with each.open("rb") as stream:
            found[each.relative_to(path).as_posix()] = _bounded(stream, each.name)
    return found


def _inside(path: Path) -> list[Path]:
    """Files below, no link followed. Raises WorkbookError where there are too many."""
    found: list[Path] = []
    folders = [path]
    for folder in folders:
        for each in sorted(folder.iterdir()):
            if each.name in BESIDE:
                continue
            (folders if each.is_dir() and not each.is_symlink() else found).append(each)
            if len(found) + len(folders) > MOST_MEMBERS:
                raise WorkbookError("grading.members", path=path.name, most=MOST_MEMBERS)
    return found


def _zip(path: Path, wanted: str) -> Submission:
    if path.stat().st_size > MOST_ZIP_BYTES:
        raise WorkbookError("grading.too_large", path=path.name, most=MOST_ZIP_BYTES >> 20)
    try:
        with zipfile.ZipFile(path) as packed:
            members = packed.infolist()
            if len(members) > MOST_MEMBERS:
                raise WorkbookError("grading.members", path=path.name, most=MOST_MEMBERS)
            found = {each.filename: _member(packed, each) for each in _notebooks(members)}
            return _of(path.name, found, wanted)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zipfile.zlib.error) as error:  # type: ignore[attr-defined]
        raise WorkbookError("grading.bad_zip", path=path.name, error=str(error)[:200]) from error


def _notebooks(members: Iterable[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    paths = ((each, PurePosixPath(each.filename)) for each in members if not each.is_dir())
    return [each for each, path in paths if _wanted(path.name) and not set(path.parts) & set(BESIDE)]


def _member(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if stat.S_ISLNK(member.external_attr >> 16):
        raise WorkbookError("grading.link", path=member.filename[:100])
    with packed.open(member) as stream:  # what a member unpacks to is not what its header says
        return _bounded(stream, member.filename[:100])


def _bounded(stream: IO[bytes], name: str) -> bytes:
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise WorkbookError("grading.too_large", path=name, most=MOST_BYTES >> 20)
    return data


def _wanted(name: str) -> bool:
    return name.endswith(".ipynb") or name == RECORD


def _of(name: str, files: dict[str, bytes], wanted: str) -> Submission:
    """The one notebook; of several the one that is called as the exercises are."""
    books = sorted(each for each in files if each.endswith(".ipynb"))
    if len(books) > 1:
        books = [each for each in books if wanted in PurePosixPath(each).name.lower()] or books
    if len(books) != 1:
        key = "grading.several" if books else "grading.no_notebook"
        raise WorkbookError(key, path=name, found=[each[:80] for each in books[:5]], wanted=wanted)
    records = [data for each, data in sorted(files.items()) if PurePosixPath(each).name == RECORD]
    return Submission(name, files[books[0]], records[0] if len(records) == 1 else b"")


def cells_of(data: bytes) -> list[dict[str, Any]]:
    """The code cells alone, as (source, tags); stored outputs are not looked at. Raises WorkbookError."""
    try:
        told = json.loads(data.decode("utf-8-sig"))
        found = [each for each in told["cells"] if each["cell_type"] == "code"]
        return [{"source": _source(each["source"]), "tags": _tags(each)} for each in found]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise WorkbookError("grading.no_json", error=f"{type(error).__name__}: {error}"[:200]) from error


def _source(told: Any) -> str:
    text = told if isinstance(told, str) else "".join(told)
    return str(text)


def _tags(cell: dict[str, Any]) -> list[str]:
    return [str(each) for each in cell.get("metadata", {}).get("tags", [])]
