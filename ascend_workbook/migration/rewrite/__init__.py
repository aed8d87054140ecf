"""`rewrite`: the migrated script, as a diff and, where asked, as a patch, in a folder or in place.

Two modes. `inject`: two import lines put transfer_to_npu under a script that still says cuda, and what it does
not handle is edited. `explicit`: the source says npu itself. Edits are spans of the original text, so every other
byte stays: line ends, BOM, encoding, comments.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table, parse_fail_on
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.files import Tree, collect_files
from ascend_workbook.migration.reading.branches import drop_settled_findings, written_for_npu
from ascend_workbook.migration.reading.names import TRANSFER, list_imported_names
from ascend_workbook.migration.reading.source import Source, decode_bytes, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable, refuse_binary
from ascend_workbook.migration.registry import choose_rules
from ascend_workbook.migration.release import aim_at, choose_release
from ascend_workbook.migration.repair import (
    AUTO,
    CLASSES,
    MANUAL,
    REWRITE,
    UNSUPPORTED,
    class_of,
    counts_of,
    finding_at,
)
from ascend_workbook.migration.rewrite import entry, writing
from ascend_workbook.migration.rewrite.change import (
    EXPLICIT,
    INJECT,
    MODES,
    Change,
    Work,
    apply_edits,
    make_change,
    make_patch,
)
from ascend_workbook.migration.rewrite.explicit import make_explicit
from ascend_workbook.migration.rewrite.explicit.calls import check_commands
from ascend_workbook.migration.rewrite.notebook_edit import rewrite_notebook
from ascend_workbook.migration.scan import PARSED, not_python, report_unreadable, scan_source
from ascend_workbook.migration.texts import decode_text, notebook, read_text, scan_text, settings, shell, text_source
from ascend_workbook.migration.texts.lines import refuse_broken
from ascend_workbook.migration.verdict import (
    count_files,
    describe_grave_findings,
    describe_unread_files,
    judge_gates,
    no_file,
)

SUMMARY_WEIGHT = 1000.0
COLUMNS = tuple(Column(name) for name in ("file", "line", "rule", "edit_before", "edit_after"))


def report_of(
    path: str | os.PathLike[str],
    work: Work,
    failed: list[Finding],
    fail_on: tuple[str, ...],
    place_facts: Mapping[str, object],
) -> Report:
    changes = work.changes.values()
    applied_findings = [finding for file_change in changes for finding in file_change.made]
    imports = [finding for finding in applied_findings if finding.rule == "MIG131"]
    rest = [*no_file(path, work.where), *work.left, *not_python(work.where)]
    rest.sort(key=lambda finding: class_of(finding) != UNSUPPORTED)
    class_counts = counts_of(rest)
    numbers: dict[str, Scalar] = {
        "grave": describe_grave_findings(rest),
        "unread": describe_unread_files(rest),
        "looked": count_files(work.where),
        "ported": "",
        "edits": sum(len(finding.edits) for finding in applied_findings),
        "files": len(changes),
        "imports": len(imports),
        "rewrites": len({(f.place.path, f.place.line) for f in applied_findings if f.place and f.rule != "MIG131"}),
        "manual": class_counts[MANUAL],
        "unsupported": class_counts[UNSUPPORTED],
    }
    # the classes that a scan of the result finds, in the files that changed and in the others
    changed = {name: Counter(map(class_of, _scan_change(change))) for name, change in work.changes.items()}
    scanned_again = sum({**work.classes, **changed}.values(), Counter())
    again = {name: (class_counts if name in (MANUAL, UNSUPPORTED) else scanned_again)[name] for name in CLASSES}
    failed = [*judge_gates("MIG130", again, fail_on), *failed]
    status = max((finding.status for finding in (*failed, *rest)), default=Status.GOOD)
    key = "MIG130.nothing" if not changes else "MIG130.explicit" if work.mode == EXPLICIT else "MIG130.migrated"
    summary = Finding("MIG130", status, key, numbers, weight=SUMMARY_WEIGHT)
    if work.already_npu:  # why transfer_to_npu was not added where scripts say npu, and where it was all the same
        still: Scalar = ""
        if work.still_cuda:
            still = Sentence("rewriting.still_cuda", count=len(work.still_cuda), first=work.still_cuda[0])
        npu: dict[str, Scalar] = {"count": len(work.already_npu), "first": work.already_npu[0], "still": still}
        numbers["ported"] = Sentence("rewriting.already_npu", **npu)
    # of the scripts that import torch_npu now the one to try first: by its name a training, and high up
    scripts = [change.file for change in changes if any(finding.rule == "MIG131" for finding in change.made)]
    first = min(scripts, key=lambda file: ("train" not in file.stem, len(file.parts), file), default=None)
    facts: dict[str, object] = {
        "path": os.fspath(path),
        "root": str(work.where.root.resolve()),
        "script": str(first.resolve()) if first else "",
        "mode": work.mode,
        **{name: os.fspath(at) if isinstance(at, (str, os.PathLike)) else at for name, at in place_facts.items()},
        "backups": work.kept,
        "sha256": {file_change.name: file_change.text_sha256 for file_change in changes},
        "scan_of_the_result": again,
        "files": len(work.where.scanned_files),
        "fail_on": list(fail_on),
        "already_npu": work.already_npu,
        "still_cuda": work.still_cuda,
        "failed_on": [name for name in fail_on if again[name]],
    }
    rows = tuple(row for file_change in changes for row in file_change.rows)
    table = Table(COLUMNS, rows) if rows else None
    listing = Listing("diff", make_patch(writing.own_changes(changes)).decode("utf-8", "replace"), "diff")
    return Report("migration", "rewrite", (summary, *failed, *rest), table, listing=listing, facts=facts)


def _scan_change(file_change: Change) -> list[Finding]:
    if file_change.file.suffix == ".ipynb":
        return notebook.scan_notebook(file_change.after, file_change.name)
    if file_change.file.suffix in (".py", ".pyw"):
        text, encoding, _ = decode_bytes(file_change.after)
        return scan_source(parse_text(text, file_change.name, encoding=encoding, file=file_change.file))
    return scan_text(text_source(decode_text(file_change.after)[0], file_change.name))


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
    imports: bool = False,
    torch_npu: str | None = None,
) -> Report:
    """The migrated script or folder as a diff; without `out`, `patch` or `in_place` nothing is written.

    `mode` is "inject" (transfer_to_npu and what it leaves) or "explicit" (the source says npu). `out` is a folder for
    the result under the same names: new, empty or an earlier result, unless `into_existing`. `patch` is a file for one
    unified diff; another file under that name is refused. `in_place` writes over the files. What stood under a name
    before is kept beside it as NAME.orig, in `out` too, except for an earlier result that nobody edited.
    `imports`: with a script the modules that it imports from its folder are migrated too, as those of a folder.
    `expect` is a report that `scan` wrote as JSON, or its `facts["sha256"]`: a file that has changed since is refused
    before anything is written. With `fail_on` (classes) the status is Fix where one of them is left in the result.
    `torch_npu` is the release to write for, as `scan` takes it.

    Raises WorkbookError for a single file that cannot be read, for a refusal, for edits that overlap or would not
    parse; of a folder, a file that cannot be read or written is a finding and the rest goes on."""
    if mode not in MODES:
        raise WorkbookError("migration.mode", mode=mode, modes=list(MODES))
    if out is not None and in_place:
        raise WorkbookError("migration.two_places")
    gate_classes = parse_fail_on(fail_on, CLASSES)
    work = Work(_exclude_out_folder(collect_files(path, imports=imports), out), mode)
    release = choose_release(torch_npu)
    with aim_at(release):
        plan_changes(work, single=len(work.where.scanned_files) == 1 and Path(path).is_file())
    work.left += writing.report_links(work.where, work.changes.values())
    work.left += [release.describe()] if torch_npu is not None else []
    failed = writing.check_expected(expect, work.where, work.changes.values()) if expect is not None else []
    writing.check(work.where, Path(out) if out is not None else None, Path(patch) if patch is not None else None)
    if not work.where.scanned_files:  # said by the report; an empty folder or patch would look like a result
        nowhere = {"out": None, "patch": None, "in_place": False, "written": 0}
        return report_of(path, work, failed, gate_classes, nowhere)
    written_count = 0
    if out is not None:
        result_files, uncopied = writing.collect_results(work.where, work.changes)
        writing.refuse_foreign(Path(out), result_files, str(work.where.root.resolve()), confirmed=into_existing)
        work.kept, write_findings = writing.write_results(work.where, result_files, Path(out))
        failed += uncopied + write_findings
        written_count = len(result_files) - writing.not_written(write_findings)
    if patch is not None:
        writing.write_file(Path(patch), make_patch(writing.own_changes(work.changes.values())))
    if in_place:
        work.kept, unwritten = writing.in_place(work.where, work.changes.values())
        failed += unwritten
        written_count = len(work.changes) - writing.not_written(unwritten)
    places = {"out": out, "patch": patch, "in_place": in_place, "written": written_count}
    return report_of(path, work, failed, gate_classes, places)


def plan_changes(work: Work, *, single: bool = False) -> None:
    """Judge every file of the work's tree: what is to be changed goes to its `changes`, what is left to its `left`."""
    for judged in (_rewrite_python_files, _rewrite_text_files, _rewrite_notebooks):
        judged(work, single=single)
    work.left += _no_script(work)


def migrate_source(source: Source, *, alone: bool = True, mode: str = INJECT) -> tuple[str, list[Finding]]:
    """The migrated text and the findings whose edits made it. `alone`: the file is a script, not part of a folder."""
    applied_findings, _ = choose_edits(source, alone=alone, mode=mode)
    return _apply_findings(source, applied_findings), applied_findings


def choose_edits(
    source: Source, *, alone: bool = True, mode: str = INJECT, root: Path | None = None, work: Work | None = None
) -> Judged:
    """The findings whose edits are made in this mode, and those left to a person. `work` notes who relies on what."""
    scanned = scan_source(source)
    if work is not None:
        work.count_scanned(scanned)
    if mode == EXPLICIT:
        return make_explicit(source, scanned)
    ported = work.ported if work is not None else entry.Ported(root)
    relying = [finding for finding in scanned if class_of(finding) == AUTO]
    if ported.somewhere or written_for_npu(source):
        relying = drop_settled_findings(source, relying)
    applied_findings = [finding for finding in scanned if class_of(finding) == REWRITE]
    script = alone or entry.is_entry(source)
    around = work is not None and work.torch
    needed = entry.needs_import(source, script=script, uses=bool(relying), root=root, torch_around=around)
    if needed:
        needed, npu = ported.needs_transfer(source, scanned)
        if work is not None and npu:
            (work.still_cuda if needed else work.already_npu).append(source.path)
    if work is not None:
        work.relying += relying
        if needed or TRANSFER in list_imported_names(source.tree):
            work.imports = True
            cells = None if source.file else source.tree
            work.importing.append((source.file or work.where.root / source.path, cells))
        elif script and entry.loads_torch_npu(source):
            work.loading.append(source.path)
    if needed:
        edit, node = entry.transfer_edit(source)
        applied_findings.insert(0, finding_at(source, node, "MIG131.transfer", REWRITE, (edit,)))
    return applied_findings, [finding for finding in scanned if class_of(finding) in (MANUAL, UNSUPPORTED)]


def _apply_findings(source: Source, applied_findings: list[Finding]) -> str:
    text = apply_edits(source, [edit for finding in applied_findings for edit in finding.edits])
    try:
        parse_text(text, source.path)
    except Unreadable as cause:
        raise WorkbookError("migration.broken", path=source.path, error=str(cause)) from cause
    return text


def _rewrite_python_files(work: Work, *, single: bool) -> None:
    """A file that says nothing of torch may still be the script that imports those that do."""
    heard: Counter[str] = Counter()
    speaks_npu: list[Path] = []
    for file in work.where.python:
        with suppress(OSError):
            data = file.read_bytes()
            heard.update(entry.list_imported_words(data) - {file.stem})
            if b"torch_npu" in data and work.mode == INJECT:
                speaks_npu.append(file)
    work.ported.root, work.torch = work.where.root, heard["torch"] > 0
    if not single:
        work.ported.note_files(work.where.python, speaks_npu)
    for file in work.where.python:
        name = work.where.name_of(file)
        with _report_unread_file(work, name, single):
            data = file.read_bytes()
            refuse_binary(data)
            speaks = bool(choose_rules(data)) or b"torch" in data
            if not speaks and work.mode == EXPLICIT and len(work.where.python) > PARSED:
                continue
            text, encoding, bom = decode_bytes(data)
            source = parse_text(text, name, encoding=encoding, bom=bom, file=file)
            known = len(work.where.python) == 1 or file in work.scripts
            alone = known or entry.is_entry(source, unnamed=not heard[file.stem])
            applied_findings, left = choose_edits(source, alone=alone, mode=work.mode, root=work.where.root, work=work)
            work.left += _findings_left(left)
            after = _apply_findings(source, applied_findings)
            if after != text:
                work.changes[name] = make_change(source, file, data, after, applied_findings)


def _rewrite_text_files(work: Work, *, single: bool) -> None:
    """A launch script's own edits; lists of requirements are reported only."""
    for file in work.where.texts:
        if file.suffix == ".py":
            continue
        name = work.where.name_of(file)
        with _report_unread_file(work, name, single):
            data = file.read_bytes()
            source = read_text(file, name)
            applied_findings, left = judge_lines(source, work.mode, work)
            work.left += left
            if applied_findings:
                after = apply_edits(source, [edit for finding in applied_findings for edit in finding.edits])
                refuse_broken(source, after)
                work.changes[name] = make_change(source, file, data, after, applied_findings)


def judge_lines(source: Source, mode: str, work: Work | None = None) -> Judged:
    """Judge the lines of a launch script or a list of requirements as `choose_edits` judges Python."""
    scanned = scan_text(source)
    if work is not None:
        work.count_scanned(scanned)
    applied_findings = [finding for finding in scanned if class_of(finding) == REWRITE]
    name = Path(source.path).name
    if mode == EXPLICIT and shell.is_shell(name):
        applied_findings += check_commands(source)
    elif mode == EXPLICIT and settings.is_settings(name):
        applied_findings += settings.make_settings_explicit(source)
    mended = {finding.place for finding in applied_findings}
    return applied_findings, [finding for finding in _findings_left(scanned) if finding.place not in mended]


def _rewrite_notebooks(work: Work, *, single: bool) -> None:
    for file in work.where.notebooks:
        name = work.where.name_of(file)
        with _report_unread_file(work, name, single):
            python = partial(choose_edits, mode=work.mode, root=work.where.root, work=work)
            lines = partial(judge_lines, mode=work.mode, work=work)
            notebook_change, left = rewrite_notebook(file, name, python, lines)
            work.left += _findings_left(left)
            if notebook_change is not None:
                work.changes[name] = notebook_change


def _no_script(work: Work) -> Iterator[Finding]:
    """Places that transfer_to_npu handles, and no file that imports it: who runs them must do so."""
    if work.relying and not work.imports:
        place = work.relying[0].place or Place("")
        args: dict[str, Scalar] = {"class": MANUAL, "count": len(work.relying), "first": str(place)}
        yield Finding("MIG131", Status.LOOK, "MIG131.no_script", args, place)
    without = [*work.already_npu, *work.loading]
    if without and work.imports:
        yield from _not_reached(work, without)


def _not_reached(work: Work, without: list[str]) -> Iterator[Finding]:
    """Such places that a script which was left without the import may run, and none that has it is seen to."""
    names = {finding.place.path for finding in work.relying if finding.place}
    files = [file for file in work.where.python if work.where.name_of(file) in names]
    left = {work.where.name_of(file) for file in entry.list_unreached_files(files, work.importing, work.where.root)}
    places = [finding.place for finding in work.relying if finding.place and finding.place.path in left]
    if places:
        args: dict[str, Scalar] = {"class": MANUAL, "count": len(places), "first": str(places[0]), "script": without[0]}
        yield Finding("MIG131", Status.LOOK, "MIG131.not_reached", args, places[0])


def _findings_left(findings: list[Finding]) -> list[Finding]:
    """What a person has to see to: by hand, unsupported, or not looked at."""
    by_hand = (MANUAL, UNSUPPORTED)
    return [finding for finding in findings if class_of(finding) in by_hand or finding.status is Status.NOT_LOOKED]


@contextmanager
def _report_unread_file(work: Work, name: str, single: bool) -> Iterator[None]:
    """A file that cannot be read is an error where it is the only one, else a finding."""
    work.now = name
    try:
        yield
    except Unreadable as cause:
        if single:
            raise WorkbookError("MIG100.unreadable", path=name, **cause.sentence_args) from cause
        work.left.append(report_unreadable(name, cause))
    except OSError as cause:
        if single:
            raise
        work.left.append(report_unreadable(name, cause))
    except WorkbookError as error:
        if single:
            raise
        args: dict[str, Scalar] = {"path": name, "why": Sentence(error.key, **dict(error.arguments))}
        work.left.append(Finding("MIG130", Status.FIX, "MIG130.not_rewritten", args, Place(name)))


def _exclude_out_folder(where: Tree, out: str | os.PathLike[str] | None) -> Tree:
    """The tree without an earlier result in it; the tree's own root is refused when written."""
    if out is None or where.root.resolve() not in Path(out).resolve().parents:
        return where
    inside = Path(out).resolve()
    for files in (where.python, where.cuda_sources, where.others, where.texts, where.notebooks):
        files[:] = [file for file in files if not file.absolute().is_relative_to(inside)]
    return where
