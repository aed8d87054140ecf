"""The runs of a plan's matrix and list: their fields, parameters, whole paths and names."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.batch.plan.entry import Entry, format_value, shorten_text
from ascend_workbook.batch.plan.fields import OF_RUN, SHORT, read_fields, read_parameters
from ascend_workbook.batch.plan.matrix import MOST_RUNS, expand_matrix
from ascend_workbook.batch.plan.model import Item
from ascend_workbook.batch.plan.naming import find_scripts_alike, name_from_parameters, read_name
from ascend_workbook.batch.stages import NOTEBOOKS, STAGES

#: Parameters that name a file or folder to read.
INPUTS = ("script", "baseline", "existing", "repository", "error_log", "bench_baseline")


@dataclass(frozen=True)
class Draft:
    """A run before it has its name; `own` is what tells it from the others."""

    entry: Entry
    fields: dict[str, Any]
    given: dict[str, Entry]
    own: Mapping[str, Entry]
    name: str = ""


def make_drafts(top: Mapping[str, Entry]) -> list[Draft]:
    """Make the drafts of all runs; what a run says of itself stands over what `defaults` and the plan say."""
    defaults = dict(top["defaults"].read_mapping(OF_RUN)) if "defaults" in top else {}
    shared = {name: top[name] for name in ("stages", "lang", "require", "parameters") if name in top}
    for name in shared.keys() & defaults.keys():
        raise defaults[name].make_error("plan.twice", name=name, before=shared[name].line)
    base = {**shared, **defaults}
    below, parameters_of_all = read_fields(base), read_parameters(base)
    drafts_made = [
        _draft_from_matrix(top["matrix"], run, below, parameters_of_all) for run in _matrix_combinations(top)
    ]
    drafts_made += [
        _draft_from_list(run, below, parameters_of_all) for run in (top["runs"].read_items() if "runs" in top else ())
    ]
    if len(drafts_made) > MOST_RUNS:
        raise top["runs"].make_error(
            "plan.too_many", count=len(drafts_made), sizes=str(len(drafts_made)), most=MOST_RUNS
        )
    return drafts_made


def _matrix_combinations(top: Mapping[str, Entry]) -> list[dict[str, Entry]]:
    return expand_matrix(top["matrix"]) if "matrix" in top else []


def _draft_from_matrix(
    matrix: Entry, combination: dict[str, Entry], below: dict[str, Any], parameters_of_all: dict[str, Entry]
) -> Draft:
    words = {name: entry for name, entry in combination.items() if name in OF_RUN}
    free = {name: entry for name, entry in combination.items() if name not in OF_RUN}
    inner = {**words, "parameters": Entry(matrix.file, matrix.place, matrix.line, free)}
    return Draft(
        matrix, _merge_fields(below, read_fields(words)), {**parameters_of_all, **read_parameters(inner)}, combination
    )


def _draft_from_list(entry: Entry, below: dict[str, Any], parameters_of_all: dict[str, Entry]) -> Draft:
    words = entry.read_mapping(("name", *OF_RUN))
    own_parameters = read_parameters(words)
    name = read_name(words["name"]) if "name" in words else ""
    naming_words = {name: entry_of_word for name, entry_of_word in words.items() if name in (*SHORT, "stages")}
    return Draft(
        entry,
        _merge_fields(below, read_fields(words)),
        {**parameters_of_all, **own_parameters},
        {**naming_words, **own_parameters},
        name,
    )


def _merge_fields(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merge what a run says of itself over what is said of all; tags stand side by side."""
    tags = (*below.get("tags", ()), *above.get("tags", ()))
    return {**below, **above, "tags": tuple(dict.fromkeys(tags))}


def make_items(run_drafts: Iterable[Draft], folder: Path, lang: str) -> tuple[list[Item], dict[str, dict[str, Entry]]]:
    """Make the Items, and by name the parameters that each was given. Raises WorkbookError for a name twice (also where
    only case, or how an accent is written, differs), and for a path that is not there."""
    items_made: list[Item] = []
    parameters_by_run: dict[str, dict[str, Entry]] = {}
    names_seen: dict[str, str] = {}
    run_drafts = list(run_drafts)
    alike = find_scripts_alike(draft.given for draft in run_drafts)
    whole = _Paths(folder)
    for draft in run_drafts:
        name = draft.name or name_from_parameters(draft.own, alike)
        before = names_seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if name in parameters_by_run or before != name:
            raise draft.entry.make_error("plan.same_name", name=name, other=before)
        parameters_by_run[name] = draft.given
        texts = {key: whole.read_parameter(key, entry) for key, entry in draft.given.items()}
        items_made.append(Item(name=name, parameters=texts, **{"stages": STAGES, "lang": lang, **draft.fields}))
    return items_made, parameters_by_run


class _Paths:
    """Makes paths whole: each is looked for beside the plan, then in the project; once, however often it is named."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[str, str] = {}

    def read_parameter(self, name: str, entry: Entry) -> str:
        """Return the parameter's value as a text, a path made whole."""
        if name.rpartition(".")[2] not in INPUTS or entry.value == "":
            return format_value(entry.value)
        path = entry.read_text()
        if path not in self.known:
            self.known[path] = self._find_path(entry, path, Path.is_file if name.endswith("script") else Path.exists)
        return self.known[path]

    def _find_path(self, entry: Entry, path: str, is_there: Callable[[Path], bool]) -> str:
        places = [self.folder / path, NOTEBOOKS.parent / path]
        for place in places:
            if is_there(place):
                return str(place.resolve())
        raise entry.make_error("plan.no_path", given=shorten_text(path), looked=[str(place.parent) for place in places])
