"""Every run of a plan against what the notebooks declare, before any of them starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.batch.plan.document import Entry, nearest_words, shorten_text
from ascend_workbook.batch.plan.model import Item, Plan
from ascend_workbook.batch.stages import OURS, STAGES, declared_parameters, find_notebooks
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence

#: Declared type -> what a plan may give for it; true is no number.
TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}
#: What stands under these is for all runs: each run takes what its notebooks declare.
SHARED = ("parameters.", "defaults.")
Known = Mapping[str, Mapping[str, str]]


def check(plan: Plan, notebooks: Path) -> Plan:
    """Check every run of the plan, and return the plan with the parameters that each run's notebooks declare.

    Raises WorkbookError that names the line and the run for a parameter that no notebook of the run declares, and for a
    value of the wrong type.
    """
    declares = _Declared(notebooks)
    used_entries: set[int] = set()
    items = tuple(_check_item(item, plan.given[item.name], declares, used_entries) for item in plan.items)
    for item in plan.items:
        known = declares.declared_types(declares.find_stages(item.lang), item.lang)
        for name, entry in plan.given[item.name].items():
            if id(entry) not in used_entries and not _find_kinds(name, known):
                raise _unknown_parameter(entry, name, known, item)
    return replace(plan, items=items)


class _Declared:
    """What notebooks declare, each read once."""

    def __init__(self, notebooks: Path) -> None:
        self.notebooks = notebooks
        self.kinds: dict[Path, dict[str, str]] = {}
        self.known: dict[tuple[tuple[str, ...], str], Known] = {}

    def find_stages(self, lang: str) -> tuple[str, ...]:
        """Return the stages that have a notebook in the language."""
        return tuple(stage for stage in STAGES if any((self.notebooks / lang).glob(f"*_{stage}.ipynb")))

    def declared_types(self, stages: tuple[str, ...], lang: str) -> Known:
        """Return stage -> parameter -> declared type, of the stages that have a notebook."""
        if (stages, lang) not in self.known:
            notebook_paths = find_notebooks(stages, self.notebooks / lang)
            for path in notebook_paths.values():
                self.kinds[path] = self.kinds.get(path) or declared_parameters(path)
            self.known[stages, lang] = {stage: self.kinds[path] for stage, path in notebook_paths.items()}
        return self.known[stages, lang]


def _check_item(item: Item, entries: Mapping[str, Entry], declares: _Declared, used_entries: set[int]) -> Item:
    try:
        declarations = declares.declared_types(item.stages, item.lang)
    except WorkbookError as error:
        raise WorkbookError("plan.run", run=item.name, error=Sentence(error.key, **error.arguments)) from error
    parameters: dict[str, str] = {}
    for name, entry in entries.items():
        kinds = _find_kinds(name, declarations)
        if not kinds and not entry.place.startswith(SHARED):
            raise _unknown_parameter(entry, name, declarations, item)
        for kind in kinds:
            allowed: Any = TYPES.get(kind, (str,))
            right = isinstance(entry.value, allowed) and (kind == "bool" or not isinstance(entry.value, bool))
            if not right:
                wanted_type = Sentence(f"plan.kind.{kind if kind in TYPES else 'str'}")
                raise entry.make_error("plan.type", found=entry.display_value, kind=wanted_type, run=item.name)
        if kinds:
            used_entries.add(id(entry))
            parameters[name] = item.parameters[name]
    return replace(item, parameters=parameters)


def _find_kinds(name: str, declarations: Known) -> list[str]:
    """Return the declared types of a parameter in the notebooks that take it."""
    stage, _, plain = name.rpartition(".")
    if plain in OURS:
        return []
    return [kinds[plain] for taker, kinds in declarations.items() if plain in kinds and stage in ("", taker)]


def _unknown_parameter(entry: Entry, name: str, declarations: Known, item: Item) -> WorkbookError:
    plain = {parameter for kinds in declarations.values() for parameter in kinds if parameter not in OURS}
    full = {
        f"{stage}.{parameter}" for stage, kinds in declarations.items() for parameter in kinds if parameter not in OURS
    }
    names = sorted(full if "." in name else plain)
    close = nearest_words(name, names)
    stages: list[Scalar] = [Sentence(f"name.{stage}") for stage in item.stages]
    if close:
        return entry.make_error("plan.parameter", name=shorten_text(name), close=close, run=item.name, stages=stages)
    return entry.make_error("plan.no_parameter", name=shorten_text(name), known=names, run=item.name, stages=stages)
