"""What the difference is made of, the greatest first: rows that differ by 2 % of the baseline's step or more."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.compare.costs import HIDDEN, REST
from helpers.profiling.compare.facts import Comparison
from helpers.profiling.compare.rows import JOINED, Row
from helpers.words import Scalar

CODE = "PRF386"
BASIS = "facts"
WORTH, MOST = 0.02, 8


def check(compared: Comparison) -> Iterator[Finding]:
    step = compared.baseline.step_ns
    found = [row for row in compared.operators if row.name not in (HIDDEN, REST)]
    found = [row for row in found if abs(row.difference_ns) >= WORTH * step][:MOST]
    if not found:
        yield Finding(CODE, Status.OK, "PRF386.none", {"share": 100 * WORTH})
    for row in found:
        slower = row.difference_ns > 0
        args: dict[str, Scalar] = {"name": shown(row), "ms": abs(row.difference_ns) / 1e6, "of_step": 100 *
                                   abs(row.difference_ns) / step}  # fmt: skip
        args |= {"baseline_ms": row.baseline.ns / 1e6, "target_ms": row.target.ns / 1e6}
        key = f"PRF386.{'slower' if slower else 'faster'}"
        yield Finding(CODE, Status.NOTE if slower else Status.OK, key, args, weight=abs(row.difference_ns) / 1e6)


def shown(row: Row) -> Scalar:
    """A row's name as a reader sees it."""
    if row.pairing == JOINED:
        return {"say": f"compare.family.{row.name.partition('.')[2]}"}
    return {"say": f"compare.{row.name}"} if row.name.startswith("row.") else row.name
