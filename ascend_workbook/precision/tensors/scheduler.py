"""Pairs of files measured on an existing Dask cluster, for dumps beyond one machine.

The machines see the dumps under the same paths and have this package. Each task is what a local worker gets, served by
the same worker process, in the same batches and blocks: the numbers are the same to the last bit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.scheduler import connect_client, explain_loss, wait_for
from ascend_workbook.precision.tensors import metrics, worker, workers
from ascend_workbook.precision.tensors.measuring import Job, Sample

if TYPE_CHECKING:
    from distributed import Client, Future


@contextlib.contextmanager
def open_cluster(address: str) -> Iterator[workers.Measure]:
    """Yield a function that measures on the cluster as workers.measure_all does here; without an address that itself.
    Raises WorkbookError where dask.distributed is not installed, nobody answers, or the cluster has no worker or loses
    all."""
    if not address:
        yield workers.measure_all
        return
    with connect_client(address) as client:
        yield partial(_measure_on_cluster, client, address)


def serve_line(line: str) -> str:
    """Answer one line of jobs by a worker process of the machine this runs on."""
    jobs, sample, block = worker.parse_request(line)
    process, answers = workers.serve_jobs(workers.hire_worker(), jobs, sample, block)
    workers.keep_worker(process)
    return worker.write_answer(answers)


def _measure_on_cluster(client: Client, address: str, jobs: Sequence[Job], sample: Sample) -> list[workers.Answer]:
    sample.check()
    block = metrics.BLOCK if workers.is_little_data(jobs, sample) else worker.BLOCK
    shares = [[jobs[number] for number in batch] for batch in workers.split_batches(jobs)]
    futures = client.map(serve_line, [worker.write_order(share, sample, block) for share in shares], pure=False)
    wait_for(client, address, futures)
    return [answer for share, future in zip(shares, futures) for answer in _collect_answers(address, share, future)]


def _collect_answers(address: str, share: list[Job], future: Future) -> list[workers.Answer]:
    """Collect the answers of one batch; a machine that goes takes its batch with it after some tries."""
    why = explain_loss(address, future)
    if why is None:
        return list(worker.read_answers(future.result()))
    silent: Scalar = Sentence("precision.printed_nothing")
    return [WorkbookError("precision.worker_died", path=str(job.target), code=why, said=silent) for job in share]
