"""The runs of a plan's matrix and list: their fields, parameters, whole paths and names."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.batch.plan.entry import Entry, short, written
from helpers.batch.plan.fields import OF_RUN, SHORT, fields, parameters
from helpers.batch.plan.matrix import MOST_RUNS, combinations
from helpers.batch.plan.model import Item
from helpers.batch.plan.naming import checked, of_parameters, scripts_alike
from helpers.batch.workbook import NOTEBOOKS, STAGES

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


def drafts(top: Mapping[str, Entry]) -> list[Draft]:
    """All runs; what `defaults` and the plan say of all of them is below what a run says of itself."""
    defaults = dict(top["defaults"].mapping(OF_RUN)) if "defaults" in top else {}
    shared = {name: top[name] for name in ("stages", "lang", "require", "parameters") if name in top}
    for name in shared.keys() & defaults.keys():
        raise defaults[name].fail("plan.twice", name=name, before=shared[name].line)
    base = {**shared, **defaults}
    below, told = fields(base), parameters(base)
    found = [_of_matrix(top["matrix"], one, below, told) for one in _combinations(top)]
    found += [_of_list(one, below, told) for one in (top["runs"].items() if "runs" in top else ())]
    if len(found) > MOST_RUNS:
        raise top["runs"].fail("plan.too_many", count=len(found), sizes=str(len(found)), most=MOST_RUNS)
    return found


def _combinations(top: Mapping[str, Entry]) -> list[dict[str, Entry]]:
    return combinations(top["matrix"]) if "matrix" in top else []


def _of_matrix(matrix: Entry, one: dict[str, Entry], below: dict[str, Any], told: dict[str, Entry]) -> Draft:
    words = {name: entry for name, entry in one.items() if name in OF_RUN}
    free = {name: entry for name, entry in one.items() if name not in OF_RUN}
    inner = {**words, "parameters": Entry(matrix.file, matrix.place, matrix.line, free)}
    return Draft(matrix, _over(below, fields(words)), {**told, **parameters(inner)}, one)


def _of_list(entry: Entry, below: dict[str, Any], told: dict[str, Entry]) -> Draft:
    words = entry.mapping(("name", *OF_RUN))
    own = parameters(words)
    name = checked(words["name"]) if "name" in words else ""
    given = {name: one for name, one in words.items() if name in (*SHORT, "stages")}
    return Draft(entry, _over(below, fields(words)), {**told, **own}, {**given, **own}, name)


def _over(below: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """What a run says of itself stands over what is said of all; its tags stand beside theirs."""
    tags = (*below.get("tags", ()), *own.get("tags", ()))
    return {**below, **own, "tags": tuple(dict.fromkeys(tags))}


def items(found: Iterable[Draft], folder: Path, lang: str) -> tuple[list[Item], dict[str, dict[str, Entry]]]:
    """The Items, and by name what each was given. Raises WorkbookError for a name twice (also where only case, or how
    an accent is written, differs), and for a path that is not there."""
    made: list[Item] = []
    given: dict[str, dict[str, Entry]] = {}
    seen: dict[str, str] = {}
    found = list(found)
    alike = scripts_alike(one.given for one in found)
    whole = _Paths(folder)
    for one in found:
        name = one.name or of_parameters(one.own, alike)
        before = seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if name in given or before != name:
            raise one.entry.fail("plan.same_name", name=name, other=before)
        given[name] = one.given
        texts = {key: whole.text(key, entry) for key, entry in one.given.items()}
        made.append(Item(name=name, parameters=texts, **{"stages": STAGES, "lang": lang, **one.fields}))
    return made, given


class _Paths:
    """Makes paths whole: each is looked for beside the plan, then in the project; once, however often it is named."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[str, str] = {}

    def text(self, name: str, entry: Entry) -> str:
        """The parameter's value as a text."""
        if name.rpartition(".")[2] not in INPUTS or entry.value == "":
            return written(entry.value)
        path = entry.text()
        if path not in self.known:
            self.known[path] = self._found(entry, path, Path.is_file if name.endswith("script") else Path.exists)
        return self.known[path]

    def _found(self, entry: Entry, path: str, is_there: Callable[[Path], bool]) -> str:
        places = [self.folder / path, NOTEBOOKS.parent / path]
        for place in places:
            if is_there(place):
                return str(place.resolve())
        raise entry.fail("plan.no_path", given=short(path), looked=[str(place.parent) for place in places])
