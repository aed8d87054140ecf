"""Many pairs of files measured by workers on all cores. A worker that dies takes one pair with it, never the rest."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Union

from helpers.errors import WorkbookError, reason
from helpers.precision.tensors import fused
from helpers.precision.tensors.measuring import WHOLE, Job, Sample, measure_files
from helpers.precision.tensors.metrics import Metrics
from helpers.precision.tensors.worker import BLOCK, answers, order
from helpers.words import Scalar

Answer = Union[Metrics, WorkbookError]
Measure = Callable[[Sequence[Job], Sample], "list[Answer]"]
ROOT = Path(__file__).resolve().parents[3]
#: Elements up to which starting workers costs more than it saves: about 0.1 s of one core.
ALONE = 8 << 20
#: Elements and jobs of one line; a worker is given the next when it has answered.
BATCH_ELEMENTS, BATCH_JOBS = 4 << 20, 64
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
#: Of what a dead worker printed so many last bytes are told.
LAST_WORDS = 400


def cores() -> int:
    """Processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def measure_all(jobs: Sequence[Job], sample: Sample = WHOLE, *, workers: int | None = None,
                tell: Callable[[int, int], None] | None = None) -> list[Answer]:  # fmt: skip
    """An answer for every job, in their order. `workers` defaults to the cores; `tell` gets (done, all).

    Raises WorkbookError where no process can be started to read what is left."""
    sample.check()
    fused.kernel()  # compiled here, if it has to be, and not by each worker
    count = min(workers or cores(), len(jobs))
    if count < 1 or workers is None and few(jobs, sample):
        return [_alone(job, sample) for job in jobs]
    return _Crew(jobs, sample, tell).run(count)


def few(jobs: Sequence[Job], sample: Sample) -> bool:
    """Whether there is so little to read that this process does it, in blocks of metrics.BLOCK."""
    return sum(job.elements for job in jobs) * sample.share <= ALONE


def _alone(job: Job, sample: Sample) -> Answer:
    try:
        return measure_files(job, sample)
    except WorkbookError as cause:
        return cause


class Worker:
    """One process. It is started at once and found ready when it is first asked."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": path}
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # a pipe that nobody reads would stop the worker
        self.process = subprocess.Popen(
            [sys.executable, "-m", "helpers.precision.tensors.worker"], env=environment, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=ROOT,
        )  # fmt: skip

    def ask(self, jobs: list[Job], sample: Sample, block: int = BLOCK) -> list[Answer] | None:
        """Answers, or None where the worker died."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(order(jobs, sample, block) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            return None
        return list(answers(line)) if line.endswith("\n") else None

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def last_words(self) -> Scalar:
        """What a dead worker printed last, in one line."""
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - LAST_WORDS))
        text = " ".join(self.errors.read().decode("utf-8", "replace").split())
        return "".join(one if one.isprintable() else "?" for one in text) or {"say": "precision.printed_nothing"}

    def close(self) -> None:
        """Ends the process: it leaves when its input does."""
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            if stream:
                with contextlib.suppress(OSError):  # a dead worker's pipe cannot be flushed
                    stream.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _Crew:
    """The jobs of one call, shared among workers by one thread each."""

    def __init__(self, jobs: Sequence[Job], sample: Sample, tell: Callable[[int, int], None] | None) -> None:
        self.jobs, self.sample, self.tell = jobs, sample, tell
        self.found: dict[int, Answer] = {}
        self.troubles: list[OSError] = []
        self.batches: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
        for batch in batches(jobs):
            self.batches.put(batch)

    def run(self, count: int) -> list[Answer]:
        threads: list[threading.Thread] = []
        try:
            while len(threads) < count:
                thread = threading.Thread(target=self._serve, daemon=True)
                thread.start()
                threads.append(thread)
        except RuntimeError as cause:  # what threading raises where the limit of processes is reached
            self.troubles.append(OSError(errno.EAGAIN, str(cause)))
        for thread in threads:
            thread.join()
        if self.troubles and len(self.found) < len(self.jobs):  # else fewer workers than asked for have done it all
            raise WorkbookError("precision.no_worker", error=reason(self.troubles[0])) from self.troubles[0]
        return [self.found[number] for number in range(len(self.jobs))]

    def _serve(self) -> None:
        try:
            self._work(hire())
        except OSError as cause:
            self.troubles.append(cause)

    def _work(self, worker: Worker) -> None:
        while True:
            try:
                batch = self.batches.get_nowait()
            except queue.Empty:
                break
            worker, found = served(worker, [self.jobs[number] for number in batch], self.sample)
            self.found.update(zip(batch, found))
            if self.tell:
                self.tell(len(self.found), len(self.jobs))
        rest(worker)


def served(worker: Worker, jobs: list[Job], sample: Sample, block: int = BLOCK) -> tuple[Worker, list[Answer]]:
    """All answers, and the worker to ask next. Jobs whose worker died are asked one by one, so that the one that kills
    is known."""
    found = worker.ask(jobs, sample, block)
    if found is not None:
        return worker, found
    worker.close()
    worker, rows = Worker(), []
    for job in jobs:
        found = worker.ask([job], sample, block)
        if found is None:
            code = worker.process.wait()
            found = [WorkbookError("precision.worker_died", path=str(job.target), code=code,
                                   said=worker.last_words())]  # fmt: skip
            worker.close()
            worker = Worker()
        rows += found
    return worker, rows


def batches(jobs: Sequence[Job]) -> list[list[int]]:
    """Numbers of jobs that go together: in order, up to so many elements and so many jobs."""
    found: list[list[int]] = []
    elements = BATCH_ELEMENTS
    for number, job in enumerate(jobs):
        if elements + job.elements > BATCH_ELEMENTS or len(found[-1]) >= BATCH_JOBS:
            found.append([])
            elements = 0
        found[-1].append(number)
        elements += job.elements
    return found


_resting: list[Worker] = []
_lock = threading.Lock()


def hire() -> Worker:
    """A worker that an earlier call left, or a new one."""
    with _lock:
        while _resting:
            worker = _resting.pop()
            if worker.alive:
                return worker
            worker.close()
    return Worker()


def rest(worker: Worker) -> None:
    """Keeps a worker for the next call."""
    with _lock:
        _resting.append(worker)


@atexit.register
def dismiss() -> None:
    """Ends the workers that wait for a next call."""
    with _lock:
        while _resting:
            _resting.pop().close()
