"""What `rewrite` reports: the edits it made, what is left in the result, and the diff."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.reading.source import decode_bytes, parse_text
from ascend_workbook.migration.repair import CLASSES, MANUAL, UNSUPPORTED, class_of, counts_of
from ascend_workbook.migration.rewrite.change import EXPLICIT, Change, Work, show_patch
from ascend_workbook.migration.scan import not_python, scan_source
from ascend_workbook.migration.texts import decode_text, notebook, scan_text, text_source
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
        "ported": _explain_ported(work),
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
    status = max((finding.status for finding in (*failed, *rest)), default=Status.OK)
    key = "MIG130.nothing" if not changes else "MIG130.explicit" if work.mode == EXPLICIT else "MIG130.migrated"
    summary = Finding("MIG130", status, key, numbers, weight=SUMMARY_WEIGHT)
    facts: dict[str, object] = {
        "path": os.fspath(path),
        "root": str(work.where.root.resolve()),
        "script": _choose_first_script(changes),
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
    listing = Listing("diff", show_patch(changes), "diff")
    return Report("migration", "rewrite", (summary, *failed, *rest), table, listing=listing, facts=facts)


def _choose_first_script(changes: Iterable[Change]) -> str:
    """Of the scripts that import torch_npu now the one to try first: by its name a training, and high up."""
    scripts = [change.file for change in changes if any(finding.rule == "MIG131" for finding in change.made)]
    first = min(scripts, key=lambda file: ("train" not in file.stem, len(file.parts), file), default=None)
    return str(first.resolve()) if first else ""


def _explain_ported(work: Work) -> Scalar:
    """Why transfer_to_npu was not added where scripts say npu, and where it was all the same."""
    if not work.already_npu:
        return ""
    args: dict[str, Scalar] = {"count": len(work.already_npu), "first": work.already_npu[0], "still": ""}
    if work.still_cuda:
        still: dict[str, Scalar] = {"count": len(work.still_cuda), "first": work.still_cuda[0]}
        args["still"] = Sentence("rewriting.still_cuda", **still)
    return Sentence("rewriting.already_npu", **args)


def _scan_change(file_change: Change) -> list[Finding]:
    if file_change.file.suffix == ".ipynb":
        return notebook.scan_notebook(file_change.after, file_change.name)
    if file_change.file.suffix in (".py", ".pyw"):
        text, encoding, _ = decode_bytes(file_change.after)
        return scan_source(parse_text(text, file_change.name, encoding=encoding, file=file_change.file))
    return scan_text(text_source(decode_text(file_change.after)[0], file_change.name))
