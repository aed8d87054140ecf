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

from ascend_workbook.batch.campaign.ended import STOPPED, Ended
from ascend_workbook.batch.campaign.pool import locks
from ascend_workbook.batch.campaign.pool.ahead import iterate_ahead
from ascend_workbook.batch.campaign.pool.cluster import Cluster
from ascend_workbook.batch.campaign.pool.disk import Quota
from ascend_workbook.batch.campaign.pool.local import Pool
from ascend_workbook.batch.campaign.pool.order import Order
from ascend_workbook.batch.campaign.pool.progress import Progress
from ascend_workbook.batch.mirror import Mirror, local_root
from ascend_workbook.batch.parameters import check_at_least_one
from ascend_workbook.batch.plan import Plan, Selection, select_runs
from ascend_workbook.batch.reference import Reference, compare_runs
from ascend_workbook.batch.results import history, publish_results
from ascend_workbook.batch.shards.record import folder_name
from ascend_workbook.batch.stages import NOTEBOOKS, run_folder
from ascend_workbook.findings.errors import Stopped, WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import choose_language
from ascend_workbook.storage import own_results

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
    """Run all of a plan below `root`/its name, `workers` side by side (0: as the plan says). Where `root` is an address
    (obs://), below runs/ here, and each run is sent there when it has ended. A shard of the plan has a folder of its
    own in the plan's; `join` makes one page of all.

    A run that was good for all the same is reused, with `keep_red` one that was red too; `force` runs all again.
    After `deadline_s` seconds (0: never) what goes is ended. `against` is `last` or the place of an earlier
    summary.json: what is newly red, fixed, slower comes first. `scheduler` is the address of a Dask cluster that does
    the runs instead of this machine. A good run's notebooks are held against those in the folder `reference`, which
    `bless` makes.

    Raises WorkbookError, before anything starts, for what is wrong with the plan, or
    where another process runs it; Stopped (a KeyboardInterrupt) once all is ended after SIGINT or SIGTERM.
    """
    lang = choose_language(lang)
    check_at_least_one(workers=workers or 1, deadline=deadline_s or 1)
    held_against = Reference.from_options(reference, bless)
    plan = select_runs(path, selection, lang=lang, notebooks=notebooks)
    folder = run_folder(plan.name, local_root(root))
    if plan.shard is not None:  # a folder of its own: another shard may go at the same root
        folder, root = folder / folder_name(plan.shard), f"{os.fspath(root).rstrip('/')}/{plan.name}"
    return run_all(
        plan,
        folder,
        root=root,
        workers=workers,
        lang=lang,
        force=force,
        keep_red=keep_red,
        deadline_s=deadline_s,
        against=against,
        scheduler=scheduler,
        reference=held_against,
        notebooks=notebooks,
        say_progress=say_progress,
    )


def run_all(
    plan: Plan,
    folder: Path,
    *,
    workers: int,
    lang: str,
    force: bool,
    keep_red: bool,
    deadline_s: float,
    notebooks: Path,
    say_progress: Callable[[str], None],
    against: str = "",
    scheduler: str = "",
    reference: Reference | None = None,
    root: str | os.PathLike[str] = "",
) -> Report:
    """Run a plan that was read and checked, in its folder."""
    _refuse_links(plan, folder)
    with _lock_plan(folder), _catch_stop_signals() as stop:
        progress = Progress(folder, len(plan.items), lang, say_progress)
        quota = Quota(folder, plan.disk_mb)
        pool: Pool | Cluster = Pool(workers or plan.workers, progress, stop=stop, quota=quota)
        if scheduler:
            pool = Cluster(scheduler, progress, stop=stop, quota=quota)
        until = time.monotonic() + deadline_s if deadline_s else 0.0
        start = uuid.uuid4().hex
        orders = [
            Order(
                item, str(folder), str(notebooks.resolve()), start, force, keep_red, card_ids=plan.card_ids, until=until
            )
            for item in plan.items
        ]
        before = history.find_earlier(against, folder, plan.name) if against else None
        tell = partial(
            publish_results,
            plan,
            folder=folder,
            lang=lang,
            before=before,
            asked_for=against,
            began=datetime.now(timezone.utc),
        )
        tell(ended={})  # an earlier page is gone before anything is sent
        mirror = Mirror(root, folder)
        runs = mirror.send_parts(
            compare_runs(iterate_ahead(pool.run_orders(orders), stop.set), plan, folder, reference, say_progress)
        )
        report, last = _follow_runs(runs, tell, stop, progress)
        report = _mark_unsent(mirror.finish_sending(report), last)
        progress.close_status()
        if stop.is_set() and _is_unfinished(progress):
            page_args = {"page": str(folder / "index.html")}
            raise (
                Stopped("plan.interrupted", **page_args)
                if stop.by_user
                else WorkbookError("plan.interrupted", **page_args)
            )
    return report


def _follow_runs(
    runs: Iterable[Ended], tell: Callable[..., Report], stop: Stop, progress: Progress
) -> tuple[Report, Callable[..., Report]]:
    """Write the page as the runs end, at most so often, and at the end. It tells what was noted of a run since. Return
    the report, and what was told last, to be told with more."""
    ended: dict[str, Ended] = {}
    tell(ended=ended)
    written_at = time.monotonic()
    for ended_run in runs:
        ended[ended_run.name] = ended_run
        if time.monotonic() - written_at > PAGE_S:
            tell(ended=ended)
            written_at = time.monotonic()
    ended = {name: progress.add_notes(ended_run) for name, ended_run in ended.items()}
    cut = stop.is_set() and _is_unfinished(progress)
    last = partial(tell, ended=ended, finished=not cut, stopped=("user" if stop.by_user else "bound") if cut else "")
    return last(), last


def _mark_unsent(report: Report, last: Callable[..., Report]) -> Report:
    """Return the report; where not all could be sent, write that into the local page too. Where not all could be sent,
    what is here says so too: for CI it is as red as the exit code.
    """
    unsent = tuple(finding for finding in report.findings if finding.rule == "RUN402" and finding.status is Status.FAIL)
    if unsent:
        last(beside=unsent)
    return report


def _refuse_links(plan: Plan, folder: Path) -> None:
    """Raises WorkbookError for a run's folder that is a link: its results would be written over what is there."""
    for item in plan.items:
        place = folder / item.name
        if place.is_symlink():
            raise WorkbookError("plan.linked", path=str(place), target=str(place.readlink()))


def _is_unfinished(progress: Progress) -> bool:
    """Return whether a run was stopped, or has not begun."""
    return bool(progress.states[STOPPED]) or progress.done_count < progress.total


@contextmanager
def _lock_plan(folder: Path) -> Iterator[None]:
    """Let only one runner work on a plan; what a killed one left running is ended first. Raises WorkbookError for a
    second.
    """
    own_results.mark_results(folder)
    path = folder / ".lock"
    handle = locks.take_lock(path)
    if handle is None:
        raise WorkbookError("plan.locked", folder=str(folder), who=path.read_text(errors="replace") or "?")
    try:
        locks.sign_lock(handle, f"{socket.gethostname()}, pid {os.getpid()}")
        yield
    finally:
        os.close(handle)


@contextmanager
def _catch_stop_signals() -> Iterator[Stop]:
    """Let SIGINT and SIGTERM set an event, so that runs end cleanly. A second one is a KeyboardInterrupt."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle_signal(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.by_user = True
        stop.set()

    before = {number: signal.signal(number, handle_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
