"""`rewrite`: the migrated script, as a diff and, where asked, as a patch, in a folder or in place.

Two modes. `inject`: two import lines put transfer_to_npu under a script that still says cuda, and what it does
not handle is edited. `explicit`: the source says npu itself. Edits are spans of the original text, so every other
byte stays: line ends, BOM, encoding, comments.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.migration.files import Tree, tree
from helpers.migration.reading.imports import TRANSFER, imported
from helpers.migration.reading.settled import unsettled, written_for_npu
from helpers.migration.reading.source import Source, decode, parse
from helpers.migration.reading.undecoded import Unreadable, refuse_binary
from helpers.migration.registry import wanted
from helpers.migration.repair import AUTO, MANUAL, REWRITE, UNSUPPORTED, class_of, found
from helpers.migration.rewrite import expected, out_folder, writing
from helpers.migration.rewrite.change import apply, change
from helpers.migration.rewrite.entry import transfer_edit
from helpers.migration.rewrite.explicit import commands, explicit
from helpers.migration.rewrite.notebook_edit import rewrite_notebook
from helpers.migration.rewrite.patch import patch as patch_of
from helpers.migration.rewrite.ported import Ported, loads, unreached
from helpers.migration.rewrite.result import report_of
from helpers.migration.rewrite.scripts import is_entry, named, needs_import
from helpers.migration.rewrite.work import EXPLICIT, INJECT, MODES, Work
from helpers.migration.scan import scan_source, unreadable
from helpers.migration.texts import read_text, scan_text, settings, shell
from helpers.migration.texts.lines import refuse_broken
from helpers.migration.verdict import gates
from helpers.report import Report
from helpers.words import Scalar

#: Made and left findings of one text.
Judged = tuple[list[Finding], list[Finding]]


def rewrite(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    mode: str = INJECT,
    patch: str | os.PathLike[str] | None = None,
    in_place: bool = False,
    expect: dict[str, str] | str | os.PathLike[str] | None = None,
    fail_on: Iterable[str] = (),
    into_existing: bool = False,
) -> Report:
    """The migrated script or folder as a diff; without `out`, `patch` or `in_place` nothing is written.

    `mode` is "inject" (transfer_to_npu and what it leaves) or "explicit" (the source says npu). `out` is a folder for
    the result under the same names: new, empty or an earlier result, unless `into_existing`. `patch` is a file for one
    unified diff; another file under that name is refused. `in_place` writes over the files. What stood under a name
    before is kept beside it as NAME.orig, in `out` too, except for an earlier result that nobody edited.
    `expect` is a report that `scan` wrote as JSON, or its `facts["sha256"]`: a file that has changed since is refused
    before anything is written. With `fail_on` (classes) the status is FAIL where one of them is left in the result.

    Raises WorkbookError for a single file that cannot be read, for a refusal, for edits that overlap or would not
    parse; of a folder, a file that cannot be read or written is a finding and the rest goes on.
    """
    _check_arguments(mode, out, in_place)
    asked = gates(fail_on)
    work = Work(_without(tree(path), out), mode)
    for judged in (_python, _texts, _notebooks):
        judged(work, single=Path(path).is_file())
    work.left += _no_script(work)
    failed = expected.check(expect, work.where, work.changes.values()) if expect is not None else []
    writing.check(work.where, Path(out) if out is not None else None, Path(patch) if patch is not None else None)
    if not work.where.looked:  # said by the report; an empty folder or patch would look like a result
        return report_of(path, work, failed, asked, {"out": None, "patch": None, "in_place": False, "written": 0})
    written = 0
    if out is not None:
        made, uncopied = writing.results(work.where, work.changes)
        out_folder.refuse_foreign(Path(out), made, writing.source_of(work.where), asked=into_existing)
        work.kept, told = writing.into(work.where, made, Path(out))
        failed += uncopied + told
        written = len(made) - writing.not_written(told)
    if patch is not None:
        writing.write(Path(patch), patch_of(work.changes.values()))
    if in_place:
        work.kept, unwritten = writing.in_place(work.where, work.changes.values())
        failed += unwritten
        written = len(work.changes) - writing.not_written(unwritten)
    places = {"out": out, "patch": patch, "in_place": in_place, "written": written}
    return report_of(path, work, failed, asked, places)


def migrate(source: Source, *, alone: bool = True, mode: str = INJECT) -> tuple[str, list[Finding]]:
    """The migrated text and the findings whose edits made it. `alone`: the file is a script, not part of a folder."""
    made, _ = judge(source, alone=alone, mode=mode)
    return _applied(source, made), made


def judge(
    source: Source, *, alone: bool = True, mode: str = INJECT, root: Path | None = None, work: Work | None = None
) -> Judged:
    """The findings whose edits are made in this mode, and those left to a person. `work` notes who relies on what."""
    scanned = scan_source(source)
    if work is not None:
        work.saw(scanned)
    if mode == EXPLICIT:
        return explicit(source, scanned)
    ported = work.ported if work is not None else Ported(root)
    relying = [finding for finding in scanned if class_of(finding) == AUTO]
    if ported.somewhere or written_for_npu(source):
        relying = unsettled(source, relying)
    made = [finding for finding in scanned if class_of(finding) == REWRITE]
    script = alone or is_entry(source)
    around = work is not None and work.torch
    needed = needs_import(source, script=script, uses=bool(relying), root=root, torch_around=around)
    if needed:
        needed, npu = ported.needs(source, scanned)
        if work is not None and npu:
            (work.still_cuda if needed else work.already_npu).append(source.path)
    if work is not None:
        work.relying += relying
        if needed or TRANSFER in imported(source.tree):
            work.imports = True
            cells = None if source.file else source.tree
            work.importing.append((source.file or work.where.root / source.path, cells))
        elif script and loads(source):
            work.loading.append(source.path)
    if needed:
        edit, node = transfer_edit(source)
        made.insert(0, found(source, node, "MIG131.transfer", REWRITE, (edit,)))
    return made, [finding for finding in scanned if class_of(finding) in (MANUAL, UNSUPPORTED)]


def _applied(source: Source, made: list[Finding]) -> str:
    text = apply(source, [edit for finding in made for edit in finding.edits])
    try:
        parse(text, source.path)
    except Unreadable as cause:
        raise WorkbookError("migration.broken", path=source.path, error=str(cause)) from cause
    return text


def _python(work: Work, *, single: bool) -> None:
    """A file that says nothing of torch may still be the script that imports those that do."""
    heard: Counter[str] = Counter()
    speaks_npu: list[Path] = []
    for file in work.where.python:
        with suppress(OSError):
            data = file.read_bytes()
            heard.update(named(data) - {file.stem})
            if b"torch_npu" in data and work.mode == INJECT:
                speaks_npu.append(file)
    work.ported.root, work.torch = work.where.root, heard["torch"] > 0
    if not single:
        work.ported.look(work.where.python, speaks_npu)
    for file in work.where.python:
        name = work.where.name(file)
        with _unread(work, name, single):
            data = file.read_bytes()
            refuse_binary(data)
            speaks = bool(wanted(data)) or b"torch" in data
            if not speaks and work.mode == EXPLICIT:
                continue
            try:
                text, encoding, bom = decode(data)
                source = parse(text, name, encoding=encoding, bom=bom, file=file)
            except Unreadable:
                if speaks:
                    raise
                continue
            alone = len(work.where.python) == 1 or is_entry(source, unnamed=not heard[file.stem])
            made, left = judge(source, alone=alone, mode=work.mode, root=work.where.root, work=work)
            work.left += _left(left)
            after = _applied(source, made)
            if after != text:
                work.changes[name] = change(source, file, data, after, made)


def _texts(work: Work, *, single: bool) -> None:
    """A launch script's own edits; lists of requirements are reported only."""
    for file in work.where.texts:
        if file.suffix == ".py":
            continue
        name = work.where.name(file)
        with _unread(work, name, single):
            data = file.read_bytes()
            source = read_text(file, name)
            made, left = judge_lines(source, work.mode, work)
            work.left += left
            if made:
                after = apply(source, [edit for finding in made for edit in finding.edits])
                refuse_broken(source, after)
                work.changes[name] = change(source, file, data, after, made)


def judge_lines(source: Source, mode: str, work: Work | None = None) -> Judged:
    """As `judge`, for the lines of a launch script or a list of requirements."""
    scanned = scan_text(source)
    if work is not None:
        work.saw(scanned)
    made = [finding for finding in scanned if class_of(finding) == REWRITE]
    name = Path(source.path).name
    if mode == EXPLICIT and shell.is_shell(name):
        made += commands.check(source)
    elif mode == EXPLICIT and settings.is_settings(name):
        made += settings.explicit(source)
    mended = {finding.place for finding in made}
    return made, [finding for finding in _left(scanned) if finding.place not in mended]


def _notebooks(work: Work, *, single: bool) -> None:
    for file in work.where.notebooks:
        name = work.where.name(file)
        with _unread(work, name, single):
            python = partial(judge, mode=work.mode, root=work.where.root, work=work)
            lines = partial(judge_lines, mode=work.mode, work=work)
            made, left = rewrite_notebook(file, name, python, lines)
            work.left += _left(left)
            if made is not None:
                work.changes[name] = made


def _no_script(work: Work) -> Iterator[Finding]:
    """Places that transfer_to_npu handles, and no file that imports it: who runs them must do so."""
    if work.relying and not work.imports:
        place = work.relying[0].place or Place("")
        args: dict[str, Scalar] = {"class": MANUAL, "count": len(work.relying), "first": str(place)}
        yield Finding("MIG131", Status.WARN, "MIG131.no_script", args, place)
    without = [*work.already_npu, *work.loading]
    if without and work.imports:
        yield from _not_reached(work, without)


def _not_reached(work: Work, without: list[str]) -> Iterator[Finding]:
    """Such places that a script which was left without the import may run, and none that has it is seen to."""
    names = {finding.place.path for finding in work.relying if finding.place}
    files = [file for file in work.where.python if work.where.name(file) in names]
    left = {work.where.name(file) for file in unreached(files, work.importing, work.where.root)}
    places = [finding.place for finding in work.relying if finding.place and finding.place.path in left]
    if places:
        args: dict[str, Scalar] = {"class": MANUAL, "count": len(places), "first": str(places[0]), "script": without[0]}
        yield Finding("MIG131", Status.WARN, "MIG131.not_reached", args, places[0])


def _left(findings: list[Finding]) -> list[Finding]:
    """What a person has to see to: by hand, unsupported, or not looked at."""
    return [one for one in findings if class_of(one) in (MANUAL, UNSUPPORTED) or one.status is Status.SKIPPED]


@contextmanager
def _unread(work: Work, name: str, single: bool) -> Iterator[None]:
    """A file that cannot be read is an error where it is the only one, else a finding."""
    work.now = name
    try:
        yield
    except Unreadable as cause:
        if single:
            raise WorkbookError("MIG100.unreadable", path=name, **cause.told) from cause
        work.left.append(unreadable(name, cause))
    except OSError as cause:
        if single:
            raise
        work.left.append(unreadable(name, cause))
    except WorkbookError as error:
        if single:
            raise
        why: dict[str, Scalar] = {"say": error.key, "args": dict(error.arguments)}
        args: dict[str, Scalar] = {"path": name, "why": why}
        work.left.append(Finding("MIG130", Status.FAIL, "MIG130.not_rewritten", args, Place(name)))


def _check_arguments(mode: str, out: object, over: bool) -> None:
    if mode not in MODES:
        raise WorkbookError("migration.mode", mode=mode, modes=list(MODES))
    if out is not None and over:
        raise WorkbookError("migration.two_places")


def _without(where: Tree, out: str | os.PathLike[str] | None) -> Tree:
    """The tree without an earlier result in it."""
    if out is None or not Path(out).resolve().is_relative_to(where.root.resolve()):
        return where
    if Path(out).resolve() == where.root.resolve():
        return where  # refused when written
    inside = Path(out).resolve()

    def kept(files: list[Path]) -> list[Path]:
        return [file for file in files if not file.absolute().is_relative_to(inside)]

    return Tree(
        where.root, kept(where.python), kept(where.cuda_sources), kept(where.others), kept(where.texts),
        kept(where.notebooks),
    )  # fmt: skip
