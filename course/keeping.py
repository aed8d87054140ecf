"""Who changes the record changes it alone: two notebooks that are open at the same time share one course.json."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ascend_workbook.batch.campaign.pool.locks import take_lock
from ascend_workbook.findings.errors import WorkbookError

#: A change takes milliseconds; what takes longer is a process that was stopped.
PATIENCE_S, AGAIN_S = 10.0, 0.01
#: What flock(2) says on a file system that has no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)


@contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Hold the lock of the file `path`, in `.NAME.lock` beside it; False where the file system has no locks.

    The lock ends with its process, however that ends. Raises WorkbookError `course.busy` where another holds it for
    longer than PATIENCE_S, OSError where the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _take_lock(path)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _take_lock(path: Path) -> int | None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            handle = take_lock(path.with_name(f".{path.name}.lock"))
        except OSError as error:
            if error.errno in NO_LOCKS:
                return None
            raise
        if handle is not None:
            return handle
        if time.monotonic() > end:
            raise WorkbookError("course.busy", path=str(path), seconds=PATIENCE_S)
        time.sleep(AGAIN_S)
