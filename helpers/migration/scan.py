"""`scan`: a row for every CUDA use in a file or folder, with what becomes of it on an NPU."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable

from helpers.errors import reason
from helpers.finding import Finding, Place, Status
from helpers.migration import tensorflow
from helpers.migration.files import Tree, tree
from helpers.migration.knowledge import dress
from helpers.migration.reading.settled import unsettled, written_for_npu
from helpers.migration.reading.source import Source, decode, parse
from helpers.migration.reading.undecoded import Unreadable, refuse_binary, refuse_large
from helpers.migration.registry import Rule, wanted
from helpers.migration.repair import CLASSES, UNSUPPORTED, class_of, counts_of
from helpers.migration.spread import spread
from helpers.migration.tables import classes, places
from helpers.migration.texts import read_text, scan_notebook, scan_text, settings
from helpers.migration.verdict import UNREAD, counted, gate, gates, grave, no_file, unread
from helpers.report import Report
from helpers.rules import judge
from helpers.words import Scalar

SUMMARY = "MIG100"
SUMMARY_WEIGHT = 1000.0
#: The findings of a file, and the hash of its text where it has any.
Found = tuple[list[Finding], str]


def scan(path: str | os.PathLike[str], fail_on: Iterable[str] = ()) -> Report:
    """Scans a Python file or a folder of them. With `fail_on` (classes) the status is FAIL where one of them occurs.

    The report's table has a row per use, what needs work first, then in the order of the files; `parts[0]` counts them
    by class and has the chart. Every finding with a place carries its class in `args["class"]`, beside it `confidence`,
    `effort_h` (person-hours), `versions` and `link`. TensorFlow scripts stand apart: not in the table and
    `facts["counts"]`, but in a part of their own and `facts["tensorflow"]`. A file that cannot be read is a finding,
    never a gap. Raises WorkbookError where the path does not exist or a class of `fail_on` is none.
    """
    asked = gates(fail_on)
    where = tree(path)
    findings: list[Finding] = []
    hashes: dict[str, str] = {}
    kinds = ((_python, where.python), (_text, where.texts), (_notebook, where.notebooks))
    jobs = [(kind, file, where.name(file)) for kind, files in kinds for file in files]
    for (_, _, name), (found, sha256) in zip(jobs, spread(_scan, jobs)):
        findings += found
        if sha256:
            hashes[name] = sha256
    findings = [*settings.folded(findings), *no_file(path, where), *not_python(where)]
    return _report(path, where, findings, hashes, asked)


def _scan(job: tuple[Callable[[Path, str], Found], Path, str]) -> Found:
    look, file, name = job
    try:
        return look(file, name)
    except (Unreadable, OSError) as cause:
        return [unreadable(name, cause)], ""


def _python(file: Path, name: str) -> Found:
    return scan_file(file, name)


def _text(file: Path, name: str) -> Found:
    source = read_text(file, name)
    found = scan_text(source)
    return found, source.sha256 if found and file.suffix != ".py" else ""


def _notebook(file: Path, name: str) -> Found:
    found = scan_notebook(file, name)
    try:
        return found, read_text(file, name).sha256 if found else ""
    except Unreadable:
        return found, ""  # JSON in UTF-16: rewrite says that it cannot


def scan_file(file: Path, name: str) -> tuple[list[Finding], str]:
    """The findings of one file in order of place, and the hash of its text where there are any."""
    try:
        refuse_large(file.stat().st_size)
        data = file.read_bytes()
        refuse_binary(data)
        rules = wanted(data)
        if not rules:
            return [], ""
        text, encoding, bom = decode(data)
        source = parse(text, name, encoding=encoding, bom=bom, file=file)
        source.names  # noqa: B018 - raises where the tree nests too deeply
    except (Unreadable, OSError) as cause:
        return [unreadable(name, cause)], ""
    found = scan_source(source, rules=rules)
    return found, source.sha256 if found else ""


def scan_source(source: Source, *, strict: bool = False, rules: Iterable[Rule] | None = None) -> list[Finding]:
    """All findings of the rules (of those that may have something to say, unless told) in order of place."""
    if rules is None:
        rules = wanted(source.text.encode("utf-8", "surrogatepass"))
    found = [
        dress(finding, rule.known)
        for rule in rules
        for finding in judge(source, {rule.code: rule.check}, strict=strict)
    ]
    if written_for_npu(source):
        found = unsettled(source, found)
    return sorted(found, key=lambda f: (f.place.line, f.place.column, f.rule) if f.place else (0, 0, f.rule))


def unreadable(name: str, cause: Unreadable | OSError) -> Finding:
    """Not looked is not clean: a file that nobody could read."""
    why = cause if isinstance(cause, Unreadable) else Unreadable(reason(cause))
    return Finding(SUMMARY, Status.SKIPPED, UNREAD, {"path": name, **why.told}, Place(name, why.line))


def not_python(where: Tree) -> Iterable[Finding]:
    if where.cuda_sources:
        first = where.name(where.cuda_sources[0])
        kernels: dict[str, Scalar] = {"count": len(where.cuda_sources), "first": first, "class": UNSUPPORTED}
        yield Finding(SUMMARY, Status.WARN, "MIG100.cuda_sources", kernels)
    for kind, count in sorted(Counter(file.suffix for file in where.others).items()):
        first = where.name(next(file for file in where.others if file.suffix == kind))
        args: dict[str, Scalar] = {"count": count, "kind": kind, "first": first}
        yield Finding(SUMMARY, Status.SKIPPED, "MIG100.not_python", args)


def _report(
    path: str | os.PathLike[str], where: Tree, findings: list[Finding], hashes: dict[str, str], asked: tuple[str, ...]
) -> Report:
    classed = [finding for finding in findings if class_of(finding)]
    scripts = [finding for finding in classed if finding.rule == tensorflow.RULE]
    uses = [finding for finding in classed if finding.rule != tensorflow.RULE]
    counts = counts_of(uses)
    files = len(where.looked)
    status = max((finding.status for finding in findings), default=Status.OK)
    summary = Finding(
        SUMMARY, status, *_summary(path, counts, findings, scripts, where), weight=SUMMARY_WEIGHT
    )
    facts: dict[str, Any] = {
        "path": os.fspath(path), "root": str(where.root.resolve()), "files": files, "sha256": hashes,
        "counts": {name: counts[name] for name in CLASSES}, "fail_on": list(asked),
    }  # fmt: skip
    in_all = counts_of(classed)
    facts["failed_on"] = [name for name in asked if in_all[name]]
    parts: tuple[Report, ...] = (classes(counts),)
    if scripts:
        parts += (tensorflow.report(scripts),)
        facts["tensorflow"] = parts[1].facts
    failed = gate(SUMMARY, in_all, asked)
    return Report("migration", "scan", (summary, *failed, *findings), places(uses), facts=facts, parts=parts)


def _summary(
    path: str | os.PathLike[str],
    counts: Counter[str],
    findings: list[Finding],
    scripts: list[Finding],
    where: Tree,
) -> tuple[str, dict[str, Scalar]]:
    files, missed = counted(where), sum(finding.key == UNREAD for finding in findings)
    said: dict[str, Scalar] = {"files": files, "grave": grave(findings), "unread": unread(findings)}
    if scripts and not counts:
        return "MIG100.only_tensorflow", {**said, "scripts": tensorflow.files_of(scripts)}
    if missed and not counts:
        return "MIG100.nothing_in_rest", {"files": len(where.looked) - missed, "unread": missed}
    if not counts:
        return "MIG100.nothing", {"files": files}
    numbers: dict[str, Scalar] = {name: counts[name] for name in CLASSES}
    given = shlex.quote(os.fspath(path))
    return "MIG100.counted", {"uses": sum(counts.values()), **said, **numbers, "path": given}
