"""What the measuring children of this stage say: lines of JSON, kept also where the child did not come to its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from helpers import bounded
from helpers.environment.system import Args

PROBE = Path(__file__).with_name("child") / "compute.py"


def rows_of(text: str) -> list[dict[str, Any]]:
    """The lines that are JSON objects; a line cut by the child's death is not one."""
    found = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


def how_it_ended(done: bounded.Output, timeout_s: float) -> Args:
    """A sentence: out of time, by a signal, or with its last error."""
    if done.timed_out:
        return {"say": "ENV100.how_timeout", "args": {"seconds": f"{timeout_s:g}"}}
    if done.code < 0:
        return {"say": "ENV100.how_signal", "args": {"signal": -done.code}}
    return {"say": "ENV100.how_error", "args": {"error": done.last_error}}
