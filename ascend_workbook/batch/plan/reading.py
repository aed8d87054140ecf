"""plan.yaml: strict, for a word that is not known would silently change what runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from ascend_workbook.batch.plan.document import (
    Entry,
    load_document,
    nearest_or_all,
    read_day,
    read_mib,
    read_share,
    shorten_text,
)
from ascend_workbook.batch.plan.model import Expected, Item, LeftOut, MetricTarget, Plan, Targets
from ascend_workbook.batch.plan.runs import is_plain_name, make_drafts, make_items, read_name
from ascend_workbook.batch.stages import STAGES

# ruff: noqa: SIM905 - a column of names reads better without quotes

TOP = """
name lang workers cards disk stages parameters defaults require matrix runs tags skip expect targets
""".split()
MOST_WORKERS, HIGHEST_CARD = 256, 1023


def read_plan(path: Path, lang: str) -> Plan:
    """Read the plan in a file: its runs with whole paths, less those of its `skip:`.

    Raises WorkbookError that names the file, the place and the line of what is wrong.
    """
    root = load_document(path)
    top = root.read_mapping(TOP)
    items, parameters = make_items(make_drafts(top), path.resolve().parent, lang)
    if not items:
        raise root.make_error("plan.empty")
    items = add_tags(top["tags"], items) if "tags" in top else items
    left_out = find_skipped(top["skip"], items) if "skip" in top else []
    names = {left.name for left in left_out}
    return Plan(
        _plan_name(top, root, path),
        tuple(item for item in items if item.name not in names),
        top["workers"].read_number(1, MOST_WORKERS) if "workers" in top else 1,
        _read_cards(top["cards"]) if "cards" in top else (),
        tuple(left_out),
        tuple(_read_expectation(expectation, items) for expectation in top["expect"].read_items())
        if "expect" in top
        else (),
        read_targets(top["targets"]) if "targets" in top else Targets(),
        read_mib(top["disk"]) if "disk" in top else 0,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        given=parameters,
    )


def _plan_name(top: Mapping[str, Entry], root: Entry, path: Path) -> str:
    if "name" in top:
        return read_name(top["name"])
    if not is_plain_name(path.stem):
        raise Entry(root.file, "name", root.line, path.stem).wrong_kind_error("name")
    return path.stem


def _read_cards(entry: Entry) -> tuple[int, ...]:
    card_ids = [card.read_number(0, HIGHEST_CARD) for card in entry.read_items()]
    for number, card in enumerate(entry.read_items()):
        if card_ids[number] in card_ids[:number]:
            raise card.make_error("plan.again", name=card_ids[number])
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
    stage = words["stage"].read_choice(STAGES) if "stage" in words else ""
    state = words["state"].read_choice(EXPECTABLE) if "state" in words else ""
    says = words["says"].read_text() if "says" in words else ""
    if says and not says.strip("*? "):
        raise words["says"].make_error("plan.expects_anything")
    names = _matching_names(words["run"], items)
    if stage and not any(stage in item.stages for item in items if item.name in names):
        raise words["stage"].make_error("plan.matches_nothing", pattern=stage, close=list(STAGES))
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
    return Targets(tuple(map(_read_metric, metrics)), at_least)


def _read_metric(entry: Entry) -> MetricTarget:
    words = _read_words(entry, ("name", "within"))
    return MetricTarget(words["name"].read_text(), *read_share(words["within"]))


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
            close = nearest_or_all(pattern.read_text(), [item.name for item in items[:200]])
            raise pattern.make_error(
                "plan.matches_nothing",
                pattern=shorten_text(pattern.read_text()),
                close=[str(name) for name in close[:5]] if isinstance(close, list) else [],
            )
        matching_names |= names
    return matching_names
