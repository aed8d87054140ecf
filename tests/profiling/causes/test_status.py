"""Which causes a reader is to look at: much of the step, told for sure, and lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.causes import Cause
from ascend_workbook.profiling.rules.causes import check


@pytest.mark.parametrize(
    ("kind", "share", "confidence", "simulated", "status"),
    [
        ("preprocessing", 0.57, "sure", False, Status.LOOK),
        ("preprocessing", 0.25, "likely", False, Status.LOOK),
        ("preprocessing", 0.24, "sure", False, Status.NOTE),
        ("preprocessing", 0.57, "unsure", False, Status.NOTE),
        ("preprocessing", 0.57, "sure", True, Status.NOTE),
        ("computing", 0.9, "sure", False, Status.NOTE),
        ("start_up", 0.9, "sure", False, Status.NOTE),
    ],
)
def test_what_is_to_be_looked_at(kind: str, share: float, confidence: str, simulated: bool, status: Status) -> None:
    cause = Cause(kind, 1e6, share, "train.py:3 f", Sentence("PRF316.none"), confidence)
    profile: Any = SimpleNamespace(causes=(cause,), simulated=simulated)
    (finding,) = check(profile)
    assert finding.status is status
