"""The rewrite of the whole copy, one commit per rule, each with the places it changes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.findings.sentence import say
from ascend_workbook.migration.files import collect_files
from ascend_workbook.migration.loop.copying import is_own_file
from ascend_workbook.migration.loop.repository import Result, write_whole
from ascend_workbook.migration.reading.source import decode_bytes
from ascend_workbook.migration.repair import TRANSFER
from ascend_workbook.migration.rewrite import plan_changes
from ascend_workbook.migration.rewrite.change import Change, Work, apply_edits
from ascend_workbook.migration.texts import decode_text, text_source

#: Of the places that a commit names.
SHOWN = 50
NOTEBOOKS = "MIG130"


def commit_rewrite(result: Result, mode: str, entries: list[str]) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Rewrite every file of the copy, and commit it rule by rule; return what each commit did, and what is left."""
    work = Work(collect_files(result.folder), mode, frozenset(result.folder / name for name in entries))
    plan_changes(work)
    changes = [change for change in work.changes.values() if is_own_file(result.folder, change.name)]
    links = sorted(change.name for change in work.changes.values() if change not in changes)
    commits: list[dict[str, Any]] = []
    rules = sorted(
        {rule for change in changes for rule in _rules_of(change)}, key=lambda rule: (rule != "MIG131", rule)
    )
    for number, rule in enumerate(rules):
        done = set(rules[: number + 1])
        mine = [change for change in changes if rule in _rules_of(change)]
        for change in mine:
            write_whole(change.file, _apply_rules(change, done))
        every = [(change, finding) for change in mine for finding in change.made]
        of_rule = [finding for change, finding in every if finding.rule == rule or _is_notebook(change)]
        source = next((str(f.args["link"]) for f in of_rule if str(f.args.get("link", "")).startswith("http")), "")
        source = source or (TRANSFER if rule == "MIG131" else "")
        title = of_rule[0].message() if of_rule else say("loop.commit.rewritten")
        places = [f"{finding.place}: {finding.message()}" for finding in of_rule]
        files = [change.name for change in mine]
        commit = result.commit_files(files, write_message(f"{rule}: {title}", "", source, places))
        if commit:
            commits.append({"rule": rule, "commit": commit, "places": len(of_rule), "files": files, "source": source})
    left = list(work.left)
    return commits, [finding for finding in left if not finding.place or finding.place.path not in links]


def write_message(subject: str, reason: str, source: str, places: list[str]) -> str:
    """Write a commit's message: what, why, on what it rests, and where."""
    shown = places[:SHOWN] + ([f"… {len(places) - SHOWN}"] if len(places) > SHOWN else [])
    parts = [subject, reason, "\n".join(shown), say("loop.commit.source", source=source) if source else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def _is_notebook(change: Change) -> bool:
    return change.file.suffix == ".ipynb"


def _rules_of(change: Change) -> set[str]:
    """The rules that change a file; a notebook's cells are changed at once."""
    return {NOTEBOOKS} if _is_notebook(change) else {finding.rule for finding in change.made if finding.edits}


def _apply_rules(change: Change, rules: set[str]) -> bytes:
    """The file with the edits of these rules alone."""
    if _rules_of(change) <= rules:
        return change.after
    edits: dict[bool, list[Edit]] = defaultdict(list)
    for finding in change.made:
        edits[finding.rule in rules].extend(finding.edits)
    decode = decode_bytes if change.file.suffix in (".py", ".pyw") else decode_text
    text, encoding, bom = decode(change.before)
    source = text_source(text, change.name, encoding, bom)
    return source.encode_text(apply_edits(source, edits[True]))
