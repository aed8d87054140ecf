"""ACC205: are the two runs the same experiment? Another seed, other weights or another batch make every tensor
differ, and then no operator is to blame: the difference here is the verdict, and no tensor is judged."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.precision.experiment import remarks, unlooked

CODE = "ACC205"
BASIS = "facts"
SHOWN = 5
#: The first of a kind is told; more of them are counted.
KINDS_SHOWN = 12


def check(facts: Comparison) -> Iterator[Finding]:
    left, right = facts.baseline.about, facts.target.about
    if left is None or right is None:
        yield Finding(CODE, Status.NOTE, "ACC205.no_manifest")
        return
    if left.about.get("script_sha256") != right.about.get("script_sha256"):
        yield Finding(CODE, Status.NOTE, "ACC205.script")
    for at, one in enumerate(facts.differences[:KINDS_SHOWN]):
        yield Finding(CODE, Status.FAIL, f"ACC205.{one.fact}", one.words, weight=600 - at)
    if len(facts.differences) > KINDS_SHOWN:
        more = [one.name for one in facts.differences[KINDS_SHOWN:]]
        yield Finding(CODE, Status.FAIL, "ACC205.more", {"count": len(more), "names": more[:SHOWN]}, weight=500)
    for one in remarks(left, right):
        yield Finding(CODE, Status.NOTE, f"ACC205.{one.fact}", one.words, weight=20)
    missing = unlooked(left, right)
    if missing:
        yield Finding(CODE, Status.SKIPPED, "ACC205.not_looked", {"names": [*missing]}, weight=25)
