"""The runs of a plan on this machine: each started once a worker, its cards and memory for it are free."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial

from ascend_workbook.batch.campaign.attempt import free_mb
from ascend_workbook.batch.campaign.cards import NONE, Taken, cards_for, probe_device, requested_device
from ascend_workbook.batch.campaign.conduct import Means, conduct_run, end_at_once
from ascend_workbook.batch.campaign.ended import DISK_FULL, STOPPED, TIMED_OUT, Ended, save_ended
from ascend_workbook.batch.campaign.order import Order
from ascend_workbook.batch.campaign.progress import Progress, Quota, make_room
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Scalar, Sentence

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

    def run_orders(self, orders: Sequence[Order]) -> Iterator[Ended]:
        """Run all orders on this machine and yield how each ended. After `stop` those that go are ended and no other
        starts."""
        waiting = []
        for order in orders:
            try:
                waiting.append(replace(order, here=probe_device(requested_device(order.item))))
            except WorkbookError:  # it cannot be had: that run is red, the others go on
                waiting.append(order)
        with ThreadPoolExecutor(max_workers=self.workers) as threads:
            try:
                while (waiting and not self.stop.is_set()) or self._going:
                    if not self.stop.is_set():
                        yield from self._start_waiting(waiting, threads)
                    yield from self._collect_ended()
                    self.progress.refresh_status()
                    self._over = make_room(self.quota, self.progress)
            except BaseException:
                self.stop.set()  # what still goes is ended, whatever ended us
                raise
            finally:
                wait([going.future for going in self._going])
                for going in self._going:
                    going.cards.give_back()

    def _start_waiting(self, waiting: list[Order], threads: ThreadPoolExecutor) -> Iterator[Ended]:
        """Start all runs that may start now. One that must wait for a card lets those behind it pass."""
        for order in list(waiting):
            if len(self._going) >= self.workers or time.monotonic() - self._last < STAGGER_S:
                return
            early = self._end_early(order)
            if early is not None:
                waiting.remove(order)
                yield early
                continue
            if not self._has_memory(order):
                return
            cards = self._take_cards(order)
            if cards is not None:
                waiting.remove(order)
                self._last = time.monotonic()
                name = order.item.name
                self.progress.note_start(name, cards.ids)
                note = partial(self._note_memory, name)
                means = Means(cards, partial(self._stop_state, name), self.progress.tell_event, note)
                self._going.append(Going(order, cards, threads.submit(conduct_run, order, means)))

    def _end_early(self, order: Order) -> Ended | None:
        """Return the end of a run that needs no process; looked for once."""
        name, late = order.item.name, order.until and time.monotonic() > order.until
        if name in self._seen and not late:
            return None
        self._seen.add(name)
        early = end_at_once(order)
        if early is None and late:
            early = Ended(name, TIMED_OUT, Status.FIX.json, Sentence("plan.no_time"))
            save_ended(order.folder, early)
        elif early is None and make_room(self.quota, self.progress, now=True):
            early = Ended(name, DISK_FULL, Status.FIX.json, Sentence("plan.beyond_disk"))
            save_ended(order.folder, early)
        if early is not None:
            self.progress.note_end(early)
        return early

    def _stop_state(self, name: str) -> str:
        """Return the state in which a run is to be ended now; empty for none. Beyond the bound on disk the run that
        started last is ended, then the one before it."""
        if self.stop.is_set():
            return STOPPED
        return DISK_FULL if self._over and self._going and name == self._going[-1].order.item.name else ""

    def _collect_ended(self) -> Iterator[Ended]:
        if not self._going:
            time.sleep(LOOK_S)
            return
        done_futures, _ = wait([going.future for going in self._going], timeout=LOOK_S, return_when=FIRST_COMPLETED)
        for going in [going for going in self._going if going.future in done_futures]:
            self._going.remove(going)
            going.cards.give_back()
            ended = going.future.result()
            self.progress.note_end(ended)
            yield ended

    def _take_cards(self, order: Order) -> Taken | None:
        cards = cards_for(order.item, order.here, order.card_ids) if order.here else None
        if cards is None:
            return NONE
        taken = cards.take_cards(order.item.cards)
        if taken is None:
            self.progress.note_waiting(order.item.name, "plan.waits_for_card", {"cards": order.item.cards})
        return taken

    def _has_memory(self, order: Order) -> bool:
        """Return whether memory is free for a run beside what the others may yet take. One alone always starts."""
        held = {name: running.held_mb for name, running in list(self.progress.running.items())}
        items = [going.order.item for going in self._going]
        promised = [max(0, item.memory_mb - held.get(item.name, 0)) for item in items]
        free, needed = free_mb() - sum(promised), order.item.memory_mb or ROOM_MB
        if not self._going or free >= needed:
            return True
        args: dict[str, Scalar] = {"free_mb": max(0, free), "needed_mb": needed}
        self.progress.note_waiting(order.item.name, "plan.waits_for_memory", args)
        return False

    def _note_memory(self, name: str, held_mb: int) -> None:
        running = self.progress.running.get(name)
        if running:
            running.held_mb = held_mb
