"""How a run is stopped: an exception that unwinds the script as if it had ended by itself."""

from __future__ import annotations

import os
import sys
from typing import Any

PATIENCE = 3


class StopTraining(SystemExit):
    """Raised inside `optimizer.step`; with code 0 everything above takes it for a normal exit."""

    def __init__(self) -> None:
        super().__init__(0)


_raised = 0


def make_stop(observer: Any) -> StopTraining:
    """Return the exception that stops the script; a script that swallows it three times is ended on the spot. A script
    that swallows it three times is ended on the spot.
    """
    global _raised
    _raised += 1
    if _raised > PATIENCE:
        observer.note("stop_ignored", times=PATIENCE)
        observer.finish("stopped_after", None)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    return StopTraining()
