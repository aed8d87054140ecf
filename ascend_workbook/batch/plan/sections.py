"""The parts of a plan that speak of runs by their names, and its targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from ascend_workbook.batch.plan.entry import Entry, nearest_or_all, shorten_text
from ascend_workbook.batch.plan.model import Expected, Item, LeftOut, MetricTarget, Targets
from ascend_workbook.batch.plan.units import read_day, read_share
from ascend_workbook.batch.stages import STAGES

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


def read_expected(entry: Entry, items: list[Item]) -> tuple[Expected, ...]:
    """Read the expected failures: `expect: [{run: "*b*", stage: precision, until: 2026-12-31, reason: why}]`."""
    return tuple(_read_expectation(expectation, items) for expectation in entry.read_items())


def _read_expectation(entry: Entry, items: list[Item]) -> Expected:
    """Read one expected failure. Raises WorkbookError for one that any failure would meet: it would hide the next one
    that nobody knows yet.
    """
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
    """Return the names that one of the patterns matches. A pattern that matches none is refused: it would do nothing,
    silently.
    """
    matching_names: set[str] = set()
    for pattern in entry.read_items() if isinstance(entry.value, list) else [entry]:
        names = set(_names_matching(pattern.read_text(), items))
        if not names:
            close = nearest_or_all(pattern.read_text(), [item.name for item in items[:200]])
            raise pattern.make_error(
                "plan.matches_nothing", pattern=shorten_text(pattern.read_text()), close=_first_few(close)
            )
        matching_names |= names
    return matching_names


def _names_matching(pattern: str, items: list[Item]) -> Iterator[str]:
    return (item.name for item in items if fnmatchcase(item.name, pattern))


def _first_few(names: object) -> list[str]:
    return [str(name) for name in names[:5]] if isinstance(names, list) else []
