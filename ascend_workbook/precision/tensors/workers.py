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

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.tensors import fused, metrics
from ascend_workbook.precision.tensors.measuring import WHOLE, Job, Sample
from ascend_workbook.precision.tensors.metrics import Metrics
from ascend_workbook.precision.tensors.worker import BLOCK, measure_job, read_answers, write_order

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


def count_cores() -> int:
    """Count the processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def measure_all(
    jobs: Sequence[Job],
    sample: Sample = WHOLE,
    *,
    workers: int | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> list[Answer]:
    """Answer every job, in their order. `workers` defaults to the cores; `tell` gets (done, all).

    Raises WorkbookError where no process can be started to read what is left."""
    sample.check()
    fused.load_kernel()  # compiled here, if it has to be, and not by each worker
    count = min(workers or count_cores(), len(jobs))
    if count < 1 or workers is None and is_little_data(jobs, sample):
        return [measure_job(job, sample, metrics.BLOCK) for job in jobs]
    return _Crew(jobs, sample, tell).run_workers(count)


def is_little_data(jobs: Sequence[Job], sample: Sample) -> bool:
    """Return whether there is so little to read that this process does it, in blocks of metrics.BLOCK."""
    return sum(job.elements for job in jobs) * sample.share <= ALONE


class Worker:
    """One process. It is started at once and found ready when it is first asked."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": path}
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # a pipe that nobody reads would stop the worker
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ascend_workbook.precision.tensors.worker"],
            env=environment,
            text=True,
            encoding="utf-8",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            cwd=ROOT,
        )

    def request_answers(self, jobs: list[Job], sample: Sample, block: int = BLOCK) -> list[Answer] | None:
        """Return the answers, or None where the worker died."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(write_order(jobs, sample, block) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            return None
        return list(read_answers(line)) if line.endswith("\n") else None

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def last_words(self) -> Scalar:
        """Return what a dead worker printed last, in one line."""
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - LAST_WORDS))
        text = " ".join(self.errors.read().decode("utf-8", "replace").split())
        return "".join(character if character.isprintable() else "?" for character in text) or Sentence(
            "precision.printed_nothing"
        )

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
        self.answers: dict[int, Answer] = {}
        self.troubles: list[OSError] = []
        self.batches: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
        for batch in split_batches(jobs):
            self.batches.put(batch)

    def run_workers(self, count: int) -> list[Answer]:
        threads: list[threading.Thread] = []
        try:
            while len(threads) < count:
                thread = threading.Thread(target=self._serve_thread, daemon=True)
                thread.start()
                threads.append(thread)
        except RuntimeError as cause:  # what threading raises where the limit of processes is reached
            self.troubles.append(OSError(errno.EAGAIN, str(cause)))
        for thread in threads:
            thread.join()
        if self.troubles and len(self.answers) < len(self.jobs):  # else fewer workers than asked for have done it all
            raise WorkbookError("precision.no_worker", error=explain_os_error(self.troubles[0])) from self.troubles[0]
        return [self.answers[number] for number in range(len(self.jobs))]

    def _serve_thread(self) -> None:
        try:
            worker = hire_worker()
            with contextlib.suppress(queue.Empty):
                while True:
                    batch = self.batches.get_nowait()
                    worker, answers = serve_jobs(worker, [self.jobs[number] for number in batch], self.sample)
                    self.answers.update(zip(batch, answers))
                    if self.tell:
                        self.tell(len(self.answers), len(self.jobs))
            keep_worker(worker)
        except OSError as cause:
            self.troubles.append(cause)


def serve_jobs(worker: Worker, jobs: list[Job], sample: Sample, block: int = BLOCK) -> tuple[Worker, list[Answer]]:
    """All answers, and the worker to ask next. Jobs whose worker died are asked one by one, so that the one that kills
    is known."""
    answers = worker.request_answers(jobs, sample, block)
    if answers is not None:
        return worker, answers
    worker.close()
    worker, rows = Worker(), []
    for job in jobs:
        answers = worker.request_answers([job], sample, block)
        if answers is None:
            code = worker.process.wait()
            answers = [
                WorkbookError("precision.worker_died", path=str(job.target), code=code, said=worker.last_words())
            ]
            worker.close()
            worker = Worker()
        rows += answers
    return worker, rows


def split_batches(jobs: Sequence[Job]) -> list[list[int]]:
    """Split the jobs into batches of numbers: in order, up to so many elements and so many jobs."""
    groups: list[list[int]] = []
    elements = 0  # of the last one
    for number, job in enumerate(jobs):
        if not groups or elements + job.elements > BATCH_ELEMENTS or len(groups[-1]) >= BATCH_JOBS:
            groups.append([])
            elements = 0
        groups[-1].append(number)
        elements += job.elements
    return groups


_resting: list[Worker] = []
_lock = threading.Lock()


def hire_worker() -> Worker:
    """Return a worker that an earlier call left, or a new one."""
    with _lock:
        while _resting:
            worker = _resting.pop()
            if worker.is_alive:
                return worker
            worker.close()
    return Worker()


def keep_worker(worker: Worker) -> None:
    """Keep a worker for the next call."""
    with _lock:
        _resting.append(worker)


@atexit.register
def dismiss_workers() -> None:
    """End the workers that wait for a next call."""
    with _lock:
        while _resting:
            _resting.pop().close()
