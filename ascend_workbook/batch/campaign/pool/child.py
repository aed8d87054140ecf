"""One run in a process of its own, which `attempt` starts. Progress on stdout.

Its stdin is a pipe that nobody writes to. When the process that waits for it is gone, the pipe ends, and this one ends
all that it started: no kernel lives on.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path

from ascend_workbook.batch.campaign.pool import order, processes
from ascend_workbook.batch.workbook import run
from ascend_workbook.findings.errors import WorkbookError

#: jsonschema takes rfc3987_syntax where it is there, and that compiles its grammar for most of a second at each start;
#: a notebook has no address in its schema. None in sys.modules makes the import fail, which jsonschema expects.
SLOW = "rfc3987_syntax"
#: Exit codes: the run could not start (its page says why); the disk is full; whoever waited is gone.
NOT_STARTED, DISK_FULL, ALONE = 2, 3, 4
#: A kernel whose runner was killed has nobody to save for.
GRACE_S = 1.0


def main(path: str) -> int:
    """Run what the order file asks for."""
    order_read = order.read_order(Path(path).read_text(encoding="utf-8"))
    processes.adopt_orphans()
    sys.modules.setdefault(SLOW, None)  # type: ignore[arg-type]
    threading.Thread(target=_end_after_pipe, args=(os.dup(0), order_read.folder), daemon=True).start()
    item = order_read.item
    try:
        run(
            item.name,
            item.parameters,
            stages=item.stages,
            lang=item.lang,
            root=order_read.root,
            notebooks=Path(order_read.notebooks),
            force=order_read.force,
            timeout_s=item.timeout_s,
            here=order_read.here.versions if order_read.here else None,
            say_progress=lambda line: print(line, flush=True),
        )
    except WorkbookError as error:
        print(error, file=sys.stderr)
        return NOT_STARTED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(error, file=sys.stderr)
        return DISK_FULL
    return 0


def _end_after_pipe(pipe: int, folder: Path) -> None:
    """Wait until the other end of the pipe is closed, then end the run's processes."""
    while os.read(pipe, 1):
        pass
    processes.end_processes(
        lambda: [
            process for process in processes.find_run_processes(os.getpid(), folder) if process.pid != os.getpid()
        ],
        GRACE_S,
    )
    os._exit(ALONE)
