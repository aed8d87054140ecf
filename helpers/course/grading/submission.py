"""One submission: a notebook, a folder with one, or a zip with one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from helpers.course.grading import packed
from helpers.course.grading.cells import cells_of
from helpers.course.grading.names import IT, SUFFIXES, beside, inside, shown
from helpers.course.grading.packed import Found, bounded, wanted
from helpers.course.record import NAME as RECORD
from helpers.course.registry import EXERCISES
from helpers.errors import WorkbookError, reason

#: A try is a person's: what a record says beyond it is none.
MOST_TRIES = 9999


@dataclass(frozen=True)
class Submission:
    """What was handed in as the file or folder `name`: the notebook, its path inside (empty: it is the submission) and,
    where it came along, course.json, as bytes."""

    name: str
    notebook: bytes
    record: bytes = b""
    inside: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.notebook + b"\0" + self.record).hexdigest()[:16]

    def cells(self) -> list[dict[str, Any]]:
        """Its code. Raises WorkbookError where it is no notebook."""
        return cells_of(self.notebook, self.inside)

    def claimed_tries(self) -> dict[str, int]:
        """Task -> tries as the student's own course.json tells them; nothing where it cannot be read."""
        try:
            told = json.loads(self.record.decode("utf-8-sig"))["tasks"]
            return {str(name): tries for name, each in told.items()
                    if type(tries := each["tries"]) is int and 0 <= tries <= MOST_TRIES}  # fmt: skip
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return {}


def entries(folder: Path) -> list[Path]:
    """Submissions in the folder, by name: notebooks, zips and folders. Raises WorkbookError where there is none."""
    if not folder.is_dir():
        raise WorkbookError("grading.no_folder", path=str(folder))
    found = [path for path in _seen(folder) if _submission(path) and not path.name.startswith(".")]
    if not found:
        raise WorkbookError("grading.empty", path=str(folder))
    return found


def left_out(folder: Path) -> list[Path]:
    """What else lies in the folder, by name: files of another kind, and notebooks that are hidden."""
    return [path for path in _seen(folder) if _submission(path) == path.name.startswith(".")]


def _seen(folder: Path) -> list[Path]:
    """A hidden file that could be somebody's work is seen too."""
    found = [path for path in sorted(folder.iterdir()) if not beside(path.name)]
    return [path for path in found if not path.name.startswith(".") or path.name.lower().endswith(SUFFIXES)]


def _submission(path: Path) -> bool:
    return path.name.lower().endswith(SUFFIXES) or path.is_dir() or path.is_symlink()


def read(path: Path, called: str = EXERCISES) -> Submission:
    """Of several notebooks the one with `called` in its name.

    Raises WorkbookError naming what is wrong with it: no notebook or several, a link, too large, a broken zip.
    """
    if path.is_symlink():
        raise WorkbookError("grading.link", path=IT)
    try:
        if path.is_dir():
            return _of(shown(path), _folder(path), called)
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise WorkbookError("grading.unread", error={"say": "course.no_file", "args": {}})
        if path.suffix.lower() == ".zip" or packed.is_zip(path):
            return _of(shown(path), packed.files_in(path), called)
        with path.open("rb") as stream:
            return Submission(shown(path), bounded(stream))
    except OSError as error:
        raise WorkbookError("grading.unread", error=reason(error)) from error


def _folder(path: Path) -> Found:
    files = [each for each in _inside(path) if wanted(each.name)]
    links = [each for each in files if each.is_symlink()]
    if links:
        raise WorkbookError("grading.link", path=inside(_within(path, links[0])))
    found = []
    for each in files:
        with each.open("rb") as stream:
            found.append((_within(path, each), bounded(stream, _within(path, each))))
    return found


def _within(folder: Path, path: Path) -> str:
    return "/".join(shown(Path(part)) for part in path.relative_to(folder).parts)


def _inside(path: Path) -> list[Path]:
    """Files below, no link followed, no pipe opened. Raises WorkbookError where there are too many."""
    found: list[Path] = []
    folders = [path]
    for folder in folders:
        for each in sorted(folder.iterdir()):
            if beside(each.name) or not (each.is_symlink() or each.is_dir() or each.is_file()):
                continue
            (folders if each.is_dir() and not each.is_symlink() else found).append(each)
            if len(found) + len(folders) > packed.MOST_MEMBERS:
                raise WorkbookError("grading.members", most=packed.MOST_MEMBERS)
    return found


def _of(name: str, files: Found, called: str) -> Submission:
    """The one notebook; of several the one that is called as the exercises are."""
    books = sorted((each, data) for each, data in files if each.lower().endswith(".ipynb"))
    if len(books) > 1:
        books = [one for one in books if called in PurePosixPath(one[0]).name.lower()] or books
    if len(books) != 1:
        found = [each[:80] for each, _ in books[:5]]
        raise WorkbookError("grading.several" if books else "grading.no_notebook", found=found, wanted=called)
    records = [data for each, data in sorted(files) if PurePosixPath(each).name == RECORD]
    return Submission(name, books[0][1], records[0] if len(records) == 1 else b"", books[0][0])
