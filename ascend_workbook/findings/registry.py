"""What lower parts ask for by name and higher parts hand in: what draws, saves and lists a report.

A part enters `module:name` under a kind and a name; the module is imported when that is first asked for.
This file knows none of them: the package enters its own (`ascend_workbook/__init__.py`), and a stage's are keyed by its
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Callable

#: What a report is shown as; a stage's own test cases; a Drawing by kind of chart; Remarks by the letters of its rules.
RENDERER, CASES, CHART, REMARKS = "renderer", "cases", "chart", "remarks"
_ENTRIES: dict[tuple[str, str], str] = {}


def register_functions(kind: str, entries: Mapping[str, str]) -> None:
    """Register `name: "module:function"` of one kind. Raises ValueError where a name has another function already."""
    for name, target in entries.items():
        if _ENTRIES.setdefault((kind, name), target) != target:
            raise ValueError(f"{kind} {name!r} is {_ENTRIES[kind, name]} already, so it cannot be {target}")


def find_entry(kind: str, name: str) -> object | None:
    """Return what was entered, or None."""
    module, _, attribute = _ENTRIES.get((kind, name), "").partition(":")
    entry: object = getattr(import_module(module), attribute) if module else None
    return entry


def find_function(kind: str, name: str) -> Callable[..., Any] | None:
    """Return the function, or None where none was entered."""
    entry = find_entry(kind, name)
    return entry if callable(entry) else None


def find_renderer(form: str) -> Callable[..., Any]:
    """Return the function that shows a report in this form. Raises LookupError where nothing was entered for it."""
    function = find_function(RENDERER, form)
    if function is None:
        raise LookupError(f"nothing is registered that renders a report as {form}")
    return function
