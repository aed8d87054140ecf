"""Writing what `rewrite` made: whole or not at all, file by file, with a way back.

Each file is written aside, flushed to the disk and renamed: whoever is killed between two files leaves each of
them either old or new. One that cannot be written is one finding, and the rest goes on.

The folder for a result is new, empty or an earlier result; anything else only where asked. A result carries a small
file, MARK, with its source and the hashes of what was written. By it a folder is known for one of ours, and a file that
somebody has edited since is told from one that may be replaced.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Union

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
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
        (Status.LOOK, "MIG130.kept", kept_names),
        (Status.LOOK, "MIG130.stale", sorted(stale)),
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


BACKUP = ".orig"
FAILED = "MIG130.not_written"
#: How a patch begins (make_patch).
PATCH = b"--- "


def in_place(where: Tree, changes: Iterable[Change]) -> tuple[list[str], list[Finding]]:
    """Writes each change over its file, the old bytes kept beside it as NAME.orig; the backups' names and failures."""
    backups: list[str] = []
    failed: list[Finding] = []
    for change in changes:
        with _note_failure(failed, change.name):
            if leads_out(where, change.file):
                raise WorkbookError("migration.leads_out", target=str(change.file.resolve()))
            if change.file.is_symlink():
                raise WorkbookError("migration.is_link", target=str(change.file.resolve()))
            if not stat.S_IMODE(change.file.stat().st_mode) & 0o222:
                raise WorkbookError("migration.read_only")
            if change.file.read_bytes() != change.before:
                raise WorkbookError("migration.changed", path=change.name)
            backups.append(_write_backup(change.file, change.before).relative_to(where.root).as_posix())
            write_file(change.file, change.after, like=change.file)
    return backups, failed


def check(where: Tree, out: Path | None, patch: Path | None) -> None:
    """Before anything is written. Raises WorkbookError where `out` holds the input, or `patch` is no patch's file."""
    files = where.scanned_files
    for file in files if out is not None else ():
        if (out / where.name_of(file)).resolve() == file.resolve():  # type: ignore[operator]
            raise WorkbookError("migration.out_is_input", path=str(file))
    if patch is None:
        return
    results = [(out / where.name_of(file)).resolve() for file in files] if out is not None else []
    if patch.resolve() in results or any(
        patch.exists() and file.exists() and file.samefile(patch) for file in (*files, *where.cuda_sources)
    ):
        raise WorkbookError("migration.not_a_patch", path=str(patch))
    if patch.is_file():
        with patch.open("rb") as stream:
            if stream.read(len(PATCH)) not in (PATCH, b""):
                raise WorkbookError("migration.not_a_patch", path=str(patch))


def own_changes(changes: Iterable[Change]) -> list[Change]:
    """The changes without those of links: a patch edits a file once, under its own name."""
    return [change for change in changes if not change.file.is_symlink()]


def report_links(where: Tree, changes: Iterable[Change]) -> Iterator[Finding]:
    """Report links to files that change: the patch edits what they lead to, where that is in the tree."""
    links = [change for change in changes if change.file.is_symlink()]
    for status, key, leading in ((Status.GOOD, "MIG130.link", False), (Status.LOOK, "MIG130.link_out", True)):
        names = [link for link in links if leads_out(where, link.file) == leading]
        if names:
            first = {"first": names[0].name, "target": str(names[0].file.resolve())}
            yield Finding("MIG130", status, key, {"count": len(names), **first}, Place(names[0].name))


def collect_results(where: Tree, changes: dict[str, Change]) -> tuple[dict[str, Result], list[Finding]]:
    """Every script of the tree, changed or not: the result must find what it needs. And those that cannot be copied."""
    results_by_name: dict[str, Result] = {}
    failed: list[Finding] = []
    for file in where.scanned_files:
        name = where.name_of(file)
        if leads_out(where, file):
            failed.append(_make_failure(name, "migration.leads_out", {"target": str(file.resolve())}))
        else:
            results_by_name[name] = changes[name].after if name in changes else file
    return results_by_name, failed


def write_results(where: Tree, results: dict[str, Result], out: Path) -> tuple[list[str], list[Finding]]:
    """Each result under its own name in `out`; the names of the backups, and what is to be said.

    What an earlier result of the same source held under a name is replaced; any other file, or one that was edited
    since, is kept beside it, as in_place does."""
    source = str(where.root.resolve())
    known = written_before(out) or Earlier({}, source)
    earlier = known.files if known.is_of(source) else {}
    backups: list[str] = []
    replaced: list[str] = []
    failed: list[Finding] = []
    out.mkdir(parents=True, exist_ok=True)
    _refuse_link_outside(out, MARK)
    # first: a result that was cut short is known for one
    write_file(out / MARK, encode_mark(*known))
    hashes: dict[str, str] = {}
    for name, result in results.items():
        with _note_failure(failed, name):
            _refuse_link_outside(out, name)
            data = read_content(result)
            before = (out / name).read_bytes() if (out / name).exists() else data
            if before != data and hash_bytes(before) == earlier.get(name):
                replaced.append(name)
            elif before != data:
                backups.append(_write_backup(out / name, before).relative_to(out).as_posix())
            write_file(out / name, data, like=where.root / name)
            hashes[name] = hash_bytes(data)
    write_file(out / MARK, encode_mark({**earlier, **hashes}, source))
    stale = {name for name in earlier if name not in results and (out / name).is_file()} if len(results) > 1 else set()
    return backups, [*failed, *report_out_folder(out, replaced, backups, stale)]


def not_written(findings: Iterable[Finding]) -> int:
    return sum(finding.key == FAILED for finding in findings)


def leads_out(where: Tree, file: Path) -> bool:
    """A link, or a file below a linked folder, whose bytes lie outside the tree."""
    return not file.resolve().is_relative_to(where.root.resolve())


def write_file(target: Path, data: bytes, *, like: Path | None = None) -> None:
    """Aside, to the disk, then renamed; with the permissions of `like`. Raises OSError and leaves no half of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(like.stat().st_mode) if like is not None else None
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    aside = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)  # there is no other way to ask for it
        os.umask(umask)
        aside.chmod(mode if mode is not None else 0o666 & ~umask)
        aside.replace(target)
    except BaseException as broken:
        aside.unlink(missing_ok=True)
        if isinstance(broken, OSError) and broken.filename is None:  # a full disk names no file
            broken.filename = str(target)
        raise


def _write_backup(file: Path, before: bytes) -> Path:
    """The old bytes in NAME.orig, or in NAME.orig.2 and so on where that holds others; the file's path."""
    for number in itertools.count(1):
        place = file.with_name(f"{file.name}{BACKUP}" + (f".{number}" if number > 1 else ""))
        if not place.exists():
            write_file(place, before, like=file)
            return place
        if place.read_bytes() == before:
            return place
    raise AssertionError("numbers do not end")


def _refuse_link_outside(out: Path, name: str) -> None:
    """A link inside `out` must not carry the result elsewhere."""
    if not (out / name).resolve().is_relative_to(out.resolve()):
        raise WorkbookError("storage.outside", name=name, root=str(out))


@contextmanager
def _note_failure(failed: list[Finding], name: str) -> Iterator[None]:
    try:
        yield
    except WorkbookError as error:
        failed.append(_make_failure(name, error.key, dict(error.arguments)))
    except OSError as error:
        failed.append(_make_failure(name, "migration.os_error", {"error": explain_os_error(error)}))


def _make_failure(name: str, key: str, args: dict[str, Scalar]) -> Finding:
    why = Sentence(key, **{"path": name, **args})
    return Finding("MIG130", Status.FIX, FAILED, {"path": name, "why": why}, Place(name))
