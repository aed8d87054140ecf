"""The folder that `rewrite` writes a result to: new, empty or an earlier result; anything else only where asked.

A result carries a small file, MARK, with its source and the hashes of what was written. By it a folder is known for
one of ours, and a file that somebody has edited since is told from one that may be replaced.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Union

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.repair import REWRITE, class_of
from ascend_workbook.migration.rewrite.change import Change
from ascend_workbook.migration.texts import read_text

LARGEST_SCAN_BYTES = 256 << 20
Expected = Union["dict[str, str]", str, "os.PathLike[str]"]


def check_expected(expect: Expected, where: Tree, changes: Collection[Change]) -> list[Finding]:
    """Report what is to be said of files that are edited and that the scan does not have.

    Raises WorkbookError for the first file whose text is not the one the scan saw, and where the scan is of other
    files altogether."""
    hashes, root = ({**expect}, None) if isinstance(expect, dict) else _read_expected_hashes(Path(expect))
    unknown: list[str] = []
    for change in changes:
        seen = hashes.get(_name_in_scan(change.name, change.file, root))
        if seen is not None and seen != change.text_sha256:
            raise WorkbookError("migration.changed", path=change.name)
        if seen is None and not _is_below(change.file, root):
            unknown.append(change.name)
    shown: dict[str, Scalar] = {"count": len(unknown), "names": unknown[:SHOWN], "more": "…" * (len(unknown) > SHOWN)}
    # a scan that found nothing has no text of any file: a script without CUDA, which gets its start alone
    if unknown and hashes and len(unknown) == len(changes) and not _is_of(hashes, where):
        raise WorkbookError("migration.other_scan", **shown)
    for change in changes:
        new = _name_in_scan(change.name, change.file, root) not in hashes
        if new and any(class_of(finding) == REWRITE and finding.rule != "MIG131" for finding in change.made):
            raise WorkbookError("migration.changed", path=change.name)
    return [Finding("MIG130", Status.NOTE, "MIG130.not_in_scan", shown)] if unknown else []


def _name_in_scan(name: str, file: Path, root: Path | None) -> str:
    """The file's name as that scan called it: it may have looked at a folder above or below."""
    return file.resolve().relative_to(root).as_posix() if root is not None and _is_below(file, root) else name


def _is_below(file: Path, root: Path | None) -> bool:
    return root is not None and file.resolve().is_relative_to(root)


def _is_of(hashes: dict[str, str], where: Tree) -> bool:
    """A file that needs no edit is one that the scan saw: a copy of its folder, where only a start script is edited."""
    for file in where.scanned_files:
        with suppress(Unreadable, OSError):
            name = where.name_of(file)
            if name in hashes and read_text(file, name).sha256 == hashes[name]:
                return True
    return False


def _read_expected_hashes(file: Path) -> tuple[dict[str, str], Path | None]:
    try:
        with file.open("rb") as stream:
            content: Any = json.loads(stream.read(LARGEST_SCAN_BYTES))
        facts = content["facts"]
        hashes, root = facts["sha256"], facts.get("root")
        if not all(isinstance(item, str) for pair in hashes.items() for item in pair):
            raise TypeError("sha256")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as cause:
        raise WorkbookError("migration.no_scan", path=str(file)) from cause
    except OSError as cause:
        raise WorkbookError("command.file", path=str(file), error=explain_os_error(cause)) from cause
    return hashes, Path(root) if isinstance(root, str) else None


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
    """Refuse an `out` that is no folder, or holds files that are no result of `source`. Raises WorkbookError."""
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

    As where each night checks out into a new folder. It is not removed: somebody may have edited it."""
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
