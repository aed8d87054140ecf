"""One submission: a notebook, a folder with one, or a zip with one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import unicodedata
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Scalar, Sentence
from course.exercises.record import NAME as RECORD
from course.exercises.task import EXERCISES

#: How a sentence speaks of the submission itself; the finding and the table's row name it.
IT: Scalar = Sentence("grading.it")

SUFFIXES = (".ipynb", ".zip")
#: What Jupyter, macOS, Windows and office programs put beside the work.
BESIDE = (".ipynb_checkpoints", "__MACOSX", "Thumbs.db", "desktop.ini")
#: ._NAME: a file's attributes on macOS; ~$NAME: a document that is open.
BESIDE_BEGINNINGS = ("._", "~$")
#: What a browser or a file manager puts behind the name of a second copy.
COPY = re.compile(r"(?:\s*[(（]\d+[)）]|[\s_-]+(?:副本|[Cc]opy)\s*\d*)+$")


def describe_inside(path: str) -> Scalar:
    """Return how to speak of a file inside the submission; of the submission for an empty path."""
    return Sentence("grading.inside", path=path[:100]) if path else IT


def is_beside(name: str) -> bool:
    """Return whether a file is nobody's work."""
    return name in BESIDE or name.startswith(BESIDE_BEGINNINGS)


def compose_name(name: str) -> str:
    """Return a name in the form in which names are compared: macOS writes an accent as a character of its own."""
    return unicodedata.normalize("NFC", name).strip()


def make_printable(text: str) -> str:
    """Return text that a file and a terminal take: what is written in a JSON file may hold halves of characters."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def name_as_text(path: Path) -> str:
    """Return the file's name as text. Names in GBK, which an unpacker may leave on the disk, are read as such."""
    raw = os.fsencode(path.name)
    return unicodedata.normalize("NFC", _decode_name(raw) or raw.decode("utf-8", "backslashreplace"))


def name_of(path: Path) -> str:
    """Return who handed it in, as the file or folder is called."""
    return without_suffix(name_as_text(path))


def without_suffix(name: str) -> str:
    stem, dot, suffix = name.rpartition(".")
    return stem if f"{dot}{suffix}".lower() in SUFFIXES else name


def member_name(member: zipfile.ZipInfo) -> str:
    """The name in a zip. Who sets no flag may mean UTF-8 (macOS) or GBK (Windows in Chinese): zipfile took it for the
    character set of the first PC, from which the bytes can be had again."""
    name = member.filename
    if not member.flag_bits & 0x800:
        with contextlib.suppress(UnicodeEncodeError):  # then an extra field told it
            name = _decode_name(name.encode("cp437")) or name
    return unicodedata.normalize("NFC", name).replace("\\", "/")


def same_person(declared: str, student: str) -> bool:
    """Return whether the notebook's name is the file's, however accents are written, also where that is a copy."""
    declared_name, student_name = unicodedata.normalize("NFC", declared), compose_name(student)
    return declared_name != "" and declared_name in (student_name, COPY.sub("", student_name))


def _decode_name(raw: bytes) -> str:
    """Return the text, empty where it is in neither character set."""
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return ""


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
    """Return notebooks and records. Raises WorkbookError: it is no zip, has too much in it, a link, or is encrypted."""
    if path.stat().st_size > MOST_ZIP_BYTES:
        raise WorkbookError("grading.too_large", path=IT, most=MOST_ZIP_BYTES >> 20)
    head = _read_head(path)
    kind = next((kind for magic, kind in OTHERS.items() if head.startswith(magic)), "")
    if kind:
        raise WorkbookError("grading.other_archive", kind=kind)
    try:
        with zipfile.ZipFile(path) as packed:
            members = packed.infolist()
            if len(members) > MOST_MEMBERS:
                raise WorkbookError("grading.members", most=MOST_MEMBERS)
            named = [(member, member_name(member)) for member in members if not member.is_dir()]
            paths = [PurePosixPath(name).parts for _, name in named]
            wanted = [path and is_wanted(path[-1]) and not any(map(is_beside, path)) for path in paths]
            return [(name, _read_member(packed, member, name)) for (member, name), read in zip(named, wanted) if read]
    except BROKEN as error:
        raise WorkbookError("grading.bad_zip", error=str(error)[:200]) from error


def _read_head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(8)


def is_wanted(name: str) -> bool:
    """Return whether a file of this name, without folders, is read."""
    return not is_beside(name) and (name.lower().endswith(".ipynb") or name == RECORD)


def read_bounded(stream: IO[bytes], name: str = "") -> bytes:
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise WorkbookError("grading.too_large", path=describe_inside(name), most=MOST_BYTES >> 20)
    return data


def _read_member(packed: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    if stat.S_ISLNK(member.external_attr >> 16):
        raise WorkbookError("grading.link", path=describe_inside(name))
    with packed.open(member) as stream:  # what a member unpacks to is not what its header says
        return read_bounded(stream, name)


FORMAT = 4


def cells_of(data: bytes, path: str = "") -> list[dict[str, object]]:
    """Return the code cells alone, as (source, tags), of a notebook in UTF-8 or UTF-16, with its mark or not.

    `path`: inside the submission. Raises WorkbookError `grading.book_...` where it is none of format 4.
    """
    what = describe_inside(path)
    parsed = _parse_notebook(data, what)
    if not isinstance(parsed, dict):
        raise WorkbookError("grading.book_kind", path=what, place="-")
    form = parsed.get("nbformat", FORMAT)
    if form != FORMAT:
        raise WorkbookError("grading.book_format", path=what, given=str(form)[:20], wanted=FORMAT)
    cells = parsed.get("cells")
    if not isinstance(cells, list):
        raise WorkbookError("grading.book_kind", path=what, place="cells")
    converted = [_read_cell(cell) for cell in cells]
    if None in converted:
        raise WorkbookError("grading.book_kind", path=what, place=f"cells[{converted.index(None)}]")
    return [cell for cell in converted if cell]


def _parse_notebook(data: bytes, what: Scalar) -> object:
    if not data.strip(b"\0 \t\r\n"):
        raise WorkbookError("grading.book_empty", path=what, size=len(data))
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
        return json.loads(text)
    except UnicodeDecodeError as error:
        raise WorkbookError("grading.book_text", path=what, at=error.start) from error
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip("\0 \t\r\n")) or error.msg.startswith("Unterminated")
        key = "grading.book_cut" if cut else "grading.book_json"
        raise WorkbookError(key, path=what, line=error.lineno, column=error.colno, size=len(data)) from error
    except (ValueError, RecursionError) as error:  # a number of many digits; brackets without end
        raise WorkbookError("grading.book_kind", path=what, place="-") from error


def _read_cell(cell: object) -> dict[str, object] | None:
    """Return source and tags; nothing of a cell that holds no code; None for what is no cell."""
    if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
        return None
    if cell["cell_type"] != "code":
        return {}
    source, meta = cell.get("source"), cell.get("metadata")
    lines = [source] if isinstance(source, str) else source
    if not isinstance(lines, list) or not all(isinstance(item, str) for item in lines):
        return None
    tags = meta.get("tags") if isinstance(meta, dict) else None
    return {"source": "".join(lines), "tags": [str(item) for item in tags] if isinstance(tags, list) else []}


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
    """Return the notebooks, zips and folders, by name. Raises WorkbookError where there is none."""
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
            files = [file for file in _files_below(path) if is_wanted(file.name)]
            links = [file for file in files if file.is_symlink()]
            if links:
                raise WorkbookError("grading.link", path=describe_inside(_path_within(path, links[0])))
            contents = []
            for file in files:
                with file.open("rb") as stream:
                    contents.append((_path_within(path, file), read_bounded(stream, _path_within(path, file))))
            return _make_submission(name_as_text(path), contents, called)
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise WorkbookError("grading.unread", error=Sentence("course.no_file"))
        if path.suffix.lower() == ".zip" or _read_head(path).startswith(MAGIC):
            return _make_submission(name_as_text(path), files_in(path), called)
        with path.open("rb") as stream:
            return Submission(name_as_text(path), read_bounded(stream))
    except OSError as error:
        raise WorkbookError("grading.unread", error=explain_os_error(error)) from error


def _path_within(folder: Path, path: Path) -> str:
    return "/".join(name_as_text(Path(part)) for part in path.relative_to(folder).parts)


def _files_below(path: Path) -> list[Path]:
    """Return the files below, no link followed, no pipe opened. Raises WorkbookError where there are too many."""
    files: list[Path] = []
    folders = [path]
    for folder in folders:
        for entry in sorted(folder.iterdir()):
            if is_beside(entry.name) or not (entry.is_symlink() or entry.is_dir() or entry.is_file()):
                continue
            (folders if entry.is_dir() and not entry.is_symlink() else files).append(entry)
            if len(files) + len(folders) > MOST_MEMBERS:
                raise WorkbookError("grading.members", most=MOST_MEMBERS)
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
