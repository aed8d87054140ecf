"""plan.yaml: strict, for a word that is not known would silently change what runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.batch.plan.document import (
    Entry,
    load_document,
    nearest_or_all,
    nearest_words,
    read_day,
    read_mib,
    read_share,
    shorten_text,
)
from ascend_workbook.batch.plan.model import Expected, Item, LeftOut, MetricTarget, Plan, Targets
from ascend_workbook.batch.plan.runs import is_plain_name, make_drafts, make_items, read_name
from ascend_workbook.batch.stages import ALL_STAGES, OURS, declared_parameters, find_notebooks, list_stages
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence

# ruff: noqa: SIM905 - a column of names reads better without quotes

TOP = """
name lang workers cards disk stages parameters defaults require matrix runs tags skip expect targets
""".split()
MOST_WORKERS, HIGHEST_CARD = 256, 1023


def read_plan(path: Path, lang: str) -> Plan:
    """Read the plan in a file: its runs with whole paths, less those of its `skip:`. Raises WorkbookError that names
    the file, the place and the line of what is wrong."""
    root = load_document(path)
    top = root.read_mapping(TOP)
    items, parameters = make_items(make_drafts(top), path.resolve().parent, lang)
    if not items:
        raise root.make_error("plan.empty")
    items = add_tags(top["tags"], items) if "tags" in top else items
    left_out = find_skipped(top["skip"], items) if "skip" in top else []
    names = {left.name for left in left_out}
    name = read_name(top["name"]) if "name" in top else path.stem
    if not is_plain_name(name):
        raise Entry(root.file, "name", root.line, name).wrong_kind_error("name")
    expect = top["expect"].read_items() if "expect" in top else ()
    return Plan(
        name,
        tuple(item for item in items if item.name not in names),
        top["workers"].read_number(1, MOST_WORKERS) if "workers" in top else 1,
        _read_cards(top["cards"]) if "cards" in top else (),
        tuple(left_out),
        tuple(_read_expectation(expectation, items) for expectation in expect),
        read_targets(top["targets"]) if "targets" in top else Targets(),
        read_mib(top["disk"]) if "disk" in top else 0,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        given=parameters,
    )


def _read_cards(entry: Entry) -> tuple[int, ...]:
    card_ids: list[int] = []
    for card in entry.read_items():
        card_ids.append(card.read_number(0, HIGHEST_CARD))
        if card_ids[-1] in card_ids[:-1]:
            raise card.make_error("plan.again", name=card_ids[-1])
    return tuple(card_ids)


#: What binds an expected failure to the one that is known, and the states that may be: a notebook's red verdict, a cell
#: that raised, a process that died, no time, no memory, another result than the reference.
BINDING = ("stage", "state", "says")
EXPECTABLE = ("red", "cell_failed", "died", "timed_out", "out_of_memory", "differs")


def add_tags(entry: Entry, items: list[Item]) -> list[Item]:
    """Add the tags of `tags: {slow: ["*steps=100*"]}` to the runs that match."""
    by_tag = {tag: _matching_names(patterns, items) for tag, patterns in entry.read_mapping().items()}
    more = ((item, [tag for tag, names in by_tag.items() if item.name in names]) for item in items)
    return [replace(item, tags=tuple(dict.fromkeys([*item.tags, *tags]))) if tags else item for item, tags in more]


def find_skipped(entry: Entry, items: list[Item]) -> list[LeftOut]:
    """Return the runs that `skip: [{run: "*b*", reason: why}]` leaves out, with the first reason that holds."""
    reasons: dict[str, str] = {}
    for rule in entry.read_items():
        words = _read_words(rule, ("run", "reason"))
        for name in sorted(_matching_names(words["run"], items)):
            reasons.setdefault(name, words["reason"].read_text())
    return [LeftOut(item.name, reasons[item.name]) for item in items if item.name in reasons]


def _read_expectation(entry: Entry, items: list[Item]) -> Expected:
    """Read one expected failure. Raises WorkbookError for one that any failure would meet: it would hide the next."""
    words = _read_words(entry, ("run", "until", "reason"), BINDING)
    if not words.keys() & set(BINDING):
        raise entry.make_error("plan.expects_anything")
    stage = words["stage"].read_choice(ALL_STAGES) if "stage" in words else ""
    state = words["state"].read_choice(EXPECTABLE) if "state" in words else ""
    says = words["says"].read_text() if "says" in words else ""
    if says and not says.strip("*? "):
        raise words["says"].make_error("plan.expects_anything")
    names = _matching_names(words["run"], items)
    if stage and not any(stage in item.stages for item in items if item.name in names):
        raise words["stage"].make_error("plan.matches_nothing", pattern=stage, close=list(ALL_STAGES))
    return Expected(words["run"].read_text(), read_day(words["until"]), words["reason"].read_text(), stage, state, says)


def read_targets(entry: Entry) -> Targets:
    """Read the targets: `targets: {metric: {name: loss, within: 1%}, throughput: {at_least: 80%}}`."""
    words = entry.read_mapping(("metric", "throughput"))
    metric = words.get("metric")
    metrics = (metric.read_items() if isinstance(metric.value, list) else [metric]) if metric else []
    at_least = None
    if "throughput" in words:
        throughput_entry = _read_words(words["throughput"], ("at_least",))["at_least"]
        at_least = read_share(throughput_entry)[0]
        if not at_least:
            raise throughput_entry.wrong_kind_error("share")
    targets = [_read_words(metric_entry, ("name", "within")) for metric_entry in metrics]
    return Targets(
        tuple(MetricTarget(target["name"].read_text(), *read_share(target["within"])) for target in targets), at_least
    )


def _read_words(entry: Entry, needed: tuple[str, ...], more: tuple[str, ...] = ()) -> Mapping[str, Entry]:
    words = entry.read_mapping((*needed, *more))
    for name in needed:
        if name not in words:
            raise entry.make_error("plan.missing", name=name, known=list(needed))
    return words


def _matching_names(entry: Entry, items: list[Item]) -> set[str]:
    """Return the names that a pattern matches. One that matches none is refused: it would do nothing, silently."""
    matching_names: set[str] = set()
    for pattern in entry.read_items() if isinstance(entry.value, list) else [entry]:
        names = {item.name for item in items if fnmatchcase(item.name, pattern.read_text())}
        if not names:
            close = nearest_or_all(pattern.read_text(), [item.name for item in items[:200]])[:5]
            shown = shorten_text(pattern.read_text())
            raise pattern.make_error("plan.matches_nothing", pattern=shown, close=list(close))
        matching_names |= names
    return matching_names


#: Declared type -> what a plan may give for it; true is no number.
TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}
#: What stands under these is for all runs: each run takes what its notebooks declare.
SHARED = ("parameters.", "defaults.")
Known = Mapping[str, Mapping[str, str]]


def check(plan: Plan, notebooks: Path) -> Plan:
    """Check every run of the plan, and return the plan with the parameters that each run's notebooks declare. Raises
    WorkbookError that names the line and the run for a parameter that none declares, and a value of the wrong type."""
    read_once = cache(declared_parameters)

    @cache
    def declare(stages: tuple[str, ...], lang: str) -> Known:
        return {stage: read_once(path) for stage, path in find_notebooks(stages, notebooks / lang).items()}

    used_entries: set[int] = set()
    items = tuple(_check_item(item, plan.given[item.name], declare, used_entries) for item in plan.items)
    for item in plan.items:
        known = declare(list_stages(notebooks / item.lang), item.lang)
        for name, entry in plan.given[item.name].items():
            if id(entry) not in used_entries and not _find_kinds(name, known):
                raise _unknown_parameter(entry, name, known, item)
    return replace(plan, items=items)


#: Of stages in a language: stage -> parameter -> declared type. Raises WorkbookError for one without a notebook.
Declare = Callable[["tuple[str, ...]", str], Known]


def _check_item(item: Item, entries: Mapping[str, Entry], declare: Declare, used_entries: set[int]) -> Item:
    try:
        declarations = declare(item.stages, item.lang)
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
    taken = [
        (stage, parameter) for stage, kinds in declarations.items() for parameter in kinds if parameter not in OURS
    ]
    names = sorted({f"{stage}.{parameter}" if "." in name else parameter for stage, parameter in taken})
    close = nearest_words(name, names)
    stages: list[Scalar] = [Sentence(f"name.{stage}") for stage in item.stages]
    if close:
        return entry.make_error("plan.parameter", name=shorten_text(name), close=close, run=item.name, stages=stages)
    return entry.make_error("plan.no_parameter", name=shorten_text(name), known=names, run=item.name, stages=stages)
