"""A finding as one line: status, sentence, its arguments by name, its place."""

from __future__ import annotations

from typing import Any, Callable

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.rules import CannotCheck, Check

#: A rule's code, what makes its facts, and the lines that it must give: no more, no fewer.
Example = tuple[str, Callable[[], Any], list[str]]
#: Arguments that are the same in every finding of a rule.
CONSTANT = ("source", "topic")


def lines_of(check: Check, facts: Any) -> list[str]:
    """Return the lines of all findings of one check, or why it cannot look."""
    try:
        return [show_finding(finding) for finding in check(facts)]
    except CannotCheck as reason:
        return [" ".join(["CANNOT", reason.key, *show_arguments(reason.arguments)])]


def show_finding(finding: Finding) -> str:
    """Return a finding as one line; numbers have at most six digits."""
    place = [f"@{finding.place}"] if finding.place else []
    weight = [f"weight={finding.weight:.6g}"] if finding.weight else []
    return " ".join([finding.status.name, finding.key, *show_arguments(finding.args), *weight, *place])


def show_arguments(arguments: dict[str, Any]) -> list[str]:
    """Return `name=value` of each argument but those that are constant."""
    return [f"{name}={show_value(value)}" for name, value in sorted(arguments.items()) if name not in CONSTANT]


def show_value(value: Any) -> str:
    """Return a value as text: a sentence as its key with its arguments, a number with at most six digits."""
    if isinstance(value, dict):
        return f"{value['say']}({' '.join(show_arguments(value.get('args', {})))})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(show_value, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
