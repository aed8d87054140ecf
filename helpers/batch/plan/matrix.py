"""Every combination of a matrix, less what `exclude` names, with what `include` adds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any

from helpers.batch.plan.entry import Entry
from helpers.batch.plan.fields import OF_RUN

MOST_RUNS = 100_000
Combination = dict[str, Entry]


def combinations(matrix: Entry) -> list[Combination]:
    """{"script": [a, b], "steps": [1, 2]} -> four. Raises WorkbookError for an axis without values, a value twice, an
    `exclude` that names no value of an axis, and more runs than anybody means."""
    given = dict(matrix.mapping())
    exclude, include = (_listed(given.pop(name, None)) for name in ("exclude", "include"))
    axes = {name: _axis(name, entry) for name, entry in given.items()}
    count = prod(len(values) for values in axes.values()) if axes else 0
    if count > MOST_RUNS:
        sizes = " × ".join(f"{name} {len(values)}" for name, values in axes.items())
        raise matrix.fail("plan.too_many", count=count, sizes=sizes, most=MOST_RUNS)
    found: list[Combination] = [dict(zip(axes, each)) for each in product(*axes.values())] if axes else []
    for one in exclude:
        _check_names_values(one, axes)
        found = [each for each in found if not _agrees(each, one.mapping())]
    for one in include:
        found = _included(found, one.mapping(OF_RUN) if not axes else one.mapping(), axes)
    return found


def _listed(entry: Entry | None) -> list[Entry]:
    if entry is None:
        return []
    for one in entry.items():
        if not one.mapping():
            raise one.wrong("mapping")
    return entry.items()


def _axis(name: str, entry: Entry) -> list[Entry]:
    seen: set[Any] = set()
    for value in entry.items():
        if isinstance(value.value, dict) or (isinstance(value.value, list) and name != "stages"):
            raise value.wrong("plain")
        if same(value) in seen:
            raise value.fail("plan.again", name=value.shown)
        seen.add(same(value))
    return entry.items()


def same(entry: Entry) -> Any:
    """Equal for two entries of the same value: true is not 1, and 1 is not 1.0."""
    if isinstance(entry.value, list):
        return tuple(same(each) for each in entry.value)
    return (type(entry.value).__name__, repr(entry.value))


def _check_names_values(exclude: Entry, axes: Mapping[str, list[Entry]]) -> None:
    for name, value in exclude.mapping(axes).items():
        if same(value) not in {same(each) for each in axes[name]}:
            known = [each.shown for each in axes[name]]
            raise value.fail("plan.not_on_axis", name=name, value=value.shown, known=known)


def _agrees(one: Combination, wanted: Mapping[str, Entry]) -> bool:
    return all(same(one[name]) == same(value) for name, value in wanted.items() if name in one)


def _included(found: list[Combination], include: Mapping[str, Entry], axes: Mapping[str, Any]) -> list[Combination]:
    """Added to the combinations that agree with its axes; where none does it is a combination of its own."""
    more = {name: value for name, value in include.items() if name not in axes}
    wanted = {name: value for name, value in include.items() if name in axes}
    agreeing = [bool(more) and _agrees(each, wanted) for each in found]
    if not any(agreeing):
        return [*found, dict(include)]
    return [{**each, **more} if agrees else each for each, agrees in zip(found, agreeing)]
