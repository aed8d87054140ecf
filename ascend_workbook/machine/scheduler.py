"""An existing Dask cluster, asked for by its scheduler's address: found, waited for, and its failures in our words.

Each machine of it sees the data under the same paths and has this package.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ascend_workbook.findings.errors import WorkbookError

if TYPE_CHECKING:
    from distributed import Client, Future

#: Seconds to find the scheduler and one worker of it; between looks at what is done; without any worker.
CONNECT, LOOK, ALONE = 10, 5, 60


@contextlib.contextmanager
def connect_client(address: str) -> Iterator[Client]:
    """Open a client. Raises WorkbookError without dask.distributed, an answer, or a worker of the cluster."""
    with contextlib.closing(_open_client(address)) as client:
        yield client


def _open_client(address: str) -> Client:
    try:
        from distributed import Client
        from distributed import TimeoutError as Late  # before Python 3.11 not the builtin one
    except ImportError as cause:
        raise WorkbookError("scheduler.missing", error=str(cause)) from cause
    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as cause:
        raise WorkbookError("scheduler.silent", address=address, error=str(cause)) from cause
    try:
        client.wait_for_workers(1, timeout=CONNECT)
    except Late as cause:
        client.close()
        raise WorkbookError("scheduler.empty", address=address) from cause
    return client


def wait_for(client: Client, address: str, futures: Sequence[Future]) -> None:
    """Returns when all are done. Raises WorkbookError where the cluster has lost all its workers."""
    from distributed import TimeoutError as Late
    from distributed import wait

    alone = 0
    while True:
        try:
            with client.as_current():
                wait(list(futures), timeout=LOOK)
            return
        except Late as cause:
            alone = 0 if client.nthreads() else alone + LOOK
            if alone >= ALONE:
                raise WorkbookError("scheduler.empty", address=address) from cause


def explain_loss(address: str, future: Future) -> str | None:
    """Return why a task took its machine with it, or None where it has a result.

    Raises WorkbookError where the cluster could not run it at all.
    """
    if future.status == "finished":
        return None
    error: Any = future.exception() if future.status == "error" else future.status
    if type(error).__name__ == "KilledWorker":
        return str(error)
    raise WorkbookError("scheduler.failed", address=address, error=f"{type(error).__name__}: {error}")
