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

from helpers.batch import reuse
from helpers.batch.campaign.ended import GOOD, RED, STOPPED, Ended, load, save
from helpers.batch.campaign.pool import locks, processes, tries
from helpers.batch.campaign.pool.attempt import Attempt, Bounds, attempt
from helpers.batch.campaign.pool.cards import NONE, Taken, shown
from helpers.batch.campaign.pool.devices import Here, cards_for, enough, lower, probe, wish
from helpers.batch.campaign.pool.judging import dead, judged
from helpers.batch.campaign.pool.order import Order
from helpers.batch.plan.model import Item
from helpers.batch.workbook import key_of, parts_of
from helpers.errors import WorkbookError
from helpers.words import Scalar

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


def conduct(order: Order, means: Means) -> Ended:
    """The run's end, kept in its folder before (as stopped) and after. Waits where another process has the run.

    Raises OSError where the folder cannot be written.
    """
    folder = order.folder
    folder.mkdir(parents=True, exist_ok=True)
    handle = locks.wait(folder / ".lock", means.ends)
    if handle is None:
        return Ended(order.item.name, STOPPED, "FAIL", {"say": "RUN400.stopped"}, where=means.where)
    try:
        early = at_once(order, means.where)
        if early is not None:
            return early
        _tell_why(order, means)
        processes.end(partial(processes.marked, folder))  # of a try whose runner was killed with its process
        return _tried(order, means, handle)
    finally:
        os.close(handle)


def at_once(order: Order, where: str = "") -> Ended | None:
    """The end of a run that needs no process: good already for all the same, or it cannot start. None for others."""
    item, folder = order.item, order.folder
    try:
        key = _key(order, _here(order))
        refused = _refused(order, _here(order))
        cards = cards_for(item, _here(order), order.card_ids)
        if cards is not None:
            enough(item, cards)
    except WorkbookError as error:
        said: Scalar = {"say": error.key, "args": error.arguments}
        return _kept(folder, Ended(item.name, RED, "FAIL", said, where=where))
    if refused is not None:
        return _kept(folder, replace(refused, key=key, where=where))
    before = load(folder)
    whole = before is not None and before.key == key and (folder / "report.json").is_file()
    if before is None or not whole or order.force:
        return None
    other = _opened_else(order)
    if _beyond(item, before) or (other and (before.state == GOOD or other != reuse.UNKNOWN)):
        return None
    keep = before.state == GOOD or (order.keep_red and before.state not in (STOPPED,))
    return replace(before, reused=True) if keep else None


def _tried(order: Order, means: Means, handle: int) -> Ended:
    """Once, and again as often as the run may be where a process of it died."""
    item, folder, here = order.item, order.folder, _here(order)
    key, lost = _key(order, here), tries.since_last(folder)
    known = Ended(item.name, STOPPED, "FAIL", {"say": "RUN400.stopped"}, key=key, cards=means.cards.ids,
                  where=means.where, tier=here.tier)  # fmt: skip
    notes = [_lost(one) for one in lost]
    mine = sum(one.start == order.start for one in lost)
    if (order.force or _beyond(item, load(folder))) and not mine:
        _forget(order)
    for number in range(mine + 1, mine + 2 + item.retries):
        known = replace(known, attempts=len(lost) + number - mine, notes=tuple(notes))
        one = _try(order, means, here, known, handle)
        ended = judged(item, folder, one)
        again = dead(item, folder, one) and number <= item.retries and not means.ends()
        tries.ended(folder, ended.state, last=not again)
        if not again:
            break
        why: Scalar = {"say": f"plan.state.{ended.state}"}
        told: dict[str, Scalar] = {"run": item.name, "number": number, "of": 1 + item.retries, "why": ended.verdict,
                                   "state": why}  # fmt: skip
        means.tell("plan.retry", told)
        notes.append({"say": "plan.tried", "args": {"number": known.attempts, "state": why, "verdict": ended.verdict}})
    return _kept(folder, replace(ended, attempts=known.attempts, notes=tuple(notes), key=key, cards=known.cards,
                                 where=known.where))  # fmt: skip


def _try(order: Order, means: Means, here: Here, known: Ended, handle: int) -> Attempt:
    folder = order.folder
    save(folder, known)
    (folder / "report.json").unlink(missing_ok=True)
    tries.began(folder, order.start, means.where)
    path = order.save(here=here, force=False)
    return attempt(path, _bounds(order), ends=means.ends, env=shown(_kind(here), means.cards.ids),
                   hold=(handle, *means.cards.handles), watched=means.watched)  # fmt: skip


def _bounds(order: Order) -> Bounds:
    """The run's own time limit and the plan's, whichever is first."""
    ends = [time.monotonic() + order.item.run_timeout_s] if order.item.run_timeout_s else []
    if order.until:
        ends.append(order.until)
    return Bounds(min(ends, default=0.0), order.item.memory_mb)


def _here(order: Order) -> Here:
    return order.here or probe(wish(order.item))


def _kind(here: Here) -> str:
    return "npu" if here.tier.startswith("npu") else here.tier


def _key(order: Order, here: Here) -> str:
    """Hash of what its stages' results depend on, and of what the plan demands of them."""
    item = order.item
    stages = key_of(item.parameters, here.versions, stages=item.stages, lang=item.lang, notebooks=Path(order.notebooks))
    return "-".join([stages, str(item.cards), *filter(None, [item.require])])


def _parts(order: Order) -> dict[str, dict[str, str]]:
    item = order.item
    return parts_of(item.parameters, _here(order).versions, stages=item.stages, lang=item.lang,
                    notebooks=Path(order.notebooks))  # fmt: skip


def _opened_else(order: Order) -> Scalar:
    """Which of the files that its stages opened is not as it was; empty for none. What was killed told of none."""
    told = [reuse.why_again(order.folder / stage, parts) for stage, parts in _parts(order).items()]
    return next((why for why in told if why), "")


def _tell_why(order: Order, means: Means) -> None:
    """Why a run that an earlier start ended is done again."""
    before = load(order.folder)
    if before is None or before.state == STOPPED:
        return
    why: Scalar = {"say": "reuse.not_good"}
    if order.force:
        why = {"say": "reuse.force"}
    elif before.state == GOOD:
        why = {"say": "reuse.memory"} if _beyond(order.item, before) else _opened_else(order)
    means.tell("plan.again_for", {"run": order.item.name, "why": why or {"say": "reuse.demands"}})


def _beyond(item: Item, before: Ended | None) -> bool:
    """Whether it was good with more memory than it may hold now: that says nothing of whether it would be good."""
    return before is not None and before.state == GOOD and 0 < item.memory_mb < before.peak_mb


def _refused(order: Order, here: Here) -> Ended | None:
    """A run whose device is of a lower tier than it requires is red before it starts."""
    item = order.item
    if not lower(here.tier, item.require):
        return None
    said: Scalar = {"say": "plan.lower_tier", "args": {"tier": here.tier, "required": item.require}}
    return Ended(item.name, RED, "FAIL", said, here.tier)


def _forget(order: Order) -> None:
    """What an earlier start left is not taken for a result of this one."""
    for stage in order.item.stages:
        (order.folder / stage / "outcome.json").unlink(missing_ok=True)


def _lost(one: tries.Try) -> Scalar:
    if one.state:
        return {"say": "plan.tried_before", "args": {"state": {"say": f"plan.state.{one.state}"}, "where": one.where}}
    return {"say": "plan.lost", "args": {"where": one.where}}


def _kept(folder: Path, ended: Ended) -> Ended:
    folder.mkdir(parents=True, exist_ok=True)
    save(folder, ended)
    return ended


