"""Warnings that both sides of a dry run printed, counted by kind: which come with the migration."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from helpers.finding import Finding, Status
from helpers.launch import LaunchResult
from helpers.report import Column, Report, Table
from helpers.words import Scalar

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


def warned(output: str) -> Counter[str]:
    """How often each text was printed; numbers and addresses in it do not make another text."""
    found = [f"{kind}: {text}" for kind, text in PYTHON.findall(output)] + NATIVE.findall(output)
    return Counter(re.sub(r"0x[0-9a-f]+|\d+", "#", text).strip()[:LONGEST] for text in found)


def shortened(text: str, length: int = LENGTH) -> str:
    """At most so many characters, cut between words."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    if not text[length - 1].isspace() and " " in head:
        head = head.rpartition(" ")[0]
    return f"{head.rstrip(' ,;:')} …"


def findings(before: LaunchResult, after: LaunchResult | None) -> list[Finding]:
    """How many each side printed, and how many kinds only the migrated script prints."""
    left, right = _counted(before), _counted(after)
    fresh = [text for text in right if text not in left]
    numbers: dict[str, Scalar] = {"baseline": sum(left.values()), "target": sum(right.values())}
    if after is None:
        return []
    if not fresh:
        return [Finding("MIG143", Status.OK, "MIG143.same", numbers)]
    return [Finding("MIG143", Status.OK, "MIG143.new", {**numbers, "new": len(fresh)})]


def listed(before: LaunchResult, after: LaunchResult | None) -> tuple[Report, ...]:
    """A part with a row for each kind that only the migrated script prints; whole on a page and in the JSON."""
    left, right = _counted(before), _counted(after)
    rows = tuple((shortened(text), left[text], right[text], text) for text in right if text not in left)
    if not rows:
        return ()
    said = Finding("MIG143", Status.OK, "MIG143.listed", {"count": len(rows)})
    return (Report("migration", "new_warnings", (said,), Table(COLUMNS, rows)),)


def facts(result: LaunchResult | None) -> dict[str, Any]:
    """Each text, whole, with how often it was printed."""
    return dict(_counted(result))


def _counted(result: LaunchResult | None) -> Counter[str]:
    return warned(result.output_path.read_text(encoding="utf-8", errors="replace")) if result else Counter()
