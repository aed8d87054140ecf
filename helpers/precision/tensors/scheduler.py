"""Pairs of files measured on an existing Dask cluster, for dumps beyond one machine.

The machines see the dumps under the same paths and have this package. Each task is what a local worker gets, served by
the same worker process, in the same batches and blocks: the numbers are the same to the last bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from helpers.errors import WorkbookError
from helpers.precision.tensors import metrics, worker
from helpers.precision.tensors.measuring import Job, Sample
from helpers.precision.tensors.workers import Answer, Measure, batches, few, hire, measure_all, rest, served
from helpers.words import Scalar

if TYPE_CHECKING:
    from distributed import Client, Future

#: Seconds to find the scheduler and one worker of it; between looks at what is done; without any worker.
CONNECT, LOOK, ALONE = 10, 5, 60


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Measure]:
    """What measures there as workers.measure_all does here; without an address that itself. Raises WorkbookError
    where dask.distributed is not installed, nobody answers, or the cluster has no worker or loses all."""
    if not address:
        yield measure_all
        return
    with contextlib.closing(_client(address)) as client:
        yield partial(_measure, client, address)


def serve(line: str) -> str:
    """One line of jobs answered, by a worker process of the machine this runs on."""
    jobs, sample, block = worker.asked(line)
    process, found = served(hire(), jobs, sample, block)
    rest(process)
    return worker.told(found)


def _client(address: str) -> Client:
    try:
        from distributed import Client
        from distributed import TimeoutError as Late  # before Python 3.11 not the builtin one
    except ImportError as cause:
        raise WorkbookError("precision.scheduler_missing", error=str(cause)) from cause
    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as cause:
        raise WorkbookError("precision.scheduler_silent", address=address, error=str(cause)) from cause
    try:
        client.wait_for_workers(1, timeout=CONNECT)
    except Late as cause:
        client.close()
        raise WorkbookError("precision.scheduler_empty", address=address) from cause
    return client


def _measure(client: Client, address: str, jobs: Sequence[Job], sample: Sample) -> list[Answer]:
    sample.check()
    block = metrics.BLOCK if few(jobs, sample) else worker.BLOCK
    shares = [[jobs[number] for number in batch] for batch in batches(jobs)]
    futures = client.map(serve, [worker.order(share, sample, block) for share in shares], pure=False)
    _wait(client, address, futures)
    return [answer for share, future in zip(shares, futures) for answer in _answers(address, share, future)]


def _wait(client: Client, address: str, futures: list[Future]) -> None:
    from distributed import TimeoutError as Late
    from distributed import wait

    alone = 0
    while True:
        try:
            with client.as_current():
                wait(futures, timeout=LOOK)
            return
        except Late as cause:
            alone = 0 if client.nthreads() else alone + LOOK
            if alone >= ALONE:
                raise WorkbookError("precision.scheduler_empty", address=address) from cause


def _answers(address: str, share: list[Job], future: Future) -> list[Answer]:
    """A machine that goes takes its batch with it after some tries; a cluster that cannot run a task is an error."""
    if future.status == "finished":
        return list(worker.answers(future.result()))
    error: Any = future.exception() if future.status == "error" else future.status
    if type(error).__name__ == "KilledWorker":
        silent: Scalar = {"say": "precision.printed_nothing"}
        return [WorkbookError("precision.worker_died", path=str(job.target), code=str(error), said=silent)
                for job in share]  # fmt: skip
    raise WorkbookError("precision.scheduler_failed", address=address, error=f"{type(error).__name__}: {error}")
