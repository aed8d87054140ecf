"""How much of the difference no row explains: work that the profile shows on the device but in no step's window."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.compare.costs import REST
from helpers.profiling.compare.facts import Comparison

CODE = "PRF385"
BASIS = "facts"
#: Of the difference; and of the baseline's step, below which nothing is worth a word
SHARE, SMALL = 0.1, 0.01


def check(compared: Comparison) -> Iterator[Finding]:
    rest = next(row.difference_ns for row in compared.operators if row.name == REST)
    share = abs(rest) / abs(compared.difference_ns) if compared.difference_ns else 0.0
    large = share > SHARE and abs(rest) > SMALL * compared.baseline.step_ns
    args = {"ms": rest / 1e6, "share": 100 * share}
    yield Finding(CODE, Status.NOTE if large else Status.OK, f"PRF385.{'much' if large else 'little'}", dict(args))
