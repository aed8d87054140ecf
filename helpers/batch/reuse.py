"""Whether a stage's result may be used again: all that it depends on is as it was, also each file that it opened.

What it depends on is kept beside its outcome, by name, so that a run that is done again can say why.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from helpers.launch.child.reading import END, FIELD, LOST
from helpers.storage import open_storage
from helpers.words import Scalar

FILE, READS, FORM = "basis.json", "reads", 1
#: Content decides of files up to this size, up to so many bytes of a stage together; of others size and time of change.
HASHED_BYTES, HASHED_TOGETHER = 16 << 20, 512 << 20
#: A stage that opened more files than this is run again: nobody would look at all of them.
MOST_FILES = 100_000
UNKNOWN: Scalar = {"say": "reuse.unknown"}


def forget(folder: Path) -> Path:
    """Before a stage runs: what an earlier time left goes. The folder into which its processes tell what they open."""
    (folder / FILE).unlink(missing_ok=True)
    place = folder / READS
    for path in place.glob("*"):
        path.unlink()
    place.mkdir(exist_ok=True)
    return place


def keep(folder: Path, parts: Mapping[str, str]) -> None:
    """After it ran: what it depended on. `parts` is equal by name for equal notebook, parameters and so on."""
    told: dict[str, Any] = {"form": FORM, "parts": dict(parts), "files": {}, "folders": {}, "whole": True}
    found = _gathered(folder / READS)
    if found is None or len(found) > MOST_FILES:
        told["whole"] = False
    else:
        left = HASHED_TOGETHER
        for path, (kind, size, changed_ns) in sorted(found.items()):
            if kind == "d":
                told["folders"] |= {path: _names(path)} if _own_to(path, (size, changed_ns), folder) else {}
                continue
            told["files"][path] = _file(path, size, changed_ns, left)
            left -= size if told["files"][path][2] else 0
    open_storage(str(folder)).write_text(FILE, json.dumps(told))


def why_again(folder: Path, parts: Mapping[str, str]) -> Scalar:
    """Why the stage in the folder must run again; empty where all is as it was."""
    try:
        told = json.loads((folder / FILE).read_text(encoding="utf-8"))
        before, files, folders = told["parts"], told["files"], told["folders"]
        if told["form"] != FORM or not told["whole"]:
            return UNKNOWN
        other: list[Scalar] = [{"say": f"reuse.part.{name}"} for name in parts if before.get(name) != parts[name]]
        if other:
            return {"say": "reuse.parts", "args": {"what": other}}
        return _changed(files, folders)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return UNKNOWN


def _changed(files: Mapping[str, list[Any]], folders: Mapping[str, str]) -> Scalar:
    for path, (size, changed_ns, content) in files.items():
        now = _stat(path)
        if now is None or size < 0:
            if now is not None or size >= 0:
                return {"say": "reuse.gone" if now is None else "reuse.new", "args": {"path": _shown(path)}}
        elif now[0] != size or (_hash(path) != content if content else now[1] != changed_ns):
            return {"say": "reuse.file", "args": {"path": _shown(path)}}
    for path, names in folders.items():
        if _names(path) != names:
            return {"say": "reuse.folder", "args": {"path": _shown(path)}}
    return ""


def _shown(path: str) -> str:
    """A name of a file may be no text."""
    return path.encode("utf-8", "replace").decode("utf-8")


def _gathered(place: Path) -> dict[str, tuple[str, int, int]] | None:
    """Path -> kind, size and time of change when it was opened first; None where a process could not tell."""
    found: dict[str, tuple[str, int, int]] = {}
    made: set[str] = set()
    for path in place.iterdir():
        if path.name.endswith(LOST):
            return None
        for line in path.read_text(encoding="utf-8", errors="surrogateescape").split(END)[:-1]:
            kind, _, rest = line.partition(FIELD)
            name, size, changed_ns = rest.rsplit(FIELD, 2)
            if kind == "w":
                made.add(name)
            else:
                found.setdefault(name, (kind, int(size), int(changed_ns)))
    others = {name: one for name, one in found.items() if name not in made and not _made_since(name, one)}
    return {name: one for name, one in others.items() if not _passing(name, one)}


def _passing(name: str, seen: tuple[str, int, int]) -> bool:
    """There while the stage ran and gone at its end, from the folder for such: its own."""
    return seen[1] >= 0 and not os.path.lexists(name) and Path(tempfile.gettempdir()) in Path(name).parents


def _made_since(name: str, seen: tuple[str, int, int]) -> bool:
    """Not there when it was looked for, and there now: its own, as a cache. A folder is no file that was read."""
    kind, size, _ = seen
    return (size < 0 and os.path.lexists(name)) or (kind == "r" and size >= 0 and not _regular(name))


def _own_to(path: str, seen: tuple[int, int], stage: Path) -> bool:
    """Whether what is in the listed folder is the data's alone: as it was listed, or changed since by a cache, say. In
    the folder for passing files, and above the stage's own, others come and go."""
    now = _stat(path)
    shared = {Path(tempfile.gettempdir()).resolve(), *stage.resolve().parents}
    return now == seen or (now is not None and Path(path).resolve() not in shared)


def _regular(name: str) -> bool:
    return Path(name).is_file() or not os.path.lexists(name)


def _file(path: str, size: int, changed_ns: int, left: int) -> list[Any]:
    """As it was when it was opened; with its content where that is small and has not changed since."""
    small = 0 <= size <= min(HASHED_BYTES, left) and _stat(path) == (size, changed_ns)
    return [size, changed_ns, _hash(path) if small else ""]


def _stat(path: str) -> tuple[int, int] | None:
    try:
        now = Path(path).stat()
    except OSError:
        return None
    return now.st_size, now.st_mtime_ns


def _hash(path: str) -> str:
    try:
        now = Path(path).stat()
        return _content(path, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
    except OSError:
        return "?"


@lru_cache(maxsize=65536)
def _content(path: str, size: int, changed_ns: int, moved_ns: int) -> str:
    """Each file once for as long as it stays as it is: many runs read the same data."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        for piece in _pieces(stream):
            digest.update(piece)
    return digest.hexdigest()[:32]


def _pieces(stream: Any) -> Iterator[bytes]:
    while piece := stream.read(1 << 20):
        yield piece


def _names(path: str) -> str:
    """Equal for a folder of the same names; of what lies in them nothing is said."""
    try:
        names = sorted(os.listdir(path))  # noqa: PTH208
    except OSError:
        return ""
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:32]
