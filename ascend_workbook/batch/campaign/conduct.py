"""A run from its order to its end: reused where it was good, refused where its device is not there, tried again where a
process of it died, and judged by what it left. The same on this machine and on one of a cluster.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ascend_workbook.batch import execute, reuse
from ascend_workbook.batch.campaign.attempt import Attempt, end_processes, marked_processes, run_attempt
from ascend_workbook.batch.campaign.cards import (
    NONE,
    Here,
    Taken,
    cards_for,
    check_enough_cards,
    is_lower_tier,
    make_visibility_variables,
    probe_device,
    requested_device,
    wait_for_lock,
)
from ascend_workbook.batch.campaign.ended import (
    DIED,
    DISK_FULL,
    GOOD,
    OUT_OF_MEMORY,
    RED,
    STOPPED,
    TIMED_OUT,
    Ended,
    load_ended,
    note_try,
    save_ended,
    tries_since_end,
)
from ascend_workbook.batch.campaign.order import EXIT_NO_SPACE, PARAMETERS, Order
from ascend_workbook.batch.execute import Outcome
from ascend_workbook.batch.plan.model import Item
from ascend_workbook.batch.workbook import hash_run, hash_run_parts
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence

#: Errors of a cell that say that memory, the machine's or a card's, was not enough.
NO_MEMORY = re.compile(r"MemoryError|out of memory|[Cc]an(?:no|')t allocate memory|bad_alloc|EL0004|OOM", re.ASCII)
NO_SPACE = re.compile(r"No space left on device|Errno 28")


def judge_attempt(item: Item, folder: Path, attempt: Attempt) -> Ended:
    """Judge how a run ended by this try. The caller adds what it knows more."""
    report = execute.saved_report(folder)
    outcomes = list(_load_outcomes(item, folder))
    ended = Ended(item.name, DIED, Status.FIX.json, seconds=round(attempt.seconds, 1), peak_mb=attempt.peak_mb)
    if report is not None:
        headline = report.headline
        verdict: Scalar = Sentence(headline.key, **headline.args) if headline else ""
        ended = replace(ended, verdict=verdict, tier=report.tier, simulated=report.simulated)
    if attempt.cause:
        bounds: dict[str, Scalar] = {
            OUT_OF_MEMORY: Sentence("plan.beyond_memory", peak_mb=attempt.peak_mb, limit_mb=item.memory_mb),
            DISK_FULL: Sentence("plan.beyond_disk"),
            STOPPED: Sentence("RUN400.stopped"),
            TIMED_OUT: Sentence("plan.out_of_time", seconds=round(attempt.seconds)),
        }
        return replace(ended, state=attempt.cause, verdict=bounds[attempt.cause])
    if attempt.oom_kills and has_died(item, folder, attempt):
        sentence: Scalar = Sentence("plan.oom_killed", kills=attempt.oom_kills, peak_mb=attempt.peak_mb)
        return replace(ended, state=OUT_OF_MEMORY, verdict=sentence)
    if attempt.code == EXIT_NO_SPACE or any(NO_SPACE.search(outcome.error) for outcome in outcomes):
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
    if attempt.code or report.status is Status.FIX:
        return replace(ended, state=RED)
    tiers = [
        tiered.tier for tiered in (report, *map(execute.saved_report, map(folder.joinpath, item.stages))) if tiered
    ]
    tier = next((tier for tier in filter(None, tiers) if is_lower_tier(tier, item.require)), "")
    if tier:
        sentence: Scalar = Sentence("plan.lower_tier", tier=tier, required=item.require)
        return replace(ended, state=RED, tier=tier, verdict=sentence)
    return replace(ended, state=GOOD, status=report.status.json)


def has_died(item: Item, folder: Path, attempt: Attempt) -> bool:
    """Return whether a process of the run died of itself. That is worth another try, which a failing cell is not."""
    unreported = execute.saved_report(folder) is None and attempt.code != EXIT_NO_SPACE
    kernel_died = any(outcome.state == execute.DIED for outcome in _load_outcomes(item, folder))
    return not attempt.cause and (attempt.code < 0 or unreported or kernel_died)


def _load_outcomes(item: Item, folder: Path) -> Iterator[Outcome]:
    yield from filter(None, (execute.load_outcome(folder / stage) for stage in item.stages))


#: What a run tells while it goes: a key of the catalogue, its arguments.
Tell = Callable[[str, "dict[str, Scalar]"], None]


@dataclass(frozen=True)
class Means:
    """What a run is given: `cards`, `ends` for the state in which to end it now (empty: none), `tell` for what happens,
    `watched` for the MiB it holds."""

    cards: Taken = NONE
    ends: Callable[[], str] = lambda: ""
    tell: Tell = lambda key, args: None
    watched: Callable[[int], None] = lambda held_mb: None
    where: str = field(default_factory=socket.gethostname)


def conduct_run(order: Order, means: Means) -> Ended:
    """Conduct a run from its order to its end, and save how it ended in its folder, before (as stopped) and after.
    Waits where another process has the run. Raises OSError where the folder cannot be written."""
    folder = order.folder
    folder.mkdir(parents=True, exist_ok=True)
    handle = wait_for_lock(folder / ".lock", means.ends)
    if handle is None:
        return Ended(order.item.name, STOPPED, Status.FIX.json, Sentence("RUN400.stopped"), where=means.where)
    try:
        early = end_at_once(order, means.where)
        if early is not None:
            return early
        _tell_why(order, means)
        end_processes(partial(marked_processes, folder))  # of a try whose runner was killed with its process
        return _try_repeatedly(order, means, handle)
    finally:
        os.close(handle)


def end_at_once(order: Order, machine: str = "") -> Ended | None:
    """Return the end of a run that needs no process: good already, or it cannot start. None for others."""
    item, folder = order.item, order.folder
    try:
        here = _find_device(order)
        key = _compute_key(order, here)
        cards = cards_for(item, here, order.card_ids)
        if cards is not None:
            check_enough_cards(item, cards)
    except WorkbookError as error:
        sentence: Scalar = Sentence(error.key, **error.arguments)
        return _save_and_return(folder, Ended(item.name, RED, Status.FIX.json, sentence, where=machine))
    if is_lower_tier(here.tier, item.require):
        sentence = Sentence("plan.lower_tier", tier=here.tier, required=item.require)
        return _save_and_return(
            folder, Ended(item.name, RED, Status.FIX.json, sentence, here.tier, key=key, where=machine)
        )
    before = load_ended(folder)
    whole = before is not None and before.key == key and (folder / "report.json").is_file()
    if before is None or not whole or order.force:
        return None
    changed_input = _find_changed_input(order)
    if _used_more_memory(item, before) or (changed_input and (before.state == GOOD or changed_input != reuse.UNKNOWN)):
        return None
    keep = before.state == GOOD or (order.keep_red and before.state not in (STOPPED,))
    return replace(before, reused=True) if keep else None


def _try_repeatedly(order: Order, means: Means, handle: int) -> Ended:
    """Try a run once, and again as often as it may be tried where a process of it died."""
    item, folder, here = order.item, order.folder, _find_device(order)
    key, lost = _compute_key(order, here), tries_since_end(folder)
    unfinished = Ended(item.name, STOPPED, Status.FIX.json, Sentence("RUN400.stopped"), tier=here.tier, key=key)
    unfinished = replace(unfinished, cards=means.cards.ids, where=means.where)
    notes: list[Scalar] = [
        Sentence("plan.tried_before", state=Sentence(f"plan.state.{lost_try.state}"), where=lost_try.where)
        if lost_try.state
        else Sentence("plan.lost", where=lost_try.where)
        for lost_try in lost
    ]
    own_tries = sum(lost_try.start == order.start for lost_try in lost)
    if (order.force or _used_more_memory(item, load_ended(folder))) and not own_tries:
        for stage in item.stages:  # of an earlier start: they would be taken for results of this one
            (folder / stage / "outcome.json").unlink(missing_ok=True)
    for number in range(own_tries + 1, own_tries + 2 + item.retries):
        unfinished = replace(unfinished, attempts=len(lost) + number - own_tries, notes=tuple(notes))
        lost_try = _start_attempt(order, means, here, unfinished, handle)
        ended = judge_attempt(item, folder, lost_try)
        again = has_died(item, folder, lost_try) and number <= item.retries and not means.ends()
        note_try(folder, state=ended.state, last=not again)
        if not again:
            break
        why: Scalar = Sentence(f"plan.state.{ended.state}")
        step: dict[str, Scalar] = {"run": item.name, "number": number, "of": 1 + item.retries}
        means.tell("plan.retry", {**step, "why": ended.verdict, "state": why})
        notes.append(Sentence("plan.tried", number=unfinished.attempts, state=why, verdict=ended.verdict))
    ended = replace(ended, attempts=unfinished.attempts, notes=tuple(notes), key=key)
    return _save_and_return(folder, replace(ended, cards=unfinished.cards, where=unfinished.where))


def _start_attempt(order: Order, means: Means, here: Here, unfinished: Ended, handle: int) -> Attempt:
    folder = order.folder
    save_ended(folder, unfinished)
    (folder / "report.json").unlink(missing_ok=True)
    note_try(folder, start=order.start, where=means.where)
    ends = [time.monotonic() + order.item.run_timeout_s] if order.item.run_timeout_s else []
    ends += [order.until] if order.until else []
    return run_attempt(
        order.save_order(here),
        until=min(ends, default=0.0),  # its own time or the plan's, whichever ends first
        memory_mb=order.item.memory_mb,
        ends=means.ends,
        env={
            PARAMETERS: json.dumps(order.item.parameters),
            **make_visibility_variables("npu" if here.tier.startswith("npu") else here.tier, means.cards.ids),
        },
        hold=(handle, *means.cards.handles),
        watched=means.watched,
    )


def _find_device(order: Order) -> Here:
    return order.here or probe_device(requested_device(order.item))


def _compute_key(order: Order, here: Here) -> str:
    """Return the hash of what the results of the run's stages depend on, and of what the plan demands of them."""
    item = order.item
    return "-".join([hash_run(_key_parts(order, here)), str(item.cards), *filter(None, [item.require])])


def _key_parts(order: Order, here: Here) -> dict[str, dict[str, str]]:
    item = order.item
    return hash_run_parts(item.parameters, here.versions, item.stages, item.lang, Path(order.notebooks))


def _find_changed_input(order: Order) -> Scalar:
    """Return which of the files that the run's stages opened has changed; empty for none. Stages that were killed have
    told of no file."""
    parts_by_stage = _key_parts(order, _find_device(order))
    reasons = [reuse.why_again(order.folder / stage, parts) for stage, parts in parts_by_stage.items()]
    return next((why for why in reasons if why), "")


def _tell_why(order: Order, means: Means) -> None:
    """Why a run that an earlier start ended is done again."""
    before = load_ended(order.folder)
    if before is None or before.state == STOPPED:
        return
    why: Scalar = Sentence("reuse.not_good")
    if order.force:
        why = Sentence("reuse.force")
    elif before.state == GOOD:
        why = Sentence("reuse.memory") if _used_more_memory(order.item, before) else _find_changed_input(order)
    means.tell("plan.again_for", {"run": order.item.name, "why": why or Sentence("reuse.demands")})


def _used_more_memory(item: Item, before: Ended | None) -> bool:
    """Return whether the run was good with more memory than it may hold now: that says nothing of now."""
    return before is not None and before.state == GOOD and 0 < item.memory_mb < before.peak_mb


def _save_and_return(folder: Path, ended: Ended) -> Ended:
    folder.mkdir(parents=True, exist_ok=True)
    save_ended(folder, ended)
    return ended
