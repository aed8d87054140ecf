"""The runs of a plan's matrix and list: their words, combinations, parameters, whole paths and names."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

from ascend_workbook.batch.plan.document import Entry, format_value, read_mib, read_seconds, shorten_text
from ascend_workbook.batch.plan.model import Item
from ascend_workbook.batch.stages import ALL_STAGES, NOTEBOOKS, STAGES
from ascend_workbook.findings.report import TIERS
from ascend_workbook.findings.sentence import LANGUAGES

# ruff: noqa: SIM905 - a column of names reads better without quotes

MOST_RETRIES, MOST_CARDS = 10, 1024


def _read_stages(entry: Entry) -> tuple[str, ...]:
    names = entry.read_texts(ALL_STAGES)
    return tuple(stage for stage in ALL_STAGES if stage in names)


#: word of the plan -> (field of the Item, how it is read)
READERS: dict[str, tuple[str, Callable[[Entry], object]]] = {
    "stages": ("stages", _read_stages),
    "lang": ("lang", lambda entry: entry.read_choice(LANGUAGES)),
    "timeout": ("timeout_s", read_seconds),
    "run_timeout": ("run_timeout_s", read_seconds),
    "retries": ("retries", lambda entry: entry.read_number(0, MOST_RETRIES)),
    "require": ("require", lambda entry: entry.read_choice(TIERS)),
    "memory": ("memory_mb", read_mib),
    "cards": ("cards", lambda entry: entry.read_number(0, MOST_CARDS)),
    "tags": ("tags", lambda entry: entry.read_texts()),
}
#: Parameters that nearly every run has: they need no `parameters:` around them.
SHORT = ("script", "device")
OF_RUN = (*SHORT, *READERS, "parameters")
DEVICES = ("auto", *TIERS)


def read_fields(entries: Mapping[str, Entry]) -> dict[str, object]:
    """Read the Item's fields from the entries of a run."""
    return {READERS[name][0]: READERS[name][1](entry) for name, entry in entries.items() if name in READERS}


def read_parameters(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Read the parameters from the entries of a run, each one plain value."""
    parameters_found = {name: entries[name] for name in SHORT if name in entries}
    for name, entry in entries["parameters"].read_mapping().items() if "parameters" in entries else ():
        if name in parameters_found:
            raise entry.make_error("plan.twice", name=name, before=parameters_found[name].line)
        parameters_found[name] = entry
    for name, entry in parameters_found.items():
        if entry.value is None or isinstance(entry.value, (list, dict)):
            raise entry.wrong_kind_error("plain")
        if name.rpartition(".")[2] == "device":
            entry.read_choice(DEVICES)
    return parameters_found


PLAIN = re.compile(r"[^\w.=+-]+")
NAME = re.compile(r"[^\s./\\<>:\"|?*\x00-\x1f\x7f-][^/\\<>:\"|?*\x00-\x1f\x7f]*")
#: Folders may not be called so on Windows, where a run may be copied to.
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)
#: Files of the plan's own folder.
OURS = """
index.html report.json summary.json junit.xml status.json history acceptance.json transfer.json
shard.json
""".split()
#: Folders of a plan's shards.
SHARDS = re.compile(r"shard-\d+-of-\d+", re.I)
LONGEST_BYTES = 180


def read_name(entry: Entry) -> str:
    """Read the text as the name of a run. Raises WorkbookError for what is no plain folder name."""
    name = entry.read_text()
    if not is_plain_name(name):
        raise entry.wrong_kind_error("name")
    return name


def is_plain_name(name: str) -> bool:
    """Return whether a name is one folder, here and on Windows, and none of our own files."""
    encodable = name.isprintable() and len(name.encode("utf-8", "replace")) <= LONGEST_BYTES
    free = not (RESERVED.fullmatch(name) or SHARDS.fullmatch(name)) and name.lower() not in OURS
    return bool(NAME.fullmatch(name)) and encodable and free and name[-1] not in " ."


def name_from_parameters(parameters: Mapping[str, Entry], alike: Iterable[str] = ()) -> str:
    """Make a run's name, such as `train-cpu-steps=3`. Scripts `alike` in their file's name have their folders too."""
    words = (PLAIN.sub("_", _word_for_parameter(name, entry.value, alike)) for name, entry in parameters.items())
    name = "-".join(filter(None, words)).lstrip(".-_") or "run"
    if len(name.encode()) > LONGEST_BYTES:
        name = f"{name[:50]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name if is_plain_name(name) else f"run-{name}".rstrip(".")


def _word_for_parameter(name: str, value: object, alike: Iterable[str]) -> str:
    if name == "script":
        path = PurePosixPath(str(value))
        return str(path.parent / path.stem) if path.stem in alike else path.stem
    if isinstance(value, list):
        return "+".join(str(entry.value) for entry in value)
    return str(value) if name in ("device", "stages") else f"{name}={format_value(value)}"


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
    expanded: list[Combination] = [dict(zip(axes, chosen)) for chosen in product(*axes.values())] if axes else []
    for excluded in exclude:
        for name, value in excluded.read_mapping(axes).items():
            if comparison_key(value) not in map(comparison_key, axes[name]):
                known = [item.display_value for item in axes[name]]
                raise value.make_error("plan.not_on_axis", name=name, value=value.display_value, known=known)
        expanded = [chosen for chosen in expanded if not _combination_agrees(chosen, excluded.read_mapping())]
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
    seen_values: set[object] = set()
    for value in entry.read_items():
        if isinstance(value.value, dict) or (isinstance(value.value, list) and name != "stages"):
            raise value.wrong_kind_error("plain")
        if comparison_key(value) in seen_values:
            raise value.make_error("plan.again", name=value.display_value)
        seen_values.add(comparison_key(value))
    return entry.read_items()


def comparison_key(entry: Entry) -> object:
    """Return a key that is equal for two entries of the same value: true is not 1, and 1 is not 1.0."""
    if isinstance(entry.value, list):
        return tuple(comparison_key(item) for item in entry.value)
    return (type(entry.value).__name__, repr(entry.value))


def _combination_agrees(combination: Combination, conditions: Mapping[str, Entry]) -> bool:
    shared = conditions.keys() & combination.keys()
    return all(comparison_key(combination[name]) == comparison_key(conditions[name]) for name in shared)


def _add_included(
    expanded: list[Combination], include: Mapping[str, Entry], axes: Mapping[str, object]
) -> list[Combination]:
    """Add an `include` to the combinations that agree with its axes; where none does it is one of its own."""
    more = {name: value for name, value in include.items() if name not in axes}
    conditions = {name: value for name, value in include.items() if name in axes}
    agreeing = [bool(more) and _combination_agrees(combination, conditions) for combination in expanded]
    if not any(agreeing):
        return [*expanded, dict(include)]
    return [{**combination, **more} if agrees else combination for combination, agrees in zip(expanded, agreeing)]


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
    combinations = expand_matrix(top["matrix"]) if "matrix" in top else []
    drafts_made = [_draft_from_matrix(top["matrix"], run, below, parameters_of_all) for run in combinations]
    listed = top["runs"].read_items() if "runs" in top else ()
    drafts_made += [_draft_from_list(run, below, parameters_of_all) for run in listed]
    count = len(drafts_made)
    if count > MOST_RUNS:
        raise top["runs"].make_error("plan.too_many", count=count, sizes=str(count), most=MOST_RUNS)
    return drafts_made


def _draft_from_matrix(
    matrix: Entry, combination: dict[str, Entry], below: dict[str, Any], parameters_of_all: dict[str, Entry]
) -> Draft:
    words = {name: entry for name, entry in combination.items() if name in OF_RUN}
    free = {name: entry for name, entry in combination.items() if name not in OF_RUN}
    inner = {**words, "parameters": Entry(matrix.file, matrix.place, matrix.line, free)}
    parameters = {**parameters_of_all, **read_parameters(inner)}
    return Draft(matrix, _merge_fields(below, read_fields(words)), parameters, combination)


def _draft_from_list(entry: Entry, below: dict[str, Any], parameters_of_all: dict[str, Entry]) -> Draft:
    words = entry.read_mapping(("name", *OF_RUN))
    own_parameters = read_parameters(words)
    name = read_name(words["name"]) if "name" in words else ""
    naming_words = {name: entry_of_word for name, entry_of_word in words.items() if name in (*SHORT, "stages")}
    parameters, own = {**parameters_of_all, **own_parameters}, {**naming_words, **own_parameters}
    return Draft(entry, _merge_fields(below, read_fields(words)), parameters, own, name)


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
    scripts = {str(draft.given["script"].value) for draft in run_drafts if "script" in draft.given}
    stems = [PurePosixPath(script).stem for script in scripts]
    alike = {stem for stem in stems if stems.count(stem) > 1}
    find_path = cache(partial(_find_path, folder))
    for draft in run_drafts:
        name = draft.name or name_from_parameters(draft.own, alike)
        before = names_seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if name in parameters_by_run or before != name:
            raise draft.entry.make_error("plan.same_name", name=name, other=before)
        parameters_by_run[name] = draft.given
        texts = {key: format_value(entry.value) for key, entry in draft.given.items()}
        for key, entry in draft.given.items():
            if key.rpartition(".")[2] in INPUTS and entry.value != "":
                path = find_path(entry.read_text(), key.endswith("script"))
                if not path:
                    looked = [str(place.parent) for place in _places(folder, entry.read_text())]
                    raise entry.make_error("plan.no_path", given=shorten_text(entry.read_text()), looked=[*looked])
                texts[key] = path
        items_made.append(Item(name=name, parameters=texts, **{"stages": STAGES, "lang": lang, **draft.fields}))
    return items_made, parameters_by_run


def _places(folder: Path, path: str) -> tuple[Path, Path]:
    """Return where a path is looked for: beside the plan, then in the project."""
    return folder / path, NOTEBOOKS.parent / path


def _find_path(folder: Path, path: str, is_file: bool) -> str:
    """Make a path whole; empty where nothing is there."""
    is_there = Path.is_file if is_file else Path.exists
    return next((str(place.resolve()) for place in _places(folder, path) if is_there(place)), "")
