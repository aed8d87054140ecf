"""ACC201: is everything there that was captured: every file as it was written, every step and rank on both sides?"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.words import Scalar

CODE = "ACC201"
BASIS = "defined"
SHOWN = 3


def check(facts: Comparison) -> Iterator[Finding]:
    for side in (facts.baseline, facts.target):
        changed = side.about.changed() if side.about else []
        if changed:
            args: dict[str, Scalar] = {"count": len(changed), "files": changed[:SHOWN], "path": str(side.folder)}
            yield Finding(CODE, Status.FAIL, "ACC201.changed", args, weight=400)
    for name, left in zip(("baseline", "target"), facts.only):
        if left:
            where = [f"step {step} rank {rank}" for step, rank in left]
            missing: dict[str, Scalar] = {"side": {"say": f"precision.side_{name}"}, "where": where}
            yield Finding(CODE, Status.FAIL, "ACC201.one_sided", missing, weight=90)
    yield from _ranks(facts)


def _ranks(facts: Comparison) -> Iterator[Finding]:
    """Other ranks on both sides, and ranks between others that neither side has. A rank that could not be read is told
    elsewhere (ACC202)."""
    sides = [{rank for _, rank in side.runs} for side in (facts.baseline, facts.target)]
    if facts.bare or facts.baseline.troubles or facts.target.troubles:
        return
    if sides[0] != sides[1]:
        args: dict[str, Scalar] = {"baseline": sorted(sides[0]), "target": sorted(sides[1])}
        yield Finding(CODE, Status.WARN, "ACC201.ranks", args, weight=85)
    both = sides[0] | sides[1]
    gaps: list[Scalar] = [rank for rank in range(max(both, default=0)) if rank not in both]
    if gaps:
        yield Finding(CODE, Status.NOTE, "ACC201.gap", {"ranks": gaps})
