"""`run --join`: the shards of a plan on one page. What a shard should have run and nobody shows is red, never green."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta, timezone
from itertools import chain
from pathlib import Path

from ascend_workbook.batch.campaign.ended import GOOD, NOT_RUN, Ended
from ascend_workbook.batch.mirror import LOCAL, send_pages
from ascend_workbook.batch.plan.selection import shard_of
from ascend_workbook.batch.results import history
from ascend_workbook.batch.results.publish import write_results
from ascend_workbook.batch.results.rows import Row
from ascend_workbook.batch.results.shard import FILE, FOLDER, Shard, load_shard, own_rows
from ascend_workbook.batch.results.summary import Results
from ascend_workbook.batch.stages import run_folder
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language
from ascend_workbook.storage import is_address, open_storage


def _shard_places(place: str) -> list[str]:
    """Return the place where it is a shard's folder, else the shards' folders in it."""
    storage = open_storage(place)
    if storage.exists(FILE):
        return [_strip_slash(place)]
    inner = [name.rstrip("/") for name in storage.list_children() if name.endswith("/")]
    inner_places = [
        f"{_strip_slash(place)}/{name}" for name in inner if FOLDER.fullmatch(name) and storage.exists(f"{name}/{FILE}")
    ]
    if not inner_places:
        raise WorkbookError("plan.join_none", place=place)
    return inner_places


def relative_way(start: str, place: str) -> str:
    """Return the relative way from a page at `start` to the shard at `place`; empty where there is none."""
    if is_address(start) or is_address(place):
        return place.removeprefix(f"{start}/") if place.startswith(f"{start}/") else ""
    return os.path.relpath(place, start).replace(os.sep, "/")


def _strip_slash(place: str) -> str:
    return place.rstrip("/") or "/"


#: Where no shard goes for so long, those before are of another night.
APART = timedelta(hours=6)


def join_shards(
    places: Sequence[str | os.PathLike[str]],
    *,
    root: str | os.PathLike[str] = "runs",
    lang: str | None = None,
    against: str = "",
    today: date | None = None,
) -> Report:
    """Join all shards of a plan: write their page, summary.json and junit.xml. The report is Fix where a run is red,
    or a shard is not there, has not ended or is of an earlier time. `places` are the folders or addresses (obs://) of
    shards, or one that holds them: then the page goes there, else into `root`/the plan's name. `against` is `last` or
    the place of an earlier summary.json; `today` the day in UTC. Raises WorkbookError where there is no shard, and for
    shards of different plans or divisions."""
    lang = choose_language(lang)
    shards = []
    for place in dict.fromkeys(chain.from_iterable(_shard_places(str(holder)) for holder in places)):
        try:
            shards.append(load_shard(open_storage(place).read_text(FILE), place))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as cause:
            why: Scalar = explain_os_error(cause) if isinstance(cause, OSError) else str(cause)
            raise WorkbookError("plan.join_unreadable", place=place, error=why) from cause
    shards.sort(key=lambda shard: shard.part)
    _check_alike(shards)
    first, target = shards[0], _strip_slash(str(places[0]))  # the one place that holds shards, else below the root
    if len(places) > 1 or target == first.place:
        target = f"{_strip_slash(str(root))}/{first.plan}"
    folder = run_folder(first.plan, LOCAL) if is_address(target) else Path(target)
    before = history.find_earlier(against, folder, first.plan) if against else None
    rows, findings = tuple(_join_rows(shards, target)), tuple(_report_shards(shards))
    results = Results(first.plan, rows, finished=True, asked=against, shards=findings)
    report = write_results(results, first.expect, folder, lang, before=before, today=today)
    return send_pages(report, folder, target) if is_address(target) else report


def _check_alike(shards: Sequence[Shard]) -> None:
    """Raises WorkbookError for shards that are no parts of one whole."""
    first = shards[0]
    for other_shard in shards[1:]:
        places: dict[str, Scalar] = {"first": first.place, "other": other_shard.place}
        if (other_shard.plan, other_shard.digest, other_shard.order) != (first.plan, first.digest, first.order):
            raise WorkbookError("plan.join_other_plan", **places)
        if other_shard.count != first.count:
            raise WorkbookError("plan.join_other_count", counts=[first.count, other_shard.count], **places)
    shards_by_run: dict[str, Shard] = {}
    for shard in shards:
        for row in own_rows(shard):
            if row.name in shards_by_run:
                before = shards_by_run[row.name].place
                raise WorkbookError("plan.join_twice", run=row.name, first=before, other=shard.place)
            shards_by_run[row.name] = shard


def _join_rows(shards: Sequence[Shard], target: str) -> Iterator[Row]:
    """Yield the plan's runs in its order: each from the shard that has it, else as not run, or as left out of all."""
    first, there = shards[0], {shard.part for shard in shards}
    rows_by_name = {row.name: _place_row(row, shard, target) for shard in shards for row in own_rows(shard)}
    left_out_rows = {row.name: _place_row(row, first, target) for row in first.rows}
    for number, name in enumerate(first.order, 1):
        row = rows_by_name.get(name) or _missing_row(left_out_rows[name], first, there)
        yield replace(row, number=number)


def _missing_row(row: Row, first: Shard, there: set[int]) -> Row:
    """Make the row of a run that no shard has. It was left out of all, or its shard is not there."""
    why = row.ended.verdict
    if not isinstance(why, dict) or why.get("say") != "plan.left.shard":
        return row
    part = shard_of(row.name, first.count)
    key = "plan.shard_lacks" if part in there else "plan.shard_missing"
    return _unseen_row(row, Sentence(key, part=part, count=first.count))


def _place_row(row: Row, shard: Shard, target: str) -> Row:
    """Return the row with the way to its page from the joined page, where there is one. A shard's word that a run was
    good is nothing without the run's report."""
    way = relative_way(target, shard.place)
    if row.state == GOOD and not _says_good(shard.place, row.name):
        return _unseen_row(row, Sentence("plan.no_report", place=f"{shard.place}/{row.name}"))
    return replace(row, place=f"{way}/{row.name}") if way else replace(row, place="", files=frozenset())


def _says_good(place: str, run: str) -> bool:
    """Return whether the run's report is there, whole, looked at something and is not red."""
    storage, name = open_storage(place), f"{run}/report.json"
    with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError, WorkbookError):
        report = Report.from_json(storage.read_text(name)) if storage.exists(name) else None
        return report is not None and bool(report.findings) and report.status is not Status.FIX
    return False


def _unseen_row(row: Row, why: Scalar) -> Row:
    return replace(
        row,
        ended=Ended(row.name, NOT_RUN, Status.NOT_LOOKED.json, why, attempts=0),
        stages=(),
        place="",
        files=frozenset(),
    )


def _report_shards(shards: Sequence[Shard]) -> Iterator[Finding]:
    """Yield the findings about the shards themselves."""
    first, there = shards[0], {shard.part for shard in shards}
    missing: list[Scalar] = [part for part in range(1, first.count + 1) if part not in there]
    if missing:
        args: dict[str, Scalar] = {"parts": missing[:20], "missing": len(missing), "count": first.count}
        yield Finding("RUN415", Status.FIX, "RUN415.missing", args, weight=400)
    for shard in shards:
        if not shard.finished:
            yield _shard_finding(shard, "RUN415.stopped" if shard.stopped else "RUN415.unfinished", 380)
    ordered = sorted(shards, key=lambda shard: shard.began)
    last, cut = ordered[0].ended, 0  # those after which no shard went for too long: the others began another night
    for number, shard in enumerate(ordered):
        cut = number if shard.began - last > APART else cut
        last = max(last, shard.ended)
    for shard in ordered[:cut]:
        yield _shard_finding(shard, "RUN415.earlier", 390)
    if len({shard.code for shard in shards}) > 1:
        yield Finding("RUN415", Status.LOOK, "RUN415.versions", {"count": len(shards)}, weight=40)
    places_told: list[Scalar] = [shard.place for shard in shards]
    args = {"there": len(shards), "count": first.count, "places": places_told}
    yield Finding("RUN415", Status.GOOD, "RUN415.joined", args)


def _shard_finding(shard: Shard, key: str, weight: int) -> Finding:
    args: dict[str, Scalar] = {"part": shard.part, "count": shard.count, "place": shard.place}
    args |= {"when": f"{shard.ended.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC", "hours": APART // timedelta(hours=1)}
    return Finding("RUN415", Status.FIX, key, args, weight=weight)
