"""Jobs on several threads. A job may give more jobs, which come first, so that a file is ended before others begin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

#: Nested as deep as there are stages of a file; mypy has no words for that.
Job = Callable[[], "Iterable[Any]"]


def run_jobs(first: Iterable[Job], workers: int) -> None:
    """Run all jobs; the first error ends the rest, jobs under way are waited for, and it is raised."""
    todo: Iterator[Job] = iter(first)
    more: list[Job] = []
    running: set[Future[Iterable[Job]]] = set()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="transfer")
    try:
        while True:
            while len(running) < 2 * workers and (job := more.pop() if more else next(todo, None)) is not None:
                running.add(pool.submit(job))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                more.extend(reversed(list(future.result())))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
