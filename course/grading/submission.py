"""One submission: a notebook, a folder with one, or a zip with one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Sentence
from course.grading import packed
from course.grading.cells import cells_of
from course.grading.names import IT, SUFFIXES, describe_inside, is_beside, name_as_text
from course.grading.packed import Found, is_wanted, read_bounded
from course.record import NAME as RECORD
from course.registry import EXERCISES

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

    def read_cells(self) -> list[dict[str, Any]]:
        """Return its code cells. Raises WorkbookError where it is no notebook. Raises WorkbookError where it is no
        notebook.
        """
        return cells_of(self.notebook, self.inside)

    def claimed_tries(self) -> dict[str, int]:
        """Return each task's tries as the student's own course.json tells them; nothing where it cannot be read."""
        try:
            claimed = json.loads(self.record.decode("utf-8-sig"))["tasks"]
            return {
                str(name): tries
                for name, entry in claimed.items()
                if type(tries := entry["tries"]) is int and 0 <= tries <= MOST_TRIES
            }
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return {}


def list_submissions(folder: Path) -> list[Path]:
    """Return the submissions in the folder, by name: notebooks, zips and folders. Raises WorkbookError where there is
    none. Raises WorkbookError where there is none.
    """
    if not folder.is_dir():
        raise WorkbookError("grading.no_folder", path=str(folder))
    submissions = [path for path in _list_candidates(folder) if _is_submission(path) and not path.name.startswith(".")]
    if not submissions:
        raise WorkbookError("grading.empty", path=str(folder))
    return submissions


def left_out(folder: Path) -> list[Path]:
    """Return what else lies in the folder, by name: files of another kind, and notebooks that are hidden."""
    return [path for path in _list_candidates(folder) if _is_submission(path) == path.name.startswith(".")]


def _list_candidates(folder: Path) -> list[Path]:
    """Return the folder's files; a hidden file that could be somebody's work is seen too."""
    candidates = [path for path in sorted(folder.iterdir()) if not is_beside(path.name)]
    return [path for path in candidates if not path.name.startswith(".") or path.name.lower().endswith(SUFFIXES)]


def _is_submission(path: Path) -> bool:
    return path.name.lower().endswith(SUFFIXES) or path.is_dir() or path.is_symlink()


def read_submission(path: Path, called: str = EXERCISES) -> Submission:
    """Read a submission; of several notebooks the one with `called` in its name.

    Raises WorkbookError naming what is wrong with it: no notebook or several, a link, too large, a broken zip.
    """
    if path.is_symlink():
        raise WorkbookError("grading.link", path=IT)
    try:
        if path.is_dir():
            return _make_submission(name_as_text(path), _read_folder(path), called)
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise WorkbookError("grading.unread", error=Sentence("course.no_file"))
        if path.suffix.lower() == ".zip" or packed.is_zip(path):
            return _make_submission(name_as_text(path), packed.files_in(path), called)
        with path.open("rb") as stream:
            return Submission(name_as_text(path), read_bounded(stream))
    except OSError as error:
        raise WorkbookError("grading.unread", error=explain_os_error(error)) from error


def _read_folder(path: Path) -> Found:
    files = [file for file in _files_below(path) if is_wanted(file.name)]
    links = [file for file in files if file.is_symlink()]
    if links:
        raise WorkbookError("grading.link", path=describe_inside(_path_within(path, links[0])))
    contents = []
    for file in files:
        with file.open("rb") as stream:
            contents.append((_path_within(path, file), read_bounded(stream, _path_within(path, file))))
    return contents


def _path_within(folder: Path, path: Path) -> str:
    return "/".join(name_as_text(Path(part)) for part in path.relative_to(folder).parts)


def _files_below(path: Path) -> list[Path]:
    """Return the files below, no link followed, no pipe opened. Raises WorkbookError where there are too many. Raises
    WorkbookError where there are too many.
    """
    files: list[Path] = []
    folders = [path]
    for folder in folders:
        for entry in sorted(folder.iterdir()):
            if is_beside(entry.name) or not (entry.is_symlink() or entry.is_dir() or entry.is_file()):
                continue
            (folders if entry.is_dir() and not entry.is_symlink() else files).append(entry)
            if len(files) + len(folders) > packed.MOST_MEMBERS:
                raise WorkbookError("grading.members", most=packed.MOST_MEMBERS)
    return files


def _make_submission(name: str, files: Found, called: str) -> Submission:
    """Make a submission of the one notebook; of several the one that is called as the exercises are."""
    books = sorted((path, data) for path, data in files if path.lower().endswith(".ipynb"))
    if len(books) > 1:
        books = [book for book in books if called in PurePosixPath(book[0]).name.lower()] or books
    if len(books) != 1:
        names = [path[:80] for path, _ in books[:5]]
        raise WorkbookError("grading.several" if books else "grading.no_notebook", found=names, wanted=called)
    records = [data for path, data in sorted(files) if PurePosixPath(path).name == RECORD]
    return Submission(name, books[0][1], records[0] if len(records) == 1 else b"", books[0][0])
