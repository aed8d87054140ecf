"""Names of files and of students, as different systems write them."""

from __future__ import annotations

import contextlib
import os
import re
import unicodedata
import zipfile
from pathlib import Path

from ascend_workbook.findings.sentence import Scalar, Sentence

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
    """Return text that a file and a terminal take.

    What somebody wrote into a JSON file may hold halves of characters.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def name_as_text(path: Path) -> str:
    """Return the file's name as text. Names in GBK, which an unpacker may leave on the disk, are read as such. Names in
    GBK, which an unpacker may leave on the disk, are read as such.
    """
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
    """Return whether the name in the notebook is the one of the file: however its accents are written, and whether or
    not the file is called a copy."""
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
