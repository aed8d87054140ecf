"""Warnings that both sides of a dry run printed, counted by kind: which come with the migration."""

from __future__ import annotations

import re
from collections import Counter

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.launch import LaunchResult

#: `train.py:12: UserWarning: text`, as Python prints a warning.
PYTHON = re.compile(r"^(?:\S.*:\d+: )?(\w*Warning): (.+)$", re.MULTILINE)
#: `[W1122 02:46:27.1 file.cpp:77] Warning: text (function operator())`, as PyTorch's C++ does.
NATIVE = re.compile(r"^\[W[^\]]*\] (?:Warning: )?(.+?)(?: \(function [^)]*\(?\)?\))?$", re.MULTILINE)
LENGTH, LONGEST = 100, 2000
COLUMNS = (
    Column("warning", wrap=LENGTH),
    Column("baseline_count"),
    Column("target_count"),
    Column("whole_warning", detail=True),
)


def count_warnings(output: str) -> Counter[str]:
    """Count how often each text was printed; numbers and addresses in it do not make another text."""
    warning_texts = [f"{kind}: {text}" for kind, text in PYTHON.findall(output)] + NATIVE.findall(output)
    return Counter(re.sub(r"0x[0-9a-f]+|\d+", "#", text).strip()[:LONGEST] for text in warning_texts)


def shorten_text(text: str, length: int = LENGTH) -> str:
    """At most so many characters, cut between words."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    if not text[length - 1].isspace() and " " in head:
        head = head.rpartition(" ")[0]
    return f"{head.rstrip(' ,;:')} …"


def report_warnings(before: LaunchResult, after: LaunchResult | None) -> list[Finding]:
    """Report how many warnings each side printed, and how many kinds only the migrated script prints."""
    left, right = _count_printed_warnings(before), _count_printed_warnings(after)
    fresh = [text for text in right if text not in left]
    numbers: dict[str, Scalar] = {"baseline": sum(left.values()), "target": sum(right.values())}
    if after is None:
        return []
    if not fresh:
        return [Finding("MIG143", Status.OK, "MIG143.same", numbers)]
    return [Finding("MIG143", Status.OK, "MIG143.new", {**numbers, "new": len(fresh)})]


def list_new_warnings(before: LaunchResult, after: LaunchResult | None) -> tuple[Report, ...]:
    """A part with a row for each kind that only the migrated script prints; whole on a page and in the JSON."""
    left, right = _count_printed_warnings(before), _count_printed_warnings(after)
    rows = tuple((shorten_text(text), left[text], right[text], text) for text in right if text not in left)
    if not rows:
        return ()
    heading = Finding("MIG143", Status.OK, "MIG143.listed", {"count": len(rows)})
    return (Report("migration", "new_warnings", (heading,), Table(COLUMNS, rows)),)


def collect_warning_facts(result: LaunchResult | None) -> dict[str, int]:
    """Each text, whole, with how often it was printed."""
    return dict(_count_printed_warnings(result))


def _count_printed_warnings(result: LaunchResult | None) -> Counter[str]:
    return count_warnings(result.output_path.read_text(encoding="utf-8", errors="replace")) if result else Counter()
