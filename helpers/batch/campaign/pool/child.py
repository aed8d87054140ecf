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

from helpers.batch.campaign.pool import order, processes
from helpers.batch.workbook import run
from helpers.errors import WorkbookError

#: jsonschema takes rfc3987_syntax where it is there, and that compiles its grammar for most of a second at each start;
#: a notebook has no address in its schema. None in sys.modules makes the import fail, which jsonschema expects.
SLOW = "rfc3987_syntax"
#: Exit codes: the run could not start (its page says why); the disk is full; whoever waited is gone.
NOT_STARTED, DISK_FULL, ALONE = 2, 3, 4
#: A kernel whose runner was killed has nobody to save for.
GRACE_S = 1.0


def main(path: str) -> int:
    """Runs what the file orders."""
    told = order.read(Path(path).read_text(encoding="utf-8"))
    processes.adopt()
    sys.modules.setdefault(SLOW, None)  # type: ignore[arg-type]
    threading.Thread(target=_end_with, args=(os.dup(0), told.folder), daemon=True).start()
    item = told.item
    try:
        run(item.name, item.parameters, stages=item.stages, lang=item.lang, root=told.root,
            notebooks=Path(told.notebooks), force=told.force, timeout_s=item.timeout_s,
            here=told.here.versions if told.here else None,
            say_progress=lambda line: print(line, flush=True))  # fmt: skip
    except WorkbookError as error:
        print(error, file=sys.stderr)
        return NOT_STARTED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(error, file=sys.stderr)
        return DISK_FULL
    return 0


def _end_with(pipe: int, folder: Path) -> None:
    """Waits until the other end is closed."""
    while os.read(pipe, 1):
        pass
    processes.end(lambda: [one for one in processes.of_run(os.getpid(), folder) if one.pid != os.getpid()], GRACE_S)
    os._exit(ALONE)
