"""Every run of a plan against what the notebooks declare, before any of them starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from helpers.batch.parameters import OURS, declared
from helpers.batch.plan.entry import Entry, near, short
from helpers.batch.plan.model import Item, Plan
from helpers.batch.workbook import STAGES, notebooks_of
from helpers.errors import WorkbookError
from helpers.words import Scalar

#: Declared type -> what a plan may give for it; true is no number.
TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}
#: What stands under these is for all runs: each run takes what its notebooks declare.
SHARED = ("parameters.", "defaults.")
Known = Mapping[str, Mapping[str, str]]


def check(plan: Plan, notebooks: Path) -> Plan:
    """The plan, each run with the parameters that its notebooks declare.

    Raises WorkbookError that names the line and the run for a parameter that no notebook of the run declares, and for a
    value of the wrong type.
    """
    declares = _Declared(notebooks)
    taken: set[int] = set()
    items = tuple(_checked(item, plan.given[item.name], declares, taken) for item in plan.items)
    for item in plan.items:
        for name, entry in plan.given[item.name].items():
            if id(entry) not in taken and not _kinds(name, declares.of(declares.stages(item.lang), item.lang)):
                raise _unknown(entry, name, declares.of(declares.stages(item.lang), item.lang), item)
    return replace(plan, items=items)


class _Declared:
    """What notebooks declare, each read once."""

    def __init__(self, notebooks: Path) -> None:
        self.notebooks = notebooks
        self.kinds: dict[Path, dict[str, str]] = {}
        self.known: dict[tuple[tuple[str, ...], str], Known] = {}

    def stages(self, lang: str) -> tuple[str, ...]:
        """The stages that have a notebook in the language."""
        return tuple(stage for stage in STAGES if any((self.notebooks / lang).glob(f"*_{stage}.ipynb")))

    def of(self, stages: tuple[str, ...], lang: str) -> Known:
        """Stage -> parameter -> declared type, of the stages that have a notebook."""
        if (stages, lang) not in self.known:
            found = notebooks_of(stages, self.notebooks / lang)
            for path in found.values():
                self.kinds[path] = self.kinds.get(path) or declared(path)
            self.known[stages, lang] = {stage: self.kinds[path] for stage, path in found.items()}
        return self.known[stages, lang]


def _checked(item: Item, given: Mapping[str, Entry], declares: _Declared, taken: set[int]) -> Item:
    try:
        known = declares.of(item.stages, item.lang)
    except WorkbookError as error:
        raise WorkbookError("plan.run", run=item.name, error={"say": error.key, "args": error.arguments}) from error
    kept: dict[str, str] = {}
    for name, entry in given.items():
        kinds = _kinds(name, known)
        if not kinds and not entry.place.startswith(SHARED):
            raise _unknown(entry, name, known, item)
        for kind in kinds:
            _check_type(entry, kind, item)
        if kinds:
            taken.add(id(entry))
            kept[name] = item.parameters[name]
    return replace(item, parameters=kept)


def _kinds(name: str, known: Known) -> list[str]:
    """Declared types of a parameter in the notebooks that take it."""
    stage, _, plain = name.rpartition(".")
    if plain in OURS:
        return []
    return [kinds[plain] for taker, kinds in known.items() if plain in kinds and stage in ("", taker)]


def _check_type(entry: Entry, kind: str, item: Item) -> None:
    allowed: Any = TYPES.get(kind, (str,))
    right = isinstance(entry.value, allowed) and (kind == "bool" or not isinstance(entry.value, bool))
    if not right:
        wanted = {"say": f"plan.kind.{kind if kind in TYPES else 'str'}"}
        raise entry.fail("plan.type", found=entry.shown, kind=wanted, run=item.name)


def _unknown(entry: Entry, name: str, known: Known, item: Item) -> WorkbookError:
    plain = {each for kinds in known.values() for each in kinds if each not in OURS}
    full = {f"{stage}.{each}" for stage, kinds in known.items() for each in kinds if each not in OURS}
    names = sorted(full if "." in name else plain)
    close = near(name, names)
    stages: list[Scalar] = [{"say": f"name.{stage}"} for stage in item.stages]
    if close:
        return entry.fail("plan.parameter", name=short(name), close=close, run=item.name, stages=stages)
    return entry.fail("plan.no_parameter", name=short(name), known=names, run=item.name, stages=stages)
