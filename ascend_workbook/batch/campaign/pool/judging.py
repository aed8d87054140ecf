"""What became of a run, from the end of its process and from what its stages left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ascend_workbook.batch import execute
from ascend_workbook.batch.campaign.ended import DIED, DISK_FULL, GOOD, OUT_OF_MEMORY, RED, STOPPED, TIMED_OUT, Ended
from ascend_workbook.batch.campaign.pool import child
from ascend_workbook.batch.campaign.pool.attempt import Attempt
from ascend_workbook.batch.campaign.pool.devices import is_lower_tier
from ascend_workbook.batch.execute import Outcome
from ascend_workbook.batch.plan.model import Item
from ascend_workbook.findings import report as reports
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence

#: Errors of a cell that say that memory, the machine's or a card's, was not enough.
NO_MEMORY = re.compile(r"MemoryError|out of memory|[Cc]an(?:no|')t allocate memory|bad_alloc|EL0004|OOM", re.ASCII)
NO_SPACE = re.compile(r"No space left on device|Errno 28")


def judge_attempt(item: Item, folder: Path, attempt: Attempt) -> Ended:
    """Judge how a run ended by this try. The caller adds what it knows more."""
    report = _load_report(folder)
    outcomes = list(_load_outcomes(item, folder))
    ended = Ended(item.name, DIED, "FAIL", seconds=round(attempt.seconds, 1), peak_mb=attempt.peak_mb)
    if report is not None:
        headline = report.headline
        verdict: Scalar = Sentence(headline.key, **headline.args) if headline else ""
        ended = replace(ended, verdict=verdict, tier=report.tier, simulated=report.simulated)
    if attempt.cause:
        return replace(ended, state=attempt.cause, verdict=_describe_bound(item, attempt))
    if attempt.oom_kills and has_died(item, folder, attempt):
        sentence: Scalar = Sentence("plan.oom_killed", kills=attempt.oom_kills, peak_mb=attempt.peak_mb)
        return replace(ended, state=OUT_OF_MEMORY, verdict=sentence)
    if attempt.code == child.DISK_FULL or any(NO_SPACE.search(outcome.error) for outcome in outcomes):
        return replace(ended, state=DISK_FULL, verdict=Sentence("plan.disk_full", path=str(folder)))
    if attempt.code < 0 or report is None:
        return replace(ended, verdict=Sentence("plan.died", code=attempt.code))
    return _judge_own_end(item, folder, attempt, report, outcomes, ended)


def _judge_own_end(
    item: Item, folder: Path, attempt: Attempt, report: Report, outcomes: list[Outcome], ended: Ended
) -> Ended:
    """Judge a run that came to its own end, by what it says of itself."""
    if any(outcome.state == execute.FAILED and NO_MEMORY.search(outcome.error) for outcome in outcomes):
        return replace(ended, state=OUT_OF_MEMORY)
    if any(outcome.state == execute.TIMED_OUT for outcome in outcomes):
        return replace(ended, state=TIMED_OUT)
    if any(outcome.state == execute.DIED for outcome in outcomes):
        return ended
    if attempt.code or report.status is Status.FAIL:
        return replace(ended, state=RED)
    tier = next((tier for tier in _list_tiers(report, folder, item) if is_lower_tier(tier, item.require)), "")
    if tier:
        sentence: Scalar = Sentence("plan.lower_tier", tier=tier, required=item.require)
        return replace(ended, state=RED, tier=tier, verdict=sentence)
    return replace(ended, state=GOOD, status=report.status.name)


def has_died(item: Item, folder: Path, attempt: Attempt) -> bool:
    """Return whether a process of the run died of itself. That is worth another try, which a failing cell is not."""
    if attempt.cause:
        return False
    unreported = _load_report(folder) is None and attempt.code != child.DISK_FULL
    return (
        attempt.code < 0 or unreported or any(outcome.state == execute.DIED for outcome in _load_outcomes(item, folder))
    )


def _describe_bound(item: Item, attempt: Attempt) -> Scalar:
    if attempt.cause == OUT_OF_MEMORY:
        return Sentence("plan.beyond_memory", peak_mb=attempt.peak_mb, limit_mb=item.memory_mb)
    if attempt.cause == DISK_FULL:
        return Sentence("plan.beyond_disk")
    if attempt.cause == STOPPED:
        return Sentence("RUN400.stopped")
    return Sentence("plan.out_of_time", seconds=round(attempt.seconds))


def _list_tiers(report: Report, folder: Path, item: Item) -> Iterator[str]:
    """Yield the device tiers of the run and of each stage that names its own."""
    stages = [execute.saved_report(folder / stage) for stage in item.stages]
    yield from (
        tiered_report.tier for tiered_report in (report, *stages) if tiered_report is not None and tiered_report.tier
    )


def _load_outcomes(item: Item, folder: Path) -> Iterator[Outcome]:
    yield from filter(None, (execute.load_outcome(folder / stage) for stage in item.stages))


def _load_report(folder: Path) -> Report | None:
    path = folder / "report.json"
    return reports.load_report(path) if path.is_file() else None
