"""Warnings that both sides of a dry run printed, counted by kind: which come with the migration."""

from __future__ import annotations

import re
from collections import Counter

from helpers.finding import Finding, Status
from helpers.launch import LaunchResult
from helpers.words import Scalar

#: `train.py:12: UserWarning: text`, as Python prints a warning.
PYTHON = re.compile(r"^(?:\S.*:\d+: )?(\w*Warning): (.+)$", re.MULTILINE)
#: `[W1122 02:46:27.1 file.cpp:77] Warning: text (function operator())`, as PyTorch's C++ does.
NATIVE = re.compile(r"^\[W[^\]]*\] (?:Warning: )?(.+)$", re.MULTILINE)
SHOWN = 5
LENGTH = 100


def warned(output: str) -> Counter[str]:
    """How often each text was printed, cut to a line; numbers and addresses in it do not make another text."""
    found = [f"{kind}: {text}" for kind, text in PYTHON.findall(output)] + NATIVE.findall(output)
    return Counter(re.sub(r"0x[0-9a-f]+|\d+", "#", text).strip()[:LENGTH] for text in found)


def findings(before: LaunchResult, after: LaunchResult | None) -> list[Finding]:
    """How many each side printed; those that only the migrated script prints are named."""
    counted = [warned(_output(result)) if result is not None else Counter[str]() for result in (before, after)]
    left, right = counted
    fresh = [f"{text} ({right[text]}x)" for text in right if text not in left]
    numbers: dict[str, Scalar] = {"baseline": sum(left.values()), "target": sum(right.values())}
    if after is None:
        return []
    if not fresh:
        return [Finding("MIG143", Status.OK, "MIG143.same", numbers)]
    texts: list[Scalar] = list(fresh[:SHOWN])
    return [Finding("MIG143", Status.OK, "MIG143.new", {**numbers, "new": len(fresh), "texts": texts})]


def _output(result: LaunchResult) -> str:
    return result.output_path.read_text(encoding="utf-8", errors="replace")
