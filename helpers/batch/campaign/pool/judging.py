"""What became of a run, from the end of its process and from what its stages left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from helpers import report as reports
from helpers.batch import execute
from helpers.batch.campaign.ended import DIED, DISK_FULL, GOOD, OUT_OF_MEMORY, RED, STOPPED, TIMED_OUT, Ended
from helpers.batch.campaign.pool import child
from helpers.batch.campaign.pool.attempt import Attempt
from helpers.batch.campaign.pool.devices import lower
from helpers.batch.execute import Outcome
from helpers.batch.plan.model import Item
from helpers.finding import Status
from helpers.report import Report
from helpers.words import Scalar

#: Errors of a cell that say that memory, the machine's or a card's, was not enough.
NO_MEMORY = re.compile(r"MemoryError|out of memory|[Cc]an(?:no|')t allocate memory|bad_alloc|EL0004|OOM", re.ASCII)
NO_SPACE = re.compile(r"No space left on device|Errno 28")


def judged(item: Item, folder: Path, one: Attempt) -> Ended:
    """The run's end by this try; the caller adds what it knows more."""
    report = _report(folder)
    outcomes = list(_outcomes(item, folder))
    ended = Ended(item.name, DIED, "FAIL", seconds=round(one.seconds, 1), peak_mb=one.peak_mb)
    if report is not None:
        headline = report.headline
        verdict: Scalar = {"say": headline.key, "args": headline.args} if headline else ""
        ended = replace(ended, verdict=verdict, tier=report.tier, simulated=report.simulated)
    if one.cause:
        return replace(ended, state=one.cause, verdict=_bound(item, one))
    if one.oom_kills and dead(item, folder, one):
        said: Scalar = {"say": "plan.oom_killed", "args": {"kills": one.oom_kills, "peak_mb": one.peak_mb}}
        return replace(ended, state=OUT_OF_MEMORY, verdict=said)
    if one.code == child.DISK_FULL or any(NO_SPACE.search(outcome.error) for outcome in outcomes):
        return replace(ended, state=DISK_FULL, verdict={"say": "plan.disk_full", "args": {"path": str(folder)}})
    if one.code < 0 or report is None:
        return replace(ended, verdict={"say": "plan.died", "args": {"code": one.code}})
    return _own(item, folder, one, report, outcomes, ended)


def _own(item: Item, folder: Path, one: Attempt, report: Report, outcomes: list[Outcome], ended: Ended) -> Ended:
    """The run came to its own end: what it says of itself."""
    if any(outcome.state == execute.FAILED and NO_MEMORY.search(outcome.error) for outcome in outcomes):
        return replace(ended, state=OUT_OF_MEMORY)
    if any(outcome.state == execute.TIMED_OUT for outcome in outcomes):
        return replace(ended, state=TIMED_OUT)
    if any(outcome.state == execute.DIED for outcome in outcomes):
        return ended
    if one.code or report.status is Status.FAIL:
        return replace(ended, state=RED)
    tier = next((tier for tier in _tiers(report, folder, item) if lower(tier, item.require)), "")
    if tier:
        said: Scalar = {"say": "plan.lower_tier", "args": {"tier": tier, "required": item.require}}
        return replace(ended, state=RED, tier=tier, verdict=said)
    return replace(ended, state=GOOD, status=report.status.name)


def dead(item: Item, folder: Path, one: Attempt) -> bool:
    """Whether a process of the run died of itself: one worth another try, which a failing cell is not."""
    if one.cause:
        return False
    unreported = _report(folder) is None and one.code != child.DISK_FULL
    return one.code < 0 or unreported or any(outcome.state == execute.DIED for outcome in _outcomes(item, folder))


def _bound(item: Item, one: Attempt) -> Scalar:
    if one.cause == OUT_OF_MEMORY:
        return {"say": "plan.beyond_memory", "args": {"peak_mb": one.peak_mb, "limit_mb": item.memory_mb}}
    if one.cause == DISK_FULL:
        return {"say": "plan.beyond_disk"}
    if one.cause == STOPPED:
        return {"say": "RUN400.stopped"}
    return {"say": "plan.out_of_time", "args": {"seconds": round(one.seconds)}}


def _tiers(report: Report, folder: Path, item: Item) -> Iterator[str]:
    """Of the run and of each stage that says its own."""
    stages = [execute.saved_report(folder / stage) for stage in item.stages]
    yield from (one.tier for one in (report, *stages) if one is not None and one.tier)


def _outcomes(item: Item, folder: Path) -> Iterator[Outcome]:
    yield from filter(None, (execute.remembered(folder / stage) for stage in item.stages))


def _report(folder: Path) -> Report | None:
    path = folder / "report.json"
    return reports.load(path) if path.is_file() else None
