"""What runs on one side alone: another kernel library, a fallback, a fusion that is not known here, or other code."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.compare.facts import Comparison
from helpers.profiling.compare.rows import JOINED, ONLY_BASELINE, ONLY_TARGET, Row
from helpers.profiling.compare.rules.causes import shown
from helpers.words import Scalar

CODE = "PRF384"
BASIS = "facts"
NAMED = 3


def check(compared: Comparison) -> Iterator[Finding]:
    sides = {word: [row for row in compared.real_rows if row.pairing == word] for word in (ONLY_BASELINE, ONLY_TARGET)}
    for word, rows in sides.items():
        if rows:
            total = sum(row.baseline.ns + row.target.ns for row in rows) / 1e6
            args: dict[str, Scalar] = {"operators": len(rows), "ms": total, "names": [row.name for row in rows[:NAMED]]}
            yield Finding(CODE, Status.NOTE, f"PRF384.{word}", args, weight=total)
    if not any(sides.values()):
        yield Finding(CODE, Status.OK, "PRF384.none")
    yield from (_joined(row) for row in compared.real_rows if row.pairing == JOINED)


def _joined(row: Row) -> Finding:
    args: dict[str, Scalar] = {"family": shown(row), "names": list(row.names[:NAMED])}
    args |= {"operators": len(row.names), "ms": row.difference_ns / 1e6}
    return Finding(CODE, Status.OK, "PRF384.joined", args)
