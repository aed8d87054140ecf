"""What a verb tells while it works: on stderr at once, so that stdout holds the report alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_workbook.machine.launch import Progress


def progress_line(line: str) -> None:
    """Print one line."""
    print(line, file=sys.stderr, flush=True)


def progress_lines(now: Progress) -> None:
    """Print the lines that the script of a launch has written since."""
    for line in now.lines:
        progress_line(line)
