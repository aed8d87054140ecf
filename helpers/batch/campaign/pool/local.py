"""The runs of a plan on this machine: each started once a worker, its cards and memory for it are free."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from helpers.batch.campaign.ended import DISK_FULL, STOPPED, TIMED_OUT, Ended, save
from helpers.batch.campaign.pool import devices, memory
from helpers.batch.campaign.pool.cards import NONE, Taken
from helpers.batch.campaign.pool.conduct import Means, at_once, conduct
from helpers.batch.campaign.pool.disk import Quota, room
from helpers.batch.campaign.pool.order import Order
from helpers.batch.campaign.pool.progress import Progress
from helpers.errors import WorkbookError

#: Seconds between two starts: kernels that start at once take each other's ports and the disk.
STAGGER_S = 0.2
#: Seconds between looks whether another run may start.
LOOK_S = 0.2
#: MiB that a run without a bound of its own must find free.
ROOM_MB = 512


@dataclass
class Going:
    """A run in its thread, with the cards it has."""

    order: Order
    cards: Taken
    future: Future[Ended]


class Pool:
    """Starts runs and gives back how they ended, in the order in which they do."""

    def __init__(self, workers: int, progress: Progress, *, stop: threading.Event, quota: Quota) -> None:
        self.workers, self.progress, self.stop, self.quota = workers, progress, stop, quota
        self._over = 0
        self._going: list[Going] = []
        self._seen: set[str] = set()
        self._last = 0.0

    def run(self, orders: Sequence[Order]) -> Iterator[Ended]:
        """All of them. After `stop` those that go are ended and no other starts."""
        waiting = [_probed(order) for order in orders]
        with ThreadPoolExecutor(max_workers=self.workers) as threads:
            try:
                while (waiting and not self.stop.is_set()) or self._going:
                    if not self.stop.is_set():
                        yield from self._start(waiting, threads)
                    yield from self._ended()
                    self.progress.refresh()
                    self._over = room(self.quota, self.progress)
            except BaseException:
                self.stop.set()  # what still goes is ended, whatever ended us
                raise
            finally:
                wait([one.future for one in self._going])
                for one in self._going:
                    one.cards.give()

    def _start(self, waiting: list[Order], threads: ThreadPoolExecutor) -> Iterator[Ended]:
        """All that may start now; one that must wait for a card lets those behind it pass."""
        for order in list(waiting):
            if len(self._going) >= self.workers or time.monotonic() - self._last < STAGGER_S:
                return
            early = self._early(order)
            if early is not None:
                waiting.remove(order)
                yield early
                continue
            if not self._room(order):
                return
            cards = self._cards(order)
            if cards is not None:
                waiting.remove(order)
                self._submit(order, cards, threads)

    def _early(self, order: Order) -> Ended | None:
        """The end of one that needs no process; looked for once."""
        name, late = order.item.name, order.until and time.monotonic() > order.until
        if name in self._seen and not late:
            return None
        self._seen.add(name)
        early = at_once(order)
        if early is None and late:
            early = Ended(name, TIMED_OUT, "FAIL", {"say": "plan.no_time"})
            save(order.folder, early)
        elif early is None and room(self.quota, self.progress, now=True):
            early = Ended(name, DISK_FULL, "FAIL", {"say": "plan.beyond_disk"})
            save(order.folder, early)
        if early is not None:
            self.progress.ended(early)
        return early

    def _submit(self, order: Order, cards: Taken, threads: ThreadPoolExecutor) -> None:
        self._last = time.monotonic()
        name = order.item.name
        self.progress.started(name, cards.ids)
        means = Means(cards, lambda: self._ends(name), self.progress.tell, lambda held_mb: self._watched(name, held_mb))
        self._going.append(Going(order, cards, threads.submit(conduct, order, means)))

    def _ends(self, name: str) -> str:
        """Beyond the bound on disk the run that started last is ended, then the one before it."""
        if self.stop.is_set():
            return STOPPED
        return DISK_FULL if self._over and self._going and name == self._going[-1].order.item.name else ""

    def _ended(self) -> Iterator[Ended]:
        if not self._going:
            time.sleep(LOOK_S)
            return
        done, _ = wait([one.future for one in self._going], timeout=LOOK_S, return_when=FIRST_COMPLETED)
        for one in [one for one in self._going if one.future in done]:
            self._going.remove(one)
            one.cards.give()
            ended = one.future.result()
            self.progress.ended(ended)
            yield ended

    def _cards(self, order: Order) -> Taken | None:
        if order.here is None:
            return NONE
        cards = devices.cards_for(order.item, order.here, order.card_ids)
        if cards is None:
            return NONE
        taken = cards.take(order.item.cards)
        if taken is None:
            self.progress.waits(order.item.name, "plan.waits_for_card", {"cards": order.item.cards})
        return taken

    def _room(self, order: Order) -> bool:
        """Whether memory is free for it beside what the others may yet take; one alone always starts."""
        promised = [max(0, one.order.item.memory_mb - self._held(one)) for one in self._going]
        free, needed = memory.free_mb() - sum(promised), order.item.memory_mb or ROOM_MB
        if not self._going or free >= needed:
            return True
        self.progress.waits(order.item.name, "plan.waits_for_memory", {"free_mb": max(0, free), "needed_mb": needed})
        return False

    def _held(self, one: Going) -> int:
        running = self.progress.running.get(one.order.item.name)
        return running.held_mb if running else 0

    def _watched(self, name: str, held_mb: int) -> None:
        running = self.progress.running.get(name)
        if running:
            running.held_mb = held_mb


def _probed(order: Order) -> Order:
    """With its device; without where it cannot be had: that run is red then, the others go on."""
    try:
        return replace(order, here=devices.probe(devices.wish(order.item)))
    except WorkbookError:
        return order

