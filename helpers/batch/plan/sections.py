"""The parts of a plan that speak of runs by their names, and its targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from helpers.batch.plan.entry import Entry, nearest, short
from helpers.batch.plan.model import Expected, Item, LeftOut, MetricTarget, Targets
from helpers.batch.plan.units import day, share
from helpers.batch.workbook import STAGES

#: What binds an expected failure to the one that is known, and the states that may be: a notebook's red verdict, a cell
#: that raised, a process that died, no time, no memory, another result than the reference.
BINDING = ("stage", "state", "says")
EXPECTABLE = ("red", "cell_failed", "died", "timed_out", "out_of_memory", "differs")

def tagged(entry: Entry, items: list[Item]) -> list[Item]:
    """`tags: {slow: ["*steps=100*"]}`: the tags of the runs that match."""
    by_tag = {tag: _matching(patterns, items) for tag, patterns in entry.mapping().items()}
    more = ((item, [tag for tag, names in by_tag.items() if item.name in names]) for item in items)
    return [replace(item, tags=tuple(dict.fromkeys([*item.tags, *tags]))) if tags else item for item, tags in more]


def skipped(entry: Entry, items: list[Item]) -> list[LeftOut]:
    """`skip: [{run: "*b*", reason: why}]`: the runs left out, with the first reason that holds."""
    found: dict[str, str] = {}
    for one in entry.items():
        words = _all_of(one, ("run", "reason"))
        for name in sorted(_matching(words["run"], items)):
            found.setdefault(name, words["reason"].text())
    return [LeftOut(item.name, found[item.name]) for item in items if item.name in found]


def expected(entry: Entry, items: list[Item]) -> tuple[Expected, ...]:
    """`expect: [{run: "*b*", stage: precision, until: 2026-12-31, reason: why}]`; `state` and `says` bind it too."""
    return tuple(_expected(one, items) for one in entry.items())


def _expected(entry: Entry, items: list[Item]) -> Expected:
    """Raises WorkbookError for one that any failure would meet: it would hide the next one that nobody knows yet."""
    words = _all_of(entry, ("run", "until", "reason"), BINDING)
    if not words.keys() & set(BINDING):
        raise entry.fail("plan.expects_anything")
    stage = words["stage"].choice(STAGES) if "stage" in words else ""
    state = words["state"].choice(EXPECTABLE) if "state" in words else ""
    says = words["says"].text() if "says" in words else ""
    if says and not says.strip("*? "):
        raise words["says"].fail("plan.expects_anything")
    names = _matching(words["run"], items)
    if stage and not any(stage in item.stages for item in items if item.name in names):
        raise words["stage"].fail("plan.matches_nothing", pattern=stage, close=list(STAGES))
    return Expected(words["run"].text(), day(words["until"]), words["reason"].text(), stage, state, says)


def targets(entry: Entry) -> Targets:
    """`targets: {metric: {name: loss, within: 1%}, throughput: {at_least: 80%}}`; metric may be a list of them."""
    words = entry.mapping(("metric", "throughput"))
    metric = words.get("metric")
    metrics = (metric.items() if isinstance(metric.value, list) else [metric]) if metric else []
    at_least = None
    if "throughput" in words:
        wanted = _all_of(words["throughput"], ("at_least",))["at_least"]
        at_least = share(wanted)[0]
        if not at_least:
            raise wanted.wrong("share")
    return Targets(tuple(map(_metric, metrics)), at_least)


def _metric(entry: Entry) -> MetricTarget:
    words = _all_of(entry, ("name", "within"))
    return MetricTarget(words["name"].text(), *share(words["within"]))


def _all_of(entry: Entry, needed: tuple[str, ...], more: tuple[str, ...] = ()) -> Mapping[str, Entry]:
    words = entry.mapping((*needed, *more))
    for name in needed:
        if name not in words:
            raise entry.fail("plan.missing", name=name, known=list(needed))
    return words


def _matching(entry: Entry, items: list[Item]) -> set[str]:
    """Names that one of the patterns matches. A pattern that matches none is refused: it would do nothing, silently."""
    found: set[str] = set()
    for one in entry.items() if isinstance(entry.value, list) else [entry]:
        names = set(_names(one.text(), items))
        if not names:
            close = nearest(one.text(), [item.name for item in items[:200]])
            raise one.fail("plan.matches_nothing", pattern=short(one.text()), close=_few(close))
        found |= names
    return found


def _names(pattern: str, items: list[Item]) -> Iterator[str]:
    return (item.name for item in items if fnmatchcase(item.name, pattern))


def _few(names: object) -> list[str]:
    return [str(name) for name in names[:5]] if isinstance(names, list) else []
