"""The folder that `rewrite` writes a result to: new, empty or an earlier result; anything else only where asked.

A result carries a small file, MARK, with its source and the hashes of what was written. By it a folder is known for
one of ours, and a file that somebody has edited since is told from one that may be replaced.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Union

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status

MARK = ".ascend-workbook.json"
WRITER = "ascend-workbook rewrite"
LARGEST_BYTES = 64 << 20
SHOWN, MOST = 3, 10_000
#: What a file of the result holds: bytes that were made, or those of the file that is copied.
Result = Union[bytes, Path]


class Earlier(NamedTuple):
    """What MARK says: name -> hash of the files, and the folder they were made from ("" where it does not say)."""

    files: dict[str, str]
    source: str

    def is_of(self, source: str) -> bool:
        return self.source in ("", source)


def refuse_foreign(out: Path, results: Mapping[str, Result], source: str, *, confirmed: bool) -> None:
    """Refuse an `out` that is no folder, or holds files that no result of ours from `source` are. Raises WorkbookError
    for it.
    """
    if out.exists() and not out.is_dir():
        raise WorkbookError("migration.out_is_file", path=str(out))
    if confirmed or not out.is_dir():
        return
    earlier = written_before(out)
    if earlier is not None and not earlier.is_of(source):
        raise WorkbookError("migration.other_source", path=str(out), source=earlier.source, now=source)
    if earlier is not None:
        return
    held = list(islice(_list_held_files(out), MOST))
    other = [name for name in held if name not in results or (out / name).read_bytes() != read_content(results[name])]
    if other:
        more = "…" if len(held) > SHOWN else ""
        count = f"{len(held)}+" if len(held) == MOST else len(held)
        raise WorkbookError("migration.foreign_out", path=str(out), count=count, names=held[:SHOWN], more=more)


def written_before(out: Path) -> Earlier | None:
    """The earlier result that the folder holds, if any."""
    try:
        with (out / MARK).open("rb") as stream:
            content: Any = json.loads(stream.read(LARGEST_BYTES))
        files = content["files"]
        texts = (text for pair in files.items() for text in pair)
        known = content["written_by"] == WRITER and all(isinstance(text, str) for text in texts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Earlier(files, str(content.get("source", ""))) if known else None


def set_aside(out: Path, script: Path) -> Path:
    """Return `out`, free for a result of `script`: one of scripts that lay elsewhere becomes `out`.1 and so on.

    As where each night checks out into a new folder. It is not removed: somebody may have edited it.
    """
    earlier, source = written_before(out), script.resolve()
    if earlier is not None and not earlier.is_of(str(source if source.is_dir() else source.parent)):
        free = (out.with_name(f"{out.name}.{number}") for number in itertools.count(1))
        out.rename(next(place for place in free if not place.exists()))
    return out


def encode_mark(files: Mapping[str, str], source: str) -> bytes:
    """Encode what MARK holds: the source and the hashes of all that was written from it, now and before."""
    mark_content = {"written_by": WRITER, "source": source, "files": dict(files)}
    return json.dumps(mark_content, ensure_ascii=False, indent=1, sort_keys=True).encode("utf-8", "surrogateescape")


def read_content(result: Result) -> bytes:
    """Read a result's bytes. Raises OSError where a file that is copied cannot be read."""
    return result if isinstance(result, bytes) else result.read_bytes()


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def report_out_folder(out: Path, replaced: list[str], kept_names: list[str], stale: Iterable[str]) -> list[Finding]:
    """Report what was found in a folder that was not new: replaced, kept beside, and left from before."""
    file_groups = (
        (Status.NOTE, "MIG130.replaced", replaced),
        (Status.WARN, "MIG130.kept", kept_names),
        (Status.WARN, "MIG130.stale", sorted(stale)),
    )
    return [
        Finding("MIG130", status, key, {"out": str(out), "count": len(names), "first": names[0]})
        for status, key, names in file_groups
        if names
    ]


def _list_held_files(out: Path) -> Iterator[str]:
    """The files below, by name; a repository's own folder is none of them."""
    for folder, folders, files in os.walk(out):
        folders[:] = sorted(name for name in folders if name != ".git")
        yield from ((Path(folder) / name).relative_to(out).as_posix() for name in sorted(files) if name != MARK)
