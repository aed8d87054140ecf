"""How long the course waits, on a machine that many share: `ASCEND_WORKBOOK_PATIENCE=10` makes every limit ten times
as long, and runs one after the other what else runs side by side."""

from __future__ import annotations

import math
import os

from ascend_workbook.findings.errors import WorkbookError

NAME = "ASCEND_WORKBOOK_PATIENCE"


def patience_factor() -> float:
    """Return the factor, 1 unless told. Raises WorkbookError `course.patience` for what is no number of at least 1."""
    setting = os.environ.get(NAME) or "1"
    try:
        value = float(setting)
    except ValueError:
        value = math.nan
    if not 1 <= value < math.inf:
        raise WorkbookError("course.patience", name=NAME, given=setting)
    return value


def patient_limit(seconds: float) -> float:
    """Return the limit that is waited for here."""
    return seconds * patience_factor()


def is_shared() -> bool:
    """Return whether the machine is to be spared."""
    return patience_factor() > 1
