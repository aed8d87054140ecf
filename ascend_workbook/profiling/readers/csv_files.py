"""How the tables (CSV) of a profile are opened, and what is told of one that cannot be read."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers.loading import without_garbage_collection

#: Call stacks can be longer than the default of 128 KiB
LONGEST_CELL = 2**24


@contextmanager
def open_table(path: Path) -> Iterator[TextIO]:
    """Open the file for a reader of `csv`, to be read through inside. What fails there is a WorkbookError with its
    path.
    """
    csv.field_size_limit(LONGEST_CELL)
    try:
        with without_garbage_collection(), path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except (OSError, UnicodeDecodeError, csv.Error) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause
