"""What the measuring children of this stage say: lines of JSON, kept also where the child did not come to its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import bounded

PROBE = Path(__file__).with_name("child") / "compute.py"


def rows_of(text: str) -> list[dict[str, Any]]:
    """Return the lines that are JSON objects; a line cut by the child's death is not one."""
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def describe_end(done: bounded.Output, timeout_s: float) -> Sentence:
    """Describe how a child ended: out of time, by a signal, or with its last error."""
    if done.timed_out:
        return Sentence("ENV100.how_timeout", seconds=f"{timeout_s:g}")
    if done.code < 0:
        return Sentence("ENV100.how_signal", signal=-done.code)
    return Sentence("ENV100.how_error", error=done.last_error)
