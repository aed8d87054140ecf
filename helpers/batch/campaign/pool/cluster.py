"""The runs of a plan on an existing Dask cluster: as many at once on a machine as its worker has threads.

The machines see the plan's folder, the notebooks and the scripts under the same paths and have this package. A run
whose machine is lost goes to another one and says so; one that a lost client left going is waited for, not run twice.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers.batch.campaign.ended import DIED, STOPPED, Ended, load, restored, save
from helpers.batch.campaign.pool import devices, locks
from helpers.batch.campaign.pool import order as orders_of
from helpers.batch.campaign.pool.cards import NONE, Taken
from helpers.batch.campaign.pool.conduct import Means, Tell, at_once, conduct
from helpers.batch.campaign.pool.disk import Quota, room
from helpers.batch.campaign.pool.order import Order
from helpers.batch.campaign.pool.progress import Progress
from helpers.errors import WorkbookError
from helpers.scheduler import ALONE, connected, lost
from helpers.words import Scalar

if TYPE_CHECKING:
    from distributed import Client, Future

#: In the plan's folder while a start goes: its name, so that a machine can tell whether it sees the folder.
START, STOP = ".start", ".stop"
#: Seconds between looks at what is done, and at the cards of a machine.
LOOK_S = 1.0
#: Seconds that a shared folder may take to show a new file to another machine.
SEEN_S = 5.0


class Cluster:
    """Stands for a Pool: gives back how the runs ended, in the order in which they do."""

    def __init__(
        self, address: str, progress: Progress, *, stop: threading.Event, quota: Quota
    ) -> None:
        self.address, self.progress, self.stop, self.quota = address, progress, stop, quota

    def run(self, orders: Sequence[Order]) -> Iterator[Ended]:
        """All of them. Raises WorkbookError where the cluster is not there, or loses all its workers."""
        if not orders:
            return
        root = self.progress.folder
        (root / STOP).unlink(missing_ok=True)
        (root / START).write_text(orders[0].start, encoding="utf-8")
        with connected(self.address) as client:
            self._check_shared(client, root, orders[0].start)
            client.subscribe_topic(orders[0].start, self._told)
            epoch = time.time() - time.monotonic()  # machines have no other clock in common
            futures = {client.submit(serve, one.text(), epoch, key=f"{one.item.name}-{one.start}", pure=False): one
                       for one in orders}  # fmt: skip
            yield from self._followed(client, futures)

    def _check_shared(self, client: Client, root: Path, start: str) -> None:
        """Raises WorkbookError, before anything is sent there, for machines that do not see the plan's folder: what
        they did would be lost."""
        try:
            told: dict[str, str] = client.run(unseen, str(root), start)
        except Exception as cause:  # whatever the machine could not do, as to find this package
            why = f"{type(cause).__name__}: {cause}"
            raise WorkbookError("scheduler.failed", address=self.address, error=why) from cause
        blind: list[Scalar] = [f"{where} ({why})" for where, why in told.items() if why]
        if blind:
            raise WorkbookError("plan.not_shared", where=blind, folder=str(root))

    def _followed(self, client: Client, futures: dict[Future, Order]) -> Iterator[Ended]:
        alone_since = time.monotonic()
        while futures:
            if client.nthreads():
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > ALONE:
                raise WorkbookError("scheduler.empty", address=self.address)
            if self.stop.is_set():
                yield from self._stopped(client, futures)
                return
            for future in _done(client, list(futures)):
                ended = self._end(future, futures.pop(future))
                self.progress.ended(ended)
                yield ended
            self.progress.refresh()
            if room(self.quota, self.progress):  # the machines see no other's runs: none starts, all that go end
                self.stop.set()

    def _end(self, future: Future, order: Order) -> Ended:
        why = lost(self.address, future)
        if why is None:
            ended = restored(future.result())
            if load(order.folder) is None:  # by a machine that does not see the folder
                order.folder.mkdir(parents=True, exist_ok=True)
                save(order.folder, ended)
            return ended
        ended = Ended(order.item.name, DIED, "FAIL", {"say": "plan.machines_lost", "args": {"error": why}})
        save(order.folder, ended)
        return ended

    def _stopped(self, client: Client, futures: dict[Future, Order]) -> Iterator[Ended]:
        """Those that go end themselves once they see the sign; those that wait never start."""
        (self.progress.folder / STOP).write_text("", encoding="utf-8")
        waiting = [future for future, order in futures.items() if order.item.name not in self.progress.running]
        client.cancel(waiting)
        for future in [future for future in futures if future not in waiting]:
            ended = self._end(future, futures.pop(future))
            self.progress.ended(ended)
            yield ended

    def _told(self, event: Any) -> None:
        """What a machine says of a run that goes there."""
        _, message = event
        if message["key"] == "started":
            self.progress.started(message["run"], tuple(message["cards"]), message["where"])
        else:
            self.progress.tell(message["key"], message["args"])


def _done(client: Client, futures: list[Future]) -> list[Future]:
    from distributed import TimeoutError as Late
    from distributed import wait

    with suppress(Late), client.as_current():
        wait(futures, timeout=LOOK_S, return_when="FIRST_COMPLETED")
    return [future for future in futures if future.status != "pending"]


def unseen(folder: str, start: str) -> str:
    """On a machine of the cluster: why it does not see the folder, or may not write there; empty where all is well."""
    until, why = time.monotonic() + SEEN_S, ""
    while True:
        try:
            if (Path(folder) / START).read_text(encoding="utf-8") == start:
                return "" if os.access(folder, os.W_OK | os.X_OK) else os.strerror(errno.EACCES)
            why = "another folder of the same name"
        except OSError as error:
            why = error.strerror or str(error)
        if time.monotonic() > until:
            return why
        time.sleep(locks.AGAIN_S)


def serve(text: str, epoch: float) -> dict[str, Any]:
    """A run from its order to its end, in a thread of a machine of the cluster. `epoch` is the second of the epoch at
    which the client's monotonic clock began: the order's time is by that one."""
    from distributed import get_worker

    worker, order = get_worker(), orders_of.read(text)
    if order.until:
        order = replace(order, until=order.until + epoch - (time.time() - time.monotonic()))
    where, root = f"{worker.name} ({worker.address})", Path(order.root)
    if not (root / START).is_file() or (root / START).read_text(encoding="utf-8") != order.start:
        return asdict(Ended(order.item.name, DIED, "FAIL", {"say": "plan.not_shared", "args": {
            "where": where, "folder": order.root}}, where=where))  # fmt: skip
    early = at_once(order, where)
    if early is not None:
        return asdict(early)
    cards = _cards(order)
    try:
        worker.log_event(order.start, {"key": "started", "run": order.item.name, "cards": cards.ids, "where": where})
        tell: Tell = lambda key, args: worker.log_event(order.start, {"key": key, "args": args})  # noqa: E731
        means = Means(cards, partial(_ends, root), tell, where=where)
        return asdict(conduct(order, means))
    finally:
        cards.give()


def _ends(root: Path) -> str:
    """The sign of a stop is a file: all machines see it."""
    return STOPPED if (root / STOP).exists() else ""


def _cards(order: Order) -> Taken:
    """Cards of this machine, once they are free."""
    cards = devices.cards_for(order.item, devices.probe(devices.wish(order.item)), order.card_ids)
    if cards is None:
        return NONE
    taken = cards.take(order.item.cards)
    while taken is None and not _ends(Path(order.root)):
        time.sleep(locks.AGAIN_S)
        taken = cards.take(order.item.cards)
    return taken or NONE
