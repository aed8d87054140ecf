"""What a run is told, as a file: `order.json` in its folder; and the process that does it, here or elsewhere.

Its stdin is a pipe that nobody writes to. When the process that waits for it is gone, the pipe ends, and this one ends
all that it started: no kernel lives on. Progress goes to stdout.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Optional

import msgspec

from ascend_workbook.batch.campaign.attempt import adopt_orphans, end_processes, find_run_processes
from ascend_workbook.batch.campaign.cards import Here
from ascend_workbook.batch.plan.model import Item
from ascend_workbook.batch.workbook import run
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage import open_storage

FILE = "order.json"
#: The variable in which a run's process is handed its parameters, as JSON.
PARAMETERS = "ASCEND_WORKBOOK_RUN_PARAMETERS"


@dataclass(frozen=True)
class Order:
    """`start` names the start of the plan that gave it; `here` is its device where that is known; `card_ids` those that
    the plan names; `until` the moment of this machine's time.monotonic() at which the plan ends (0: never); `force`
    runs again what is good, `keep_red` leaves what is red, `keep_going` runs the stages behind one
    that is Fix."""

    item: Item
    root: str
    notebooks: str
    start: str
    force: bool = False
    keep_red: bool = False
    keep_going: bool = False
    here: Optional[Here] = None
    card_ids: tuple[int, ...] = ()
    until: float = 0.0

    @property
    def folder(self) -> Path:
        """Where the run's results go."""
        return Path(self.root, self.item.name)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def save_order(self, here: Here) -> Path:
        """Write the order of one try into the run's folder: with its device, and of what is good already.

        Credentials among the parameters are left out: the process gets its parameters in the variable PARAMETERS.
        """
        open_storage(str(self.folder)).write_text(FILE, replace(self, here=here, force=False).to_json())
        return self.folder / FILE


def read_order(text: str) -> Order:
    """Read an order from its JSON text."""
    return msgspec.json.decode(text, type=Order)


#: jsonschema takes rfc3987_syntax where it is there, and that compiles its grammar for most of a second at each start;
#: a notebook has no address in its schema. None in sys.modules makes the import fail, which jsonschema expects.
SLOW = "rfc3987_syntax"
#: Exit codes: the run could not start (its page says why); the disk is full; whoever waited is gone.
NOT_STARTED, EXIT_NO_SPACE, ALONE = 2, 3, 4
#: A kernel whose runner was killed has nobody to save for.
GRACE_S = 1.0


def main(path: str) -> int:
    """Run what the order file asks for."""
    order_read = read_order(Path(path).read_text(encoding="utf-8"))
    adopt_orphans()
    sys.modules.setdefault(SLOW, None)  # type: ignore[arg-type]
    pipe = os.dup(0)

    def end_after_pipe() -> None:
        """Wait until the other end of the pipe is closed, then end the run's processes."""
        while os.read(pipe, 1):
            pass
        end_processes(lambda: [process for process in find_run_processes(own, folder) if process.pid != own], GRACE_S)
        os._exit(ALONE)

    own, folder = os.getpid(), order_read.folder
    threading.Thread(target=end_after_pipe, daemon=True).start()
    item = order_read.item
    parameters = os.environ.pop(PARAMETERS, None)
    try:
        run(
            item.name,
            item.parameters if parameters is None else json.loads(parameters),
            stages=item.stages,
            lang=item.lang,
            root=order_read.root,
            notebooks=Path(order_read.notebooks),
            force=order_read.force,
            keep_going=order_read.keep_going,
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
        return EXIT_NO_SPACE
    return 0
