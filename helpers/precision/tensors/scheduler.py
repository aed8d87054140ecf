"""Pairs of files measured on an existing Dask cluster, for dumps beyond one machine.

The machines see the dumps under the same paths and have this package. Each task is what a local worker gets, served by
the same worker process, in the same batches and blocks: the numbers are the same to the last bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from helpers.errors import WorkbookError
from helpers.precision.tensors import metrics, worker
from helpers.precision.tensors.measuring import Job, Sample
from helpers.precision.tensors.workers import Answer, Measure, batches, few, hire, measure_all, rest, served
from helpers.scheduler import connected, lost, wait_for
from helpers.words import Scalar

if TYPE_CHECKING:
    from distributed import Client, Future

@contextlib.contextmanager
def cluster(address: str) -> Iterator[Measure]:
    """What measures there as workers.measure_all does here; without an address that itself. Raises WorkbookError
    where dask.distributed is not installed, nobody answers, or the cluster has no worker or loses all."""
    if not address:
        yield measure_all
        return
    with connected(address) as client:
        yield partial(_measure, client, address)


def serve(line: str) -> str:
    """One line of jobs answered, by a worker process of the machine this runs on."""
    jobs, sample, block = worker.asked(line)
    process, found = served(hire(), jobs, sample, block)
    rest(process)
    return worker.told(found)


def _measure(client: Client, address: str, jobs: Sequence[Job], sample: Sample) -> list[Answer]:
    sample.check()
    block = metrics.BLOCK if few(jobs, sample) else worker.BLOCK
    shares = [[jobs[number] for number in batch] for batch in batches(jobs)]
    futures = client.map(serve, [worker.order(share, sample, block) for share in shares], pure=False)
    wait_for(client, address, futures)
    return [answer for share, future in zip(shares, futures) for answer in _answers(address, share, future)]


def _answers(address: str, share: list[Job], future: Future) -> list[Answer]:
    """A machine that goes takes its batch with it after some tries; a cluster that cannot run a task is an error."""
    why = lost(address, future)
    if why is None:
        return list(worker.answers(future.result()))
    silent: Scalar = {"say": "precision.printed_nothing"}
    return [WorkbookError("precision.worker_died", path=str(job.target), code=why, said=silent) for job in share]
