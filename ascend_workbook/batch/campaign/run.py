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
from queue import Queue
from typing import TypeVar, Union

from ascend_workbook.batch.campaign.cards import sign_lock, take_lock
from ascend_workbook.batch.campaign.cluster import Cluster
from ascend_workbook.batch.campaign.ended import STOPPED, Ended
from ascend_workbook.batch.campaign.local import Pool
from ascend_workbook.batch.campaign.order import Order
from ascend_workbook.batch.campaign.progress import Progress, Quota
from ascend_workbook.batch.mirror import Mirror, local_root
from ascend_workbook.batch.plan.selection import Selection, select_runs
from ascend_workbook.batch.reference.compare import Reference, compare_runs
from ascend_workbook.batch.results.history import find_earlier
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.batch.results.shard import folder_name
from ascend_workbook.batch.stages import NOTEBOOKS, check_at_least_one, run_folder
from ascend_workbook.findings.errors import Stopped, WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import choose_language
from ascend_workbook.storage.saving import mark_results

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
    keep_going: bool = False,
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
    own in the plan's; `join` makes one page of all. A run that was good for all the same is reused, with `keep_red` one
    that was red too; `force` runs all again, and `keep_going` the stages behind one that is Fix. After `deadline_s`
    seconds (0: never) what goes is ended. `against` is `last` or the place of an earlier summary.json: what is newly
    red, fixed, slower comes first. `scheduler` is the address of a Dask cluster that does the runs instead of this
    machine. A good run's notebooks are held against those in the folder `reference`, which `bless` makes. Raises
    WorkbookError, before anything starts, for what is wrong with the plan, or where another process runs it; Stopped (a
    KeyboardInterrupt) once all is ended after SIGINT or SIGTERM."""
    check_at_least_one(workers=workers or 1, deadline=deadline_s or 1)
    lang = choose_language(lang)
    held_against = Reference.from_options(reference, bless, _repeat_plan(path, root, lang, selection))
    plan = select_runs(path, selection, lang=lang, notebooks=notebooks)
    folder = run_folder(plan.name, local_root(root))
    if plan.shard is not None:  # a folder of its own: another shard may go at the same root
        folder, root = folder / folder_name(plan.shard), f"{os.fspath(root).rstrip('/')}/{plan.name}"
    for place in (folder / item.name for item in plan.items):
        if place.is_symlink():  # results would be written over what is there
            raise WorkbookError("plan.linked", path=str(place), target=str(place.readlink()))
    with _lock_plan(folder), _catch_stop_signals() as stop:
        progress, quota = Progress(folder, len(plan.items), lang, say_progress), Quota(folder, plan.disk_mb)
        pool: Pool | Cluster = Pool(workers or plan.workers, progress, stop=stop, quota=quota)
        if scheduler:
            pool = Cluster(scheduler, progress, stop=stop, quota=quota)
        make_order = partial(
            Order,
            root=str(folder),
            notebooks=str(notebooks.resolve()),
            start=uuid.uuid4().hex,
            force=force,
            keep_red=keep_red,
            keep_going=keep_going,
            card_ids=plan.card_ids,
            until=time.monotonic() + deadline_s if deadline_s else 0.0,
        )
        tell = partial(
            publish_results,
            plan,
            folder=folder,
            lang=lang,
            before=find_earlier(against, folder, plan.name) if against else None,
            asked_for=against,
            began=datetime.now(timezone.utc),
        )
        tell(ended={})  # an earlier page is gone before anything is sent
        mirror = Mirror(root, folder)
        runs = iterate_ahead(pool.run_orders(list(map(make_order, plan.items))), stop.set)
        runs = mirror.send_parts(compare_runs(runs, plan, folder, held_against, say_progress))
        report, last = _follow_runs(runs, tell, stop, progress)
        report = _mark_unsent(mirror.finish_sending(report), last)
        progress.close_status()
        if stop.is_set() and _is_unfinished(progress):
            error = Stopped if stop.by_user else WorkbookError
            raise error("plan.interrupted", page=str(folder / "index.html"))
    return report


def _repeat_plan(
    path: str | os.PathLike[str], root: str | os.PathLike[str], lang: str, selection: Selection | None
) -> tuple[str, ...]:
    """Make the words that start this plan, or this shard of it, again."""
    words = ["ascend-workbook", "run", os.fspath(path), "--lang", lang]
    words += ["--root", os.fspath(root)] if os.fspath(root) != "runs" else []
    shard = selection.shard if selection else None
    return (*words, "--shard", f"{shard[0]}/{shard[1]}") if shard else tuple(words)


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
    """Return the report; where not all could be sent, what is here says so too: as red as the exit code."""
    unsent = tuple(finding for finding in report.findings if finding.rule == "RUN402" and finding.status is Status.FIX)
    if unsent:
        last(beside=unsent)
    return report


def _is_unfinished(progress: Progress) -> bool:
    """Return whether a run was stopped, or has not begun."""
    return bool(progress.states[STOPPED]) or progress.done_count < progress.total


@contextmanager
def _lock_plan(folder: Path) -> Iterator[None]:
    """Let only one runner work on a plan. Raises WorkbookError for a second."""
    mark_results(folder)
    path = folder / ".lock"
    handle = take_lock(path)
    if handle is None:
        raise WorkbookError("plan.locked", folder=str(folder), who=path.read_text(errors="replace") or "?")
    try:
        sign_lock(handle, f"{socket.gethostname()}, pid {os.getpid()}")
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


T = TypeVar("T")
END = object()


def iterate_ahead(items: Iterator[T], stop: Callable[[], None]) -> Iterator[T]:
    """Yield the items, which a thread takes from `items` ahead of use. What that raises is raised here, after what came
    before it; `stop` is called where nobody takes them to the end, and must make `items` end."""
    queue: Queue[Union[T, BaseException, object]] = Queue()

    def fill_queue() -> None:
        try:
            for item in items:
                queue.put(item)
            queue.put(END)
        except BaseException as error:  # noqa: BLE001 - raised again by who takes
            queue.put(error)

    thread = threading.Thread(target=fill_queue)
    thread.start()
    try:
        while (item := queue.get()) is not END:
            if isinstance(item, BaseException):
                raise item
            yield item  # type: ignore[misc]
    except BaseException:
        stop()
        raise
    finally:
        thread.join()
