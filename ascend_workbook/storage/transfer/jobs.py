"""How far a transfer is: counted by its threads, told in lines, no more than one in two seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from ascend_workbook.findings.sentence import say

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


EVERY_S = 2.0
Tell = Callable[[str], None]


@dataclass
class Progress:
    """`verb` is the words' key of the line. Files and bytes ended (sent now, or found there already) of those planned;
    `requests` are the parts and small files that really went over the wire now, with their `moved` bytes."""

    verb: str
    files: int
    bytes: int = 0
    tell: Tell | None = None
    ended: int = 0
    kept: int = 0
    requests: int = 0
    moved: int = 0
    _last: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count_part(self, count: int) -> None:
        """Count the bytes of one request that have arrived."""
        with self._lock:
            self.requests += 1
            self.moved += count
        self._report_progress()

    def count_file(self, *, was_there: bool = False) -> None:
        """Count a file that has ended. `was_there`: nothing had to move."""
        with self._lock:
            self.ended += 1
            self.kept += was_there
        self._report_progress()

    def _report_progress(self) -> None:
        with self._lock:
            due = self.tell is not None and time.monotonic() - self._last >= EVERY_S
            if due:
                self._last = time.monotonic()
            line = {"done": self.ended, "files": self.files, "moved": to_mib(self.moved), "bytes": to_mib(self.bytes)}
        if due and self.tell is not None:
            self.tell(say(self.verb, **line))


def to_mib(count: int) -> float:
    """Convert bytes to MiB with one digit behind the point."""
    return round(count / (1 << 20), 1)
