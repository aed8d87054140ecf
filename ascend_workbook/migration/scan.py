"""`scan`: a row for every CUDA use in a file or folder, with what becomes of it on an NPU."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Callable

from ascend_workbook.findings.errors import explain_os_error
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table, parse_fail_on
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration import api_map
from ascend_workbook.migration.files import Tree, collect_files
from ascend_workbook.migration.reach import carry_builds, find_reach, fold_unreached
from ascend_workbook.migration.reading.branches import drop_settled_findings, written_for_npu
from ascend_workbook.migration.reading.source import Source, decode_bytes, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable, refuse_binary, refuse_large
from ascend_workbook.migration.registry import Rule, choose_rules, judge_source
from ascend_workbook.migration.release import aim_at, choose_release
from ascend_workbook.migration.repair import (
    CLASSES,
    GRAVEST,
    MANUAL,
    UNSUPPORTED,
    Findings,
    class_of,
    counts_of,
    sort_by_place,
)
from ascend_workbook.migration.spread import spread_work
from ascend_workbook.migration.texts import LARGEST_NOTEBOOK_BYTES, notebook, read_text, scan_text, settings
from ascend_workbook.migration.verdict import (
    UNREAD,
    count_files,
    describe_grave_findings,
    describe_unread_files,
    judge_gates,
    no_file,
)

# TensorFlow scripts of a scan as a report of their own: how many names stand on which level of support.

TENSORFLOW_RULE = "MIG136"
#: From good to bad.
LEVELS: list[str] = api_map.list_names("tensorflow_levels")
SHOWN = 5


def report_tensorflow(findings: Findings) -> Report:
    """A row per level with its places and names; as its part the places. `facts`: files, `levels` and `counts`."""
    tensorflow_findings = list(findings)
    used: dict[str, Counter[str]] = {level: Counter() for level in LEVELS}
    for finding in tensorflow_findings:
        names = finding.args.get("names")
        for name, level, count in names if isinstance(names, list) else ():
            used[level][name] += count
    levels = {level: {"places": sum(names.values()), "names": len(names)} for level, names in used.items()}
    kinds = Counter(map(class_of, tensorflow_findings))
    facts: dict[str, Any] = {
        "files": files_of(tensorflow_findings),
        "levels": levels,
        "counts": {name: kinds[name] for name in CLASSES},
    }
    numbers: dict[str, Scalar] = {
        "files": facts["files"],
        "places": sum(level["places"] for level in levels.values()),
        "names": sum(level["names"] for level in levels.values()),
        "supported": levels["supported"]["places"],
    }
    status = max((finding.status for finding in tensorflow_findings), default=Status.GOOD)
    rows = tuple(_make_level_row(level, names) for level, names in used.items())
    columns = tuple(map(Column, ("tf_level", "repair_count", "tf_names", "repair_action", "tf_examples")))
    places: dict[str, Scalar] = {"uses": len(tensorflow_findings), **facts["counts"]}
    heading = Finding(TENSORFLOW_RULE, Status.NOTE, "MIG136.places", places)
    listed = Report("migration", "scan_tensorflow_places", (heading,), make_places_table(tensorflow_findings))
    summary = Finding(TENSORFLOW_RULE, status, "MIG136.levels", numbers)
    chart = Chart("bars", "tf_level", ("repair_count",))
    table = Table(columns, rows)
    return Report("migration", "scan_tensorflow", (summary,), table, chart, facts=facts, parts=(listed,))


def files_of(findings: Findings) -> int:
    """How many files the findings stand in."""
    return len({finding.place.path for finding in findings if finding.place})


def _make_level_row(level: str, names: Counter[str]) -> tuple[Scalar, ...]:
    often: Scalar = [name for name, _ in names.most_common(SHOWN)] or None
    level_name: Scalar = Sentence(f"migration.tf.{level}")
    return level_name, sum(names.values()), len(names), Sentence(f"migration.tf_means.{level}"), often


KNOWN_COLUMNS = (("confidence", ""), ("effort", "h"), ("versions_hold", ""), ("link", ""))
COLUMNS = (
    *map(Column, ("file", "line", "column", "code", "rule", "repair", "repair_action")),
    *(Column(name, unit, detail=True) for name, unit in KNOWN_COLUMNS),
)


def make_places_table(findings: Findings) -> Table:
    """Make a row for each finding with a place and a class: what needs work first, and in the order of the files."""
    ordered = sorted(
        (finding for finding in findings if finding.place), key=lambda finding: GRAVEST.index(class_of(finding))
    )
    return Table(COLUMNS, tuple(_make_place_row(finding, finding.place) for finding in ordered if finding.place))


def _make_place_row(finding: Finding, place: Place) -> tuple[Scalar, ...]:
    args = finding.args
    action: Scalar = Sentence(finding.key, **args)
    kind: Scalar = Sentence(f"migration.class.{class_of(finding)}")
    sure: Scalar = Sentence(f"migration.confidence.{args['confidence']}") if "confidence" in args else None
    known = (sure, args.get("effort_h"), args.get("versions"), args.get("link"))
    return place.path, place.line, place.column, args["code"], finding.rule, kind, action, *known


def report_classes(counts: Counter[str]) -> Report:
    """The findings by class: what the chart draws."""
    columns = (Column("repair"), Column("repair_count"), Column("repair_action"))
    rows = tuple(
        (Sentence(f"migration.class.{name}"), counts[name], Sentence(f"migration.meaning.{name}")) for name in CLASSES
    )
    left = counts[MANUAL] + counts[UNSUPPORTED]
    status = Status.LOOK if left else Status.GOOD if counts else Status.NOTE
    numbers: dict[str, Scalar] = {name: counts[name] for name in CLASSES}
    finding = Finding(SUMMARY, status, "MIG100.classes", {"uses": sum(counts.values()), **numbers})
    chart = Chart("bars", "repair", ("repair_count",))
    return Report("migration", "scan_classes", (finding,), Table(columns, rows), chart)


SUMMARY = "MIG100"
SUMMARY_WEIGHT = 1000.0
#: In a tree of more Python files those that say nothing of a GPU are searched, not parsed: most, as a rule.
PARSED = 1000
#: The findings of a file, and the hash of its text where it has any.
Found = tuple[list[Finding], str]


def scan(
    path: str | os.PathLike[str],
    fail_on: Iterable[str] = (),
    *,
    imports: bool = False,
    entry: str | os.PathLike[str] | None = None,
    torch_npu: str | None = None,
) -> Report:
    """Scans a Python file or a folder of them. With `fail_on` (classes) the status is Fix where one of them occurs.
    With `imports` a script brings the modules that it imports from its folder, and requirements and texts beside it.
    With `entry`, a script of the folder, what its imports do not reach is folded into one line and does not count.
    `torch_npu` is the release to judge for; without it the one installed here, else the one that `setup` recommends.

    The report's table has a row per use, what needs work first, then in the order of the files; `parts[0]` counts them
    by class and has the chart. Every finding with a place carries its class in `args["class"]`, beside it `confidence`,
    `effort_h` (person-hours), `versions` and `link`. TensorFlow scripts stand apart: not in the table and
    `facts["counts"]`, but in a part of their own and `facts["tensorflow"]`. A file that cannot be read is a finding,
    never a gap. Raises WorkbookError where the path does not exist or a class of `fail_on` is none."""
    gate_classes = parse_fail_on(fail_on, CLASSES)
    release = choose_release(torch_npu)
    where = collect_files(path, imports=imports)
    findings: list[Finding] = [release.describe()] if torch_npu is not None else []
    hashes: dict[str, str] = {}
    python = partial(scan_file, parse=len(where.python) <= PARSED)
    kinds = ((python, where.python), (_scan_text_file, where.texts), (_scan_notebook_file, where.notebooks))
    jobs = [(kind, file, where.name_of(file)) for kind, files in kinds for file in files]
    with aim_at(release):
        for (_, _, name), (file_findings, sha256) in zip(jobs, spread_work(_scan_job, jobs)):
            findings += file_findings
            if sha256:
                hashes[name] = sha256
    findings = [*settings.fold_unjudged(findings), *no_file(path, where), *not_python(where)]
    findings += carry_builds(where, findings)
    facts: dict[str, object] = {"torch_npu": release.to_facts()}
    if entry is not None:
        findings, facts["unreached"] = fold_unreached(find_reach(where, os.fspath(entry)), findings)
    report = _make_report(path, where, findings, hashes, gate_classes)
    return replace(report, facts={**report.facts, **facts})


def _scan_job(job: tuple[Callable[[Path, str], Found], Path, str]) -> Found:
    look, file, name = job
    try:
        return look(file, name)
    except (Unreadable, OSError) as cause:
        return [report_unreadable(name, cause)], ""


def _scan_text_file(file: Path, name: str) -> Found:
    source = read_text(file, name)
    findings = scan_text(source)
    return findings, source.sha256 if findings and file.suffix != ".py" else ""


def _scan_notebook_file(file: Path, name: str) -> Found:
    refuse_large(file.stat().st_size, LARGEST_NOTEBOOK_BYTES)
    findings = notebook.scan_notebook(file.read_bytes(), name)
    try:
        return findings, read_text(file, name).sha256 if findings else ""
    except Unreadable:
        return findings, ""  # JSON in UTF-16: rewrite says that it cannot


def scan_file(file: Path, name: str, *, parse: bool = True) -> Found:
    """The findings of a file in order of place, and its text's hash where it has any; `parse`: whatever its words.

    Raises Unreadable or OSError."""
    refuse_large(file.stat().st_size)
    data = file.read_bytes()
    refuse_binary(data)
    rules = choose_rules(data)
    if not rules and not parse:
        return [], ""
    text, encoding, bom = decode_bytes(data)
    source = parse_text(text, name, encoding=encoding, bom=bom, file=file)
    source.names  # noqa: B018 - raises where the tree nests too deeply
    findings = scan_source(source, rules=rules)
    return findings, source.sha256 if findings else ""


def scan_source(source: Source, *, strict: bool = False, rules: Iterable[Rule] | None = None) -> list[Finding]:
    """All findings of the rules (of those that may have something to say, unless told) in order of place."""
    if rules is None:
        rules = choose_rules(source.text.encode("utf-8", "surrogatepass"))
    findings = judge_source(source, rules, strict=strict)
    if written_for_npu(source):
        findings = drop_settled_findings(source, findings)
    return sort_by_place(findings)


def report_unreadable(name: str, cause: Unreadable | OSError) -> Finding:
    """Not looked is not clean: a file that nobody could read."""
    why = cause if isinstance(cause, Unreadable) else Unreadable(explain_os_error(cause))
    return Finding(SUMMARY, Status.NOT_LOOKED, UNREAD, {"path": name, **why.sentence_args}, Place(name, why.line))


def not_python(where: Tree) -> Findings:
    """What of a tree is no file that could be scanned, or has a name that no page or terminal shows as it is."""
    yield from (report_unreadable(name, cause) for name, cause in where.closed.items())
    odd = [name for name in map(where.name_of, where.scanned_files) if not name.isprintable()]
    if odd:
        odd_args: dict[str, Scalar] = {"count": len(odd), "first": ascii(odd[0])}
        yield Finding(SUMMARY, Status.NOTE, "MIG100.odd_names", odd_args)
    if where.cuda_sources:
        first = where.name_of(where.cuda_sources[0])
        kernels: dict[str, Scalar] = {"count": len(where.cuda_sources), "first": first, "class": UNSUPPORTED}
        yield Finding(SUMMARY, Status.LOOK, "MIG100.cuda_sources", kernels)
    for kind, count in sorted(Counter(file.suffix for file in where.others).items()):
        first = where.name_of(next(file for file in where.others if file.suffix == kind))
        yield Finding(SUMMARY, Status.NOT_LOOKED, "MIG100.not_python", {"count": count, "kind": kind, "first": first})


def _make_report(
    path: str | os.PathLike[str],
    where: Tree,
    findings: list[Finding],
    hashes: dict[str, str],
    gate_classes: tuple[str, ...],
) -> Report:
    classed = [finding for finding in findings if class_of(finding)]
    scripts = [finding for finding in classed if finding.rule == TENSORFLOW_RULE]
    uses = [finding for finding in classed if finding.rule != TENSORFLOW_RULE]
    counts = counts_of(uses)
    files = len(where.scanned_files)
    status = max((finding.status for finding in findings), default=Status.GOOD)
    summary = Finding(SUMMARY, status, *_summarize_scan(path, counts, findings, scripts, where), weight=SUMMARY_WEIGHT)
    facts: dict[str, object] = {
        "path": os.fspath(path),
        "root": str(where.root.resolve()),
        "files": files,
        "sha256": hashes,
        "counts": {name: counts[name] for name in CLASSES},
        "fail_on": list(gate_classes),
    }
    in_all = counts_of(classed)
    facts["failed_on"] = [name for name in gate_classes if in_all[name]]
    parts: tuple[Report, ...] = (report_classes(counts),)
    if scripts:
        parts += (report_tensorflow(scripts),)
        facts["tensorflow"] = parts[1].facts
    failed = judge_gates(SUMMARY, in_all, gate_classes)
    return Report("migration", "scan", (summary, *failed, *findings), make_places_table(uses), facts=facts, parts=parts)


def _summarize_scan(
    path: str | os.PathLike[str], counts: Counter[str], findings: list[Finding], scripts: list[Finding], where: Tree
) -> tuple[str, dict[str, Scalar]]:
    files, missed = count_files(where), sum(finding.key == UNREAD for finding in findings)
    file_args: dict[str, Scalar] = {
        "files": files,
        "grave": describe_grave_findings(findings),
        "unread": describe_unread_files(findings),
    }
    if scripts and not counts:
        return "MIG100.only_tensorflow", {**file_args, "scripts": files_of(scripts)}
    if missed and not counts:
        return "MIG100.nothing_in_rest", {"files": len(where.scanned_files) - missed, "unread": missed}
    if not counts:
        return "MIG100.nothing", {"files": files}
    numbers: dict[str, Scalar] = {name: counts[name] for name in CLASSES}
    quoted_path = shlex.quote(os.fspath(path))
    return "MIG100.counted", {"uses": sum(counts.values()), **file_args, **numbers, "path": quoted_path}
