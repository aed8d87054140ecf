"""Writing what `rewrite` made: whole or not at all, file by file, with a way back.

Each file is written aside, flushed to the disk and renamed: whoever is killed between two files leaves each of
them either old or new. One that cannot be written is one finding, and the rest goes on.
"""

from __future__ import annotations

import itertools
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.rewrite import out_folder
from ascend_workbook.migration.rewrite.change import Change
from ascend_workbook.migration.rewrite.out_folder import Result

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
    for status, key, leading in ((Status.OK, "MIG130.link", False), (Status.WARN, "MIG130.link_out", True)):
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
    known = out_folder.written_before(out) or out_folder.Earlier({}, source)
    earlier = known.files if known.is_of(source) else {}
    backups: list[str] = []
    replaced: list[str] = []
    failed: list[Finding] = []
    out.mkdir(parents=True, exist_ok=True)
    _refuse_link_outside(out, out_folder.MARK)
    # first: a result that was cut short is known for one
    write_file(out / out_folder.MARK, out_folder.encode_mark(*known))
    hashes: dict[str, str] = {}
    for name, result in results.items():
        with _note_failure(failed, name):
            _refuse_link_outside(out, name)
            data = out_folder.read_content(result)
            before = (out / name).read_bytes() if (out / name).exists() else data
            if before != data and out_folder.hash_bytes(before) == earlier.get(name):
                replaced.append(name)
            elif before != data:
                backups.append(_write_backup(out / name, before).relative_to(out).as_posix())
            write_file(out / name, data, like=where.root / name)
            hashes[name] = out_folder.hash_bytes(data)
    write_file(out / out_folder.MARK, out_folder.encode_mark({**earlier, **hashes}, source))
    stale = {name for name in earlier if name not in results and (out / name).is_file()} if len(results) > 1 else set()
    return backups, [*failed, *out_folder.report_out_folder(out, replaced, backups, stale)]


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
        aside.chmod(mode if mode is not None else 0o666 & ~_read_umask())
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
    return Finding("MIG130", Status.FAIL, FAILED, {"path": name, "why": why}, Place(name))


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
