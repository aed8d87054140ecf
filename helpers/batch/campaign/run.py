"""`run plan.yaml`: the runs side by side, the page and the summary while they end."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from helpers import own_results
from helpers.batch.campaign.ended import STOPPED, Ended
from helpers.batch.campaign.pool import locks
from helpers.batch.campaign.pool.ahead import ahead
from helpers.batch.campaign.pool.cluster import Cluster
from helpers.batch.campaign.pool.disk import Quota
from helpers.batch.campaign.pool.local import Pool
from helpers.batch.campaign.pool.order import Order
from helpers.batch.campaign.pool.progress import Progress
from helpers.batch.mirror import Mirror, local_root
from helpers.batch.parameters import at_least_one
from helpers.batch.plan import Plan, Selection, chosen
from helpers.batch.reference import Reference, held
from helpers.batch.results import history, publish
from helpers.batch.shards.record import folder_name
from helpers.batch.workbook import NOTEBOOKS, folder_of
from helpers.errors import Stopped, WorkbookError
from helpers.finding import Status
from helpers.report import Report
from helpers.words import language

#: Seconds between two writings of the page.
PAGE_S = 1.0


class Stop(threading.Event):
    """Set where nothing more shall start; `by_user`: by a signal, not by a fault or a bound."""

    by_user = False


def run_plan(
    path: str | os.PathLike[str],
    *,
    workers: int = 0,
    root: str | os.PathLike[str] = "runs",
    lang: str | None = None,
    force: bool = False,
    selection: Selection | None = None,
    keep_red: bool = False,
    deadline_s: float = 0,
    against: str = "",
    scheduler: str = "",
    reference: str = "",
    bless: bool = False,
    notebooks: Path = NOTEBOOKS,
    say_progress: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> Report:
    """Runs all of a plan below `root`/its name, `workers` side by side (0: as the plan says); a row per run. Where
    `root` is an address (obs://), below runs/ here, and each run is sent there when it has ended. A shard of the plan
    has a folder of its own in the plan's; `join` makes one page of all.

    A run that was good for all the same is reused, with `keep_red` one that was red too; `force` runs all again.
    After `deadline_s` seconds (0: never) what goes is ended. `against` is `last` or the place of an earlier
    summary.json: what is newly red, fixed, slower comes first. `scheduler` is the address of a Dask cluster that does
    the runs instead of this machine. A good run's notebooks are held against those in the folder `reference`, which
    `bless` makes.

    Raises WorkbookError, before anything starts, for what is wrong with the plan, or
    where another process runs it; Stopped (a KeyboardInterrupt) once all is ended after SIGINT or SIGTERM.
    """
    lang = language(lang)
    at_least_one(workers=workers or 1, deadline=deadline_s or 1)
    held_against = Reference.of(reference, bless)
    plan = chosen(path, selection, lang=lang, notebooks=notebooks)
    folder = folder_of(plan.name, local_root(root))
    if plan.shard is not None:  # a folder of its own: another shard may go at the same root
        folder, root = folder / folder_name(plan.shard), f"{os.fspath(root).rstrip('/')}/{plan.name}"
    return run_all(plan, folder, root=root, workers=workers, lang=lang, force=force, keep_red=keep_red,
                   deadline_s=deadline_s, against=against, scheduler=scheduler, reference=held_against,
                   notebooks=notebooks, say_progress=say_progress)  # fmt: skip


def run_all(
    plan: Plan, folder: Path, *, workers: int, lang: str, force: bool, keep_red: bool, deadline_s: float,
    notebooks: Path, say_progress: Callable[[str], None], against: str = "", scheduler: str = "",
    reference: Reference | None = None, root: str | os.PathLike[str] = "",
) -> Report:  # fmt: skip
    """The same of a plan that was read and checked, in its folder."""
    _refuse_links(plan, folder)
    with _alone(folder), _stoppable() as stop:
        progress = Progress(folder, len(plan.items), lang, say_progress)
        quota = Quota(folder, plan.disk_mb)
        pool: Pool | Cluster = Pool(workers or plan.workers, progress, stop=stop, quota=quota)
        if scheduler:
            pool = Cluster(scheduler, progress, stop=stop, quota=quota)
        until = time.monotonic() + deadline_s if deadline_s else 0.0
        start = uuid.uuid4().hex
        orders = [Order(item, str(folder), str(notebooks.resolve()), start, force, keep_red,
                        card_ids=plan.card_ids, until=until) for item in plan.items]  # fmt: skip
        before = history.find(against, folder, plan.name) if against else None
        tell = partial(publish, plan, folder=folder, lang=lang, before=before, asked=against,
                       began=datetime.now(timezone.utc))  # fmt: skip
        tell(ended={})  # an earlier page is gone before anything is sent
        mirror = Mirror(root, folder)
        runs = mirror.parts(held(ahead(pool.run(orders), stop.set), plan, folder, reference, say_progress))
        report, last = _followed(runs, tell, stop, progress)
        report = _sent(mirror.close(report), last)
        progress.close()
        if stop.is_set() and _left(progress):
            told = {"page": str(folder / "index.html")}
            raise Stopped("plan.interrupted", **told) if stop.by_user else WorkbookError("plan.interrupted", **told)
    return report


def _followed(runs: Iterable[Ended], tell: Callable[..., Report], stop: Stop,
              progress: Progress) -> tuple[Report, Callable[..., Report]]:  # fmt: skip
    """Writes the page as they end, at most so often, and at the end, with what was noted of a run since; what was told
    last, to be told with more."""
    ended: dict[str, Ended] = {}
    tell(ended=ended)
    written = time.monotonic()
    for one in runs:
        ended[one.name] = one
        if time.monotonic() - written > PAGE_S:
            tell(ended=ended)
            written = time.monotonic()
    ended = {name: progress.noted(one) for name, one in ended.items()}
    cut = stop.is_set() and _left(progress)
    last = partial(tell, ended=ended, finished=not cut, stopped=("user" if stop.by_user else "bound") if cut else "")
    return last(), last


def _sent(report: Report, last: Callable[..., Report]) -> Report:
    """The report. Where not all could be sent, what is here says so too: for CI it is as red as the exit code."""
    unsent = tuple(one for one in report.findings if one.rule == "RUN402" and one.status is Status.FAIL)
    if unsent:
        last(beside=unsent)
    return report


def _refuse_links(plan: Plan, folder: Path) -> None:
    """Raises WorkbookError for a run's folder that is a link: its results would be written over what is there."""
    for item in plan.items:
        place = folder / item.name
        if place.is_symlink():
            raise WorkbookError("plan.linked", path=str(place), target=str(place.readlink()))


def _left(progress: Progress) -> bool:
    """Whether a run was stopped, or has not begun."""
    return bool(progress.states[STOPPED]) or progress.done < progress.total


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One runner per plan; what a killed one left running is ended first. Raises WorkbookError for a second."""
    own_results.mark(folder)
    path = folder / ".lock"
    handle = locks.take(path)
    if handle is None:
        raise WorkbookError("plan.locked", folder=str(folder), who=path.read_text(errors="replace") or "?")
    try:
        locks.sign(handle, f"{socket.gethostname()}, pid {os.getpid()}")
        yield
    finally:
        os.close(handle)


@contextmanager
def _stoppable() -> Iterator[Stop]:
    """SIGINT and SIGTERM set the event, so that runs end cleanly; a second one is a KeyboardInterrupt."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def end(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.by_user = True
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
