"""What `rewrite` reports: the edits it made, what is left in the result, and the diff."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

from helpers.finding import Finding, Status
from helpers.migration.reading.source import decode, parse
from helpers.migration.repair import CLASSES, MANUAL, UNSUPPORTED, class_of, counts_of
from helpers.migration.rewrite.change import Change
from helpers.migration.rewrite.patch import shown
from helpers.migration.rewrite.work import EXPLICIT, Work
from helpers.migration.scan import not_python, scan_source
from helpers.migration.texts import decode_text, notebook, scan_text, text_source
from helpers.migration.verdict import counted, gate, grave, no_file, unread
from helpers.report import Column, Listing, Report, Table
from helpers.words import Scalar

SUMMARY_WEIGHT = 1000.0
COLUMNS = tuple(Column(name) for name in ("file", "line", "rule", "edit_before", "edit_after"))


def report_of(
    path: str | os.PathLike[str], work: Work, failed: list[Finding], fail_on: tuple[str, ...], asked: dict[str, Any]
) -> Report:
    changes = work.changes.values()
    made = [finding for one in changes for finding in one.made]
    imports = [finding for finding in made if finding.rule == "MIG131"]
    rest = [*no_file(path, work.where), *work.left, *not_python(work.where)]
    rest.sort(key=lambda finding: class_of(finding) != UNSUPPORTED)
    found = counts_of(rest)
    numbers: dict[str, Scalar] = {
        "grave": grave(rest), "unread": unread(rest), "looked": counted(work.where), "ported": _ported(work),
        "edits": sum(len(finding.edits) for finding in made), "files": len(changes), "imports": len(imports),
        "rewrites": len({(f.place.path, f.place.line) for f in made if f.place and f.rule != "MIG131"}),
        "manual": found[MANUAL],
        "unsupported": found[UNSUPPORTED],
    }  # fmt: skip
    again = {**_again(work), MANUAL: found[MANUAL], UNSUPPORTED: found[UNSUPPORTED]}
    again = {name: again.get(name, 0) for name in CLASSES}
    failed = [*gate("MIG130", again, fail_on), *failed]
    status = max((finding.status for finding in (*failed, *rest)), default=Status.OK)
    key = "MIG130.nothing" if not changes else "MIG130.explicit" if work.mode == EXPLICIT else "MIG130.migrated"
    summary = Finding("MIG130", status, key, numbers, weight=SUMMARY_WEIGHT)
    facts: dict[str, Any] = {
        "path": os.fspath(path), "root": str(work.where.root.resolve()), "script": _script(changes), "mode": work.mode,
        **{name: os.fspath(place) if isinstance(place, (str, os.PathLike)) else place for name, place in asked.items()},
        "backups": work.kept, "sha256": {one.name: one.text_sha256 for one in changes},
        "scan_of_the_result": again, "files": len(work.where.looked), "fail_on": list(fail_on),
        "already_npu": work.already_npu, "still_cuda": work.still_cuda,
        "failed_on": [name for name in fail_on if again[name]],
    }  # fmt: skip
    rows = tuple(row for one in changes for row in one.rows)
    table = Table(COLUMNS, rows) if rows else None
    listing = Listing("diff", shown(changes), "diff")
    return Report("migration", "rewrite", (summary, *failed, *rest), table, listing=listing, facts=facts)


def _script(changes: Iterable[Change]) -> str:
    """Of the scripts that import torch_npu now the one to try first: by its name a training, and high up."""
    scripts = [one.file for one in changes if any(finding.rule == "MIG131" for finding in one.made)]
    if not scripts:
        return ""
    return str(min(scripts, key=lambda file: ("train" not in file.stem, len(file.parts), file)).resolve())


def _ported(work: Work) -> Scalar:
    """Why transfer_to_npu was not added where scripts say npu, and where it was all the same."""
    if not work.already_npu:
        return ""
    args: dict[str, Scalar] = {"count": len(work.already_npu), "first": work.already_npu[0], "still": ""}
    if work.still_cuda:
        still: dict[str, Scalar] = {"count": len(work.still_cuda), "first": work.still_cuda[0]}
        args["still"] = {"say": "rewriting.still_cuda", "args": still}
    return {"say": "rewriting.already_npu", "args": args}


def _again(work: Work) -> Counter[str]:
    """The classes that a scan of the result finds, in the files that changed and in the others."""
    of_files = {**work.classes, **{name: Counter(map(class_of, _scanned(one))) for name, one in work.changes.items()}}
    return sum(of_files.values(), Counter())


def _scanned(made: Change) -> list[Finding]:
    if made.file.suffix == ".ipynb":
        return notebook.scan(made.after, made.name)
    if made.file.suffix in (".py", ".pyw"):
        text, encoding, _ = decode(made.after)
        return scan_source(parse(text, made.name, encoding=encoding, file=made.file))
    return scan_text(text_source(decode_text(made.after)[0], made.name))
