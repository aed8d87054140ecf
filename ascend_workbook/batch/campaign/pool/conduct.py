"""A run from its order to its end: reused where it was good, refused where its device is not there, tried again where a
process of it died. The same on this machine and on one of a cluster."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ascend_workbook.batch import reuse
from ascend_workbook.batch.campaign.ended import GOOD, RED, STOPPED, Ended, load_ended, save_ended
from ascend_workbook.batch.campaign.pool import locks, processes, tries
from ascend_workbook.batch.campaign.pool.attempt import Attempt, Bounds, run_attempt
from ascend_workbook.batch.campaign.pool.cards import NONE, Taken, make_visibility_variables
from ascend_workbook.batch.campaign.pool.devices import (
    Here,
    cards_for,
    check_enough_cards,
    is_lower_tier,
    probe_device,
    requested_device,
)
from ascend_workbook.batch.campaign.pool.judging import has_died, judge_attempt
from ascend_workbook.batch.campaign.pool.order import Order
from ascend_workbook.batch.plan.model import Item
from ascend_workbook.batch.workbook import hash_run, hash_run_parts
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence

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
    Waits where another process has the run.

    Raises OSError where the folder cannot be written.
    """
    folder = order.folder
    folder.mkdir(parents=True, exist_ok=True)
    handle = locks.wait_for_lock(folder / ".lock", means.ends)
    if handle is None:
        return Ended(order.item.name, STOPPED, "FAIL", Sentence("RUN400.stopped"), where=means.where)
    try:
        early = end_at_once(order, means.where)
        if early is not None:
            return early
        _tell_why(order, means)
        processes.end_processes(
            partial(processes.marked_processes, folder)
        )  # of a try whose runner was killed with its process
        return _try_repeatedly(order, means, handle)
    finally:
        os.close(handle)


def end_at_once(order: Order, machine: str = "") -> Ended | None:
    """Return the end of a run that needs no process: good already for all the same, or it cannot start. None for
    others.
    """
    item, folder = order.item, order.folder
    try:
        key = _compute_key(order, _find_device(order))
        refused = _refuse_lower_tier(order, _find_device(order))
        cards = cards_for(item, _find_device(order), order.card_ids)
        if cards is not None:
            check_enough_cards(item, cards)
    except WorkbookError as error:
        sentence: Scalar = Sentence(error.key, **error.arguments)
        return _save_and_return(folder, Ended(item.name, RED, "FAIL", sentence, where=machine))
    if refused is not None:
        return _save_and_return(folder, replace(refused, key=key, where=machine))
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
    key, lost = _compute_key(order, here), tries.tries_since_end(folder)
    unfinished = Ended(
        item.name,
        STOPPED,
        "FAIL",
        Sentence("RUN400.stopped"),
        key=key,
        cards=means.cards.ids,
        where=means.where,
        tier=here.tier,
    )
    notes = [_describe_lost_try(lost_try) for lost_try in lost]
    own_tries = sum(lost_try.start == order.start for lost_try in lost)
    if (order.force or _used_more_memory(item, load_ended(folder))) and not own_tries:
        _forget_outcomes(order)
    for number in range(own_tries + 1, own_tries + 2 + item.retries):
        unfinished = replace(unfinished, attempts=len(lost) + number - own_tries, notes=tuple(notes))
        lost_try = _start_attempt(order, means, here, unfinished, handle)
        ended = judge_attempt(item, folder, lost_try)
        again = has_died(item, folder, lost_try) and number <= item.retries and not means.ends()
        tries.note_end(folder, ended.state, last=not again)
        if not again:
            break
        why: Scalar = Sentence(f"plan.state.{ended.state}")
        message_args: dict[str, Scalar] = {
            "run": item.name,
            "number": number,
            "of": 1 + item.retries,
            "why": ended.verdict,
            "state": why,
        }
        means.tell("plan.retry", message_args)
        notes.append(Sentence("plan.tried", number=unfinished.attempts, state=why, verdict=ended.verdict))
    return _save_and_return(
        folder,
        replace(
            ended,
            attempts=unfinished.attempts,
            notes=tuple(notes),
            key=key,
            cards=unfinished.cards,
            where=unfinished.where,
        ),
    )


def _start_attempt(order: Order, means: Means, here: Here, unfinished: Ended, handle: int) -> Attempt:
    folder = order.folder
    save_ended(folder, unfinished)
    (folder / "report.json").unlink(missing_ok=True)
    tries.note_start(folder, order.start, means.where)
    path = order.save_order(here=here, force=False)
    return run_attempt(
        path,
        _compute_bounds(order),
        ends=means.ends,
        env=make_visibility_variables(_card_kind(here), means.cards.ids),
        hold=(handle, *means.cards.handles),
        watched=means.watched,
    )


def _compute_bounds(order: Order) -> Bounds:
    """Return the bounds of a try: the run's own time limit or the plan's, whichever is first."""
    ends = [time.monotonic() + order.item.run_timeout_s] if order.item.run_timeout_s else []
    if order.until:
        ends.append(order.until)
    return Bounds(min(ends, default=0.0), order.item.memory_mb)


def _find_device(order: Order) -> Here:
    return order.here or probe_device(requested_device(order.item))


def _card_kind(here: Here) -> str:
    return "npu" if here.tier.startswith("npu") else here.tier


def _compute_key(order: Order, here: Here) -> str:
    """Return the hash of what the results of the run's stages depend on, and of what the plan demands of them."""
    item = order.item
    stages = hash_run(
        item.parameters, here.versions, stages=item.stages, lang=item.lang, notebooks=Path(order.notebooks)
    )
    return "-".join([stages, str(item.cards), *filter(None, [item.require])])


def _key_parts(order: Order) -> dict[str, dict[str, str]]:
    item = order.item
    return hash_run_parts(
        item.parameters,
        _find_device(order).versions,
        stages=item.stages,
        lang=item.lang,
        notebooks=Path(order.notebooks),
    )


def _find_changed_input(order: Order) -> Scalar:
    """Return which of the files that the run's stages opened has changed; empty for none.

    Stages that were killed have told of no file.
    """
    reasons = [reuse.why_again(order.folder / stage, parts) for stage, parts in _key_parts(order).items()]
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
    """Return whether the run was good with more memory than it may hold now. That says nothing of whether it would be
    good now.
    """
    return before is not None and before.state == GOOD and 0 < item.memory_mb < before.peak_mb


def _refuse_lower_tier(order: Order, here: Here) -> Ended | None:
    """Refuse a run whose device is of a lower tier than it requires, before it starts."""
    item = order.item
    if not is_lower_tier(here.tier, item.require):
        return None
    sentence: Scalar = Sentence("plan.lower_tier", tier=here.tier, required=item.require)
    return Ended(item.name, RED, "FAIL", sentence, here.tier)


def _forget_outcomes(order: Order) -> None:
    """Remove the outcomes of an earlier start, so that they are not taken for results of this one."""
    for stage in order.item.stages:
        (order.folder / stage / "outcome.json").unlink(missing_ok=True)


def _describe_lost_try(lost_try: tries.Try) -> Scalar:
    if lost_try.state:
        return Sentence("plan.tried_before", state=Sentence(f"plan.state.{lost_try.state}"), where=lost_try.where)
    return Sentence("plan.lost", where=lost_try.where)


def _save_and_return(folder: Path, ended: Ended) -> Ended:
    folder.mkdir(parents=True, exist_ok=True)
    save_ended(folder, ended)
    return ended
