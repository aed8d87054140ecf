"""ACC202: which steps and ranks could not be read, and why. The others were compared."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison

CODE = "ACC202"
BASIS = "defined"


def check(facts: Comparison) -> Iterator[Finding]:
    for side in (facts.baseline, facts.target):
        for trouble in side.troubles:
            yield Finding(CODE, Status.FAIL, trouble.key, trouble.arguments, weight=95)
