"""`run --join`: the shards of a plan on one page. What a shard should have run and nobody shows is red, never green."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

from helpers.batch.campaign.ended import NOT_RUN, Ended
from helpers.batch.mirror import LOCAL, send_pages
from helpers.batch.plan.selection import shard_of
from helpers.batch.results import against as changes_of
from helpers.batch.results import clock, expected, history
from helpers.batch.results.publish import write
from helpers.batch.results.rows import Row
from helpers.batch.results.summary import Results
from helpers.batch.shards import find
from helpers.batch.shards.record import Shard, own
from helpers.batch.workbook import folder_of
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.report import Report
from helpers.storage import is_address
from helpers.words import Scalar, language

#: Where no shard goes for so long, those before are of another night.
APART = timedelta(hours=6)


def join(
    places: Sequence[str | os.PathLike[str]], *, root: str | os.PathLike[str] = "runs", lang: str | None = None,
    against: str = "", today: date | None = None,
) -> Report:
    """Writes the page, summary.json and junit.xml of all shards of a plan; FAIL where a run is red, or a shard is not
    there, has not ended or is of an earlier time.

    `places` are the folders or addresses (obs://) of shards, or one that holds them: then the page goes there, else
    into `root`/the plan's name. `against` is `last` or the place of an earlier summary.json; `today` the day in UTC.
    Raises WorkbookError where there is no shard, and for shards of different plans or divisions.
    """
    lang = language(lang)
    shards = find.shards(list(map(str, places)))
    _check_alike(shards)
    first = shards[0]
    target = find.target(list(map(str, places)), shards, str(root))
    folder = folder_of(first.plan, LOCAL) if is_address(target) else Path(target)
    before = history.find(against, folder, first.plan) if against else None
    known, remarks_on_clock = clock.day(folder, datetime.now(timezone.utc))
    rows, remarks = expected.apply(_rows(shards, target), first.expect, today or known)
    changes = None
    if before is not None:
        rows, changes = changes_of.compare(rows, before)
    results = Results(first.plan, tuple(rows), True, tuple(remarks), changes, against, shards=tuple(_said(shards)),
                      clock=remarks_on_clock)  # fmt: skip
    report = write(results, folder, lang)
    return send_pages(report, folder, target) if is_address(target) else report


def _check_alike(shards: Sequence[Shard]) -> None:
    """Raises WorkbookError for shards that are no parts of one whole."""
    first = shards[0]
    for other in shards[1:]:
        places: dict[str, Scalar] = {"first": first.place, "other": other.place}
        if (other.plan, other.digest, other.order) != (first.plan, first.digest, first.order):
            raise WorkbookError("plan.join_other_plan", **places)
        if other.count != first.count:
            raise WorkbookError("plan.join_other_count", counts=[first.count, other.count], **places)
    seen: dict[str, Shard] = {}
    for shard in shards:
        for row in own(shard):
            if row.name in seen:
                raise WorkbookError("plan.join_twice", run=row.name, first=seen[row.name].place, other=shard.place)
            seen[row.name] = shard


def _rows(shards: Sequence[Shard], target: str) -> Iterator[Row]:
    """The plan's runs in its order: each from the shard that has it, else as not run, or as left out of all."""
    first, there = shards[0], {shard.part for shard in shards}
    found = {row.name: _placed(row, shard, target) for shard in shards for row in own(shard)}
    left = {row.name: _placed(row, first, target) for row in first.rows}
    for number, name in enumerate(first.order, 1):
        row = found.get(name) or _not_seen(left[name], first, there)
        yield replace(row, number=number)


def _not_seen(row: Row, first: Shard, there: set[int]) -> Row:
    """A run that no shard has: left out of all, or its shard is not there."""
    why = row.ended.verdict
    if not isinstance(why, dict) or why.get("say") != "plan.left.shard":
        return row
    part = shard_of(row.name, first.count)
    key = "plan.shard_lacks" if part in there else "plan.shard_missing"
    said: Scalar = {"say": key, "args": {"part": part, "count": first.count}}
    return replace(row, ended=Ended(row.name, NOT_RUN, "SKIPPED", said, attempts=0), place="", files=frozenset())


def _placed(row: Row, shard: Shard, target: str) -> Row:
    """With the way to it from the joined page, where there is one."""
    way = find.way(target, shard.place)
    return replace(row, place=f"{way}/{row.name}") if way else replace(row, place="", files=frozenset())


def _said(shards: Sequence[Shard]) -> Iterator[Finding]:
    """Of the shards themselves."""
    first, there = shards[0], {shard.part for shard in shards}
    missing: list[Scalar] = [part for part in range(1, first.count + 1) if part not in there]
    if missing:
        args: dict[str, Scalar] = {"parts": missing[:20], "missing": len(missing), "count": first.count}
        yield Finding("RUN415", Status.FAIL, "RUN415.missing", args, weight=400)
    for shard in shards:
        if not shard.finished:
            key = "RUN415.stopped" if shard.stopped else "RUN415.unfinished"
            yield _of(shard, Status.FAIL, key, weight=380)
    for shard in _earlier(shards):
        yield _of(shard, Status.FAIL, "RUN415.earlier", weight=390)
    if len({shard.code for shard in shards}) > 1:
        yield Finding("RUN415", Status.WARN, "RUN415.versions", {"count": len(shards)}, weight=40)
    told: list[Scalar] = [shard.place for shard in shards]
    yield Finding("RUN415", Status.OK, "RUN415.joined", {"there": len(shards), "count": first.count, "places": told})


def _of(shard: Shard, status: Status, key: str, *, weight: int) -> Finding:
    when = shard.ended.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    args: dict[str, Scalar] = {"part": shard.part, "count": shard.count, "place": shard.place, "when": when,
                               "hours": APART // timedelta(hours=1)}  # fmt: skip
    return Finding("RUN415", status, key, args, weight=weight)


def _earlier(shards: Sequence[Shard]) -> list[Shard]:
    """Those after which no shard went for too long: the others began another night."""
    ordered = sorted(shards, key=lambda shard: shard.began)
    last, cut = ordered[0].ended, 0
    for number, shard in enumerate(ordered):
        if shard.began - last > APART:
            cut = number
        last = max(last, shard.ended)
    return ordered[:cut]
