"""How long the course waits, on a machine that many share: `ASCEND_WORKBOOK_PATIENCE=10` makes every limit ten times
as long, and runs one after the other what else runs side by side."""

from __future__ import annotations

import math
import os

from helpers.errors import WorkbookError

NAME = "ASCEND_WORKBOOK_PATIENCE"


def factor() -> float:
    """1 unless told. Raises WorkbookError `course.patience` for what is no number of at least 1."""
    told = os.environ.get(NAME) or "1"
    try:
        value = float(told)
    except ValueError:
        value = math.nan
    if not 1 <= value < math.inf:
        raise WorkbookError("course.patience", name=NAME, given=told)
    return value


def patient(seconds: float) -> float:
    """The limit that is waited for here."""
    return seconds * factor()


def shared() -> bool:
    """Whether the machine is to be spared."""
    return factor() > 1
