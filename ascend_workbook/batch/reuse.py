"""Whether a stage's result may be used again: all that it depends on is as it was, also each file that it opened.

What it depends on is kept beside its outcome, by name, so that a run that is done again can say why.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch.child.reading import END, FIELD, LOST
from ascend_workbook.storage import open_storage

FILE, READS, FORM = "basis.json", "reads", 1
#: Content decides of files up to this size, up to so many bytes of a stage together; of others size and time of change.
HASHED_BYTES, HASHED_TOGETHER = 16 << 20, 512 << 20
#: A stage that opened more files than this is run again: nobody would look at all of them.
MOST_FILES = 100_000
UNKNOWN: Scalar = Sentence("reuse.unknown")


def forget_reads(folder: Path) -> Path:
    """Remove what an earlier run left, and return the folder where the stage's processes note what they open."""
    (folder / FILE).unlink(missing_ok=True)
    place = folder / READS
    for path in place.glob("*"):
        path.unlink()
    place.mkdir(exist_ok=True)
    return place


def keep_dependencies(folder: Path, parts: Mapping[str, str]) -> None:
    """Keep what a stage that ran depended on. `parts` is equal by name for equal notebook, parameters and so on."""
    dependencies: dict[str, Any] = {"form": FORM, "parts": dict(parts), "files": {}, "folders": {}, "whole": True}
    opened_files = _gather_opened(folder / READS)
    if opened_files is None or len(opened_files) > MOST_FILES:
        dependencies["whole"] = False
    else:
        bytes_left = HASHED_TOGETHER
        for path, (kind, size, changed_ns) in sorted(opened_files.items()):
            if kind == "d":
                # what is in the listed folder is the data's alone where it is as it was listed, or was
                # changed since by a cache, say. In the folder for passing files, and above the stage's own, others
                # come and go.
                now = _stat_file(path)
                shared = {Path(tempfile.gettempdir()).resolve(), *folder.resolve().parents}
                data = now == (size, changed_ns) or (now is not None and Path(path).resolve() not in shared)
                dependencies["folders"] |= {path: _hash_names(path)} if data else {}
                continue
            small = 0 <= size <= min(HASHED_BYTES, bytes_left) and _stat_file(path) == (size, changed_ns)
            dependencies["files"][path] = [size, changed_ns, _hash_file(path) if small else ""]
            bytes_left -= size if dependencies["files"][path][2] else 0
    open_storage(str(folder)).write_text(FILE, json.dumps(dependencies))


def why_again(folder: Path, parts: Mapping[str, str]) -> Scalar:
    """Return why the stage in the folder must run again; empty where all is as it was."""
    try:
        dependencies = json.loads((folder / FILE).read_text(encoding="utf-8"))
        before, files, folders = dependencies["parts"], dependencies["files"], dependencies["folders"]
        if dependencies["form"] != FORM or not dependencies["whole"]:
            return UNKNOWN
        changed = [name for name in parts if before.get(name) != parts[name]]
        if changed:
            return Sentence("reuse.parts", what=[Sentence(f"reuse.part.{name}") for name in changed])
        for path, (size, changed_ns, content) in files.items():
            now = _stat_file(path)
            if now is None or size < 0:
                if now is not None or size >= 0:
                    return _name_path("reuse.gone" if now is None else "reuse.new", path)
            elif now[0] != size or (_hash_file(path) != content if content else now[1] != changed_ns):
                return _name_path("reuse.file", path)
        other = next((path for path, names in folders.items() if _hash_names(path) != names), None)
        return "" if other is None else _name_path("reuse.folder", other)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return UNKNOWN


def _name_path(key: str, path: str) -> Scalar:
    """Return the sentence with the path as a text; a name of a file may be none."""
    return Sentence(key, path=path.encode("utf-8", "replace").decode("utf-8"))


def _gather_opened(place: Path) -> dict[str, tuple[str, int, int]] | None:
    """Return kind, size and time of change of each path as first opened; None where a process could not tell."""
    opened_files: dict[str, tuple[str, int, int]] = {}
    written_names: set[str] = set()
    for path in place.iterdir():
        if path.name.endswith(LOST):
            return None
        for line in path.read_text(encoding="utf-8", errors="surrogateescape").split(END)[:-1]:
            kind, _, rest = line.partition(FIELD)
            name, size, changed_ns = rest.rsplit(FIELD, 2)
            if kind == "w":
                written_names.add(name)
            else:
                opened_files.setdefault(name, (kind, int(size), int(changed_ns)))
    return {
        name: file_state
        for name, file_state in opened_files.items()
        if name not in written_names and _was_read(name, *file_state[:2])
    }


def _was_read(name: str, kind: str, size: int) -> bool:
    """Return whether the stage read what it opened. Not what was absent then and is there now, nor what was there while
    it ran and gone at its end, in the folder for temporary files; and a folder is no file."""
    there = os.path.lexists(name)
    if size < 0:
        return not there
    temporary = not there and Path(tempfile.gettempdir()) in Path(name).parents
    return not temporary and (kind != "r" or not there or Path(name).is_file())


def _stat_file(path: str) -> tuple[int, int] | None:
    try:
        now = Path(path).stat()
    except OSError:
        return None
    return now.st_size, now.st_mtime_ns


def _hash_file(path: str) -> str:
    try:
        now = Path(path).stat()
        return _hash_content(path, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
    except OSError:
        return "?"


@lru_cache(maxsize=65536)
def _hash_content(path: str, size: int, changed_ns: int, moved_ns: int) -> str:
    """Hash a file once for as long as it stays as it is. Many runs read the same data."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()[:32]


def _hash_names(path: str) -> str:
    """Hash the names in a folder. What lies in the files is not looked at."""
    try:
        names = sorted(os.listdir(path))  # noqa: PTH208
    except OSError:
        return ""
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:32]
