"""Every combination of a matrix, less what `exclude` names, with what `include` adds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any

from ascend_workbook.batch.plan.entry import Entry
from ascend_workbook.batch.plan.fields import OF_RUN

MOST_RUNS = 100_000
Combination = dict[str, Entry]


def expand_matrix(matrix: Entry) -> list[Combination]:
    """Expand a matrix to all its combinations. Raises WorkbookError for an axis without values, a value twice, an
    `exclude` that names no value of an axis, and more runs than anybody means."""
    entries = dict(matrix.read_mapping())
    exclude, include = (_list_mappings(entries.pop(name, None)) for name in ("exclude", "include"))
    axes = {name: _read_axis(name, entry) for name, entry in entries.items()}
    count = prod(len(values) for values in axes.values()) if axes else 0
    if count > MOST_RUNS:
        sizes = " × ".join(f"{name} {len(values)}" for name, values in axes.items())
        raise matrix.make_error("plan.too_many", count=count, sizes=sizes, most=MOST_RUNS)
    expanded: list[Combination] = (
        [dict(zip(axes, values_chosen)) for values_chosen in product(*axes.values())] if axes else []
    )
    for excluded in exclude:
        _check_names_values(excluded, axes)
        expanded = [
            values_chosen
            for values_chosen in expanded
            if not _combination_agrees(values_chosen, excluded.read_mapping())
        ]
    for excluded in include:
        expanded = _add_included(expanded, excluded.read_mapping(OF_RUN) if not axes else excluded.read_mapping(), axes)
    return expanded


def _list_mappings(entry: Entry | None) -> list[Entry]:
    if entry is None:
        return []
    for item in entry.read_items():
        if not item.read_mapping():
            raise item.wrong_kind_error("mapping")
    return entry.read_items()


def _read_axis(name: str, entry: Entry) -> list[Entry]:
    seen_values: set[Any] = set()
    for value in entry.read_items():
        if isinstance(value.value, dict) or (isinstance(value.value, list) and name != "stages"):
            raise value.wrong_kind_error("plain")
        if comparison_key(value) in seen_values:
            raise value.make_error("plan.again", name=value.display_value)
        seen_values.add(comparison_key(value))
    return entry.read_items()


def comparison_key(entry: Entry) -> Any:
    """Return a key that is equal for two entries of the same value: true is not 1, and 1 is not 1.0."""
    if isinstance(entry.value, list):
        return tuple(comparison_key(item) for item in entry.value)
    return (type(entry.value).__name__, repr(entry.value))


def _check_names_values(exclude: Entry, axes: Mapping[str, list[Entry]]) -> None:
    for name, value in exclude.read_mapping(axes).items():
        if comparison_key(value) not in {comparison_key(item) for item in axes[name]}:
            shown_values = [item.display_value for item in axes[name]]
            raise value.make_error("plan.not_on_axis", name=name, value=value.display_value, known=shown_values)


def _combination_agrees(combination: Combination, conditions: Mapping[str, Entry]) -> bool:
    return all(
        comparison_key(combination[name]) == comparison_key(value)
        for name, value in conditions.items()
        if name in combination
    )


def _add_included(
    expanded: list[Combination], include: Mapping[str, Entry], axes: Mapping[str, Any]
) -> list[Combination]:
    """Add the values of an `include` to the combinations that agree with its axes. Where none does it is a combination
    of its own.
    """
    more = {name: value for name, value in include.items() if name not in axes}
    conditions = {name: value for name, value in include.items() if name in axes}
    agreeing = [bool(more) and _combination_agrees(combination, conditions) for combination in expanded]
    if not any(agreeing):
        return [*expanded, dict(include)]
    return [{**combination, **more} if agrees else combination for combination, agrees in zip(expanded, agreeing)]
