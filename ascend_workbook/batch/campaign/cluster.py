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

from ascend_workbook.batch.campaign import order as orders_of
from ascend_workbook.batch.campaign.cards import AGAIN_S, NONE, Taken, cards_for, probe_device, requested_device
from ascend_workbook.batch.campaign.conduct import Means, Tell, conduct_run, end_at_once
from ascend_workbook.batch.campaign.ended import DIED, STOPPED, Ended, load_ended, restore_ended, save_ended
from ascend_workbook.batch.campaign.order import Order
from ascend_workbook.batch.campaign.progress import Progress, Quota, make_room
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.scheduler import ALONE, connect_client, explain_loss

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

    def __init__(self, address: str, progress: Progress, *, stop: threading.Event, quota: Quota) -> None:
        self.address, self.progress, self.stop, self.quota = address, progress, stop, quota

    def run_orders(self, orders: Sequence[Order]) -> Iterator[Ended]:
        """Run all orders on the cluster and yield how each ended. Raises WorkbookError where the cluster is not there,
        or loses all its workers."""
        if not orders:
            return
        root = self.progress.folder
        (root / STOP).unlink(missing_ok=True)
        (root / START).write_text(orders[0].start, encoding="utf-8")
        with connect_client(self.address) as client:
            # before anything is sent there: what machines do that do not see the plan's folder would be lost
            try:
                reasons: dict[str, str] = client.run(why_unseen, str(root), (orders[0].start))
            except Exception as cause:  # whatever the machine could not do, as to find this package
                why = f"{type(cause).__name__}: {cause}"
                raise WorkbookError("scheduler.failed", address=self.address, error=why) from cause
            blind: list[Scalar] = [f"{machine} ({why})" for machine, why in reasons.items() if why]
            if blind:
                raise WorkbookError("plan.not_shared", where=blind, folder=str(root))
            client.subscribe_topic(orders[0].start, self._handle_message)
            epoch = time.time() - time.monotonic()  # machines have no other clock in common
            futures = {}
            for order in orders:
                key = f"{order.item.name}-{order.start}"
                futures[client.submit(serve_order, order.to_json(), epoch, key=key, pure=False)] = order
            yield from self._follow_futures(client, futures)

    def _follow_futures(self, client: Client, futures: dict[Future, Order]) -> Iterator[Ended]:
        from distributed import TimeoutError as TimedOut
        from distributed import wait

        alone_since = time.monotonic()
        while futures:
            if client.nthreads():
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > ALONE:
                raise WorkbookError("scheduler.empty", address=self.address)
            if self.stop.is_set():
                yield from self._stop_runs(client, futures)
                return
            with suppress(TimedOut), client.as_current():
                wait(list(futures), timeout=LOOK_S, return_when="FIRST_COMPLETED")
            for future in [future for future in futures if future.status != "pending"]:
                ended = self._finish_run(future, futures.pop(future))
                self.progress.note_end(ended)
                yield ended
            self.progress.refresh_status()
            if make_room(self.quota, self.progress):  # the machines see no other's runs: none starts, all that go end
                self.stop.set()

    def _finish_run(self, future: Future, order: Order) -> Ended:
        why = explain_loss(self.address, future)
        if why is None:
            ended = restore_ended(future.result())
            if load_ended(order.folder) is None:  # by a machine that does not see the folder
                order.folder.mkdir(parents=True, exist_ok=True)
                save_ended(order.folder, ended)
            return ended
        ended = Ended(order.item.name, DIED, Status.FIX.json, Sentence("plan.machines_lost", error=why))
        save_ended(order.folder, ended)
        return ended

    def _stop_runs(self, client: Client, futures: dict[Future, Order]) -> Iterator[Ended]:
        """Stop all runs and yield how those that were going ended. Those that go end themselves once they see the sign;
        those that wait never start."""
        (self.progress.folder / STOP).write_text("", encoding="utf-8")
        waiting = [future for future, order in futures.items() if order.item.name not in self.progress.running]
        client.cancel(waiting)
        for future in [future for future in futures if future not in waiting]:
            ended = self._finish_run(future, futures.pop(future))
            self.progress.note_end(ended)
            yield ended

    def _handle_message(self, event: Any) -> None:
        """Handle what a machine says of a run that goes there."""
        _, message = event
        if message["key"] == "started":
            self.progress.note_start(message["run"], tuple(message["cards"]))
        else:
            self.progress.tell_event(message["key"], message["args"])


def why_unseen(folder: str, start: str) -> str:
    """Return why a machine of the cluster does not see the folder or may not write there; empty where all is well."""
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
        time.sleep(AGAIN_S)


def serve_order(text: str, epoch: float) -> dict[str, object]:
    """Run an order to its end in a thread of a machine of the cluster. `epoch` is the second of the epoch at which the
    client's monotonic clock began: the order's time is by that one."""
    from distributed import get_worker

    worker, order = get_worker(), orders_of.read_order(text)
    if order.until:
        order = replace(order, until=order.until + epoch - (time.time() - time.monotonic()))
    machine, root = f"{worker.name} ({worker.address})", Path(order.root)
    if not (root / START).is_file() or (root / START).read_text(encoding="utf-8") != order.start:
        verdict = Sentence("plan.not_shared", where=machine, folder=order.root)
        return asdict(Ended(order.item.name, DIED, Status.FIX.json, verdict, where=machine))
    early = end_at_once(order, machine)
    if early is not None:
        return asdict(early)
    cards = _take_cards(order)
    try:
        worker.log_event(order.start, {"key": "started", "run": order.item.name, "cards": cards.ids, "where": machine})
        tell: Tell = lambda key, args: worker.log_event(order.start, {"key": key, "args": args})  # noqa: E731
        means = Means(cards, partial(_stop_state, root), tell, where=machine)
        return asdict(conduct_run(order, means))
    finally:
        cards.give_back()


def _stop_state(root: Path) -> str:
    """Return STOPPED once the file that stops all machines is there."""
    return STOPPED if (root / STOP).exists() else ""


def _take_cards(order: Order) -> Taken:
    """Take cards of this machine, once they are free."""
    cards = cards_for(order.item, probe_device(requested_device(order.item)), order.card_ids)
    if cards is None:
        return NONE
    taken = cards.take_cards(order.item.cards)
    while taken is None and not _stop_state(Path(order.root)):
        time.sleep(AGAIN_S)
        taken = cards.take_cards(order.item.cards)
    return taken or NONE
