"""ACC205: are the two runs the same experiment? Another seed, other weights or another batch make every tensor
differ, and then no operator is to blame: the difference here is the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.words import Scalar

CODE = "ACC205"
SHOWN = 3


def check(facts: Comparison) -> Iterator[Finding]:
    left, right = facts.baseline.about, facts.target.about
    if left is None or right is None:
        yield Finding(CODE, Status.NOTE, "ACC205.no_manifest")
        return
    if left.about.get("script_sha256") != right.about.get("script_sha256"):
        yield Finding(CODE, Status.NOTE, "ACC205.script")
    for what, names in facts.differences.items():
        if what in ("weights", "batches"):
            args: dict[str, Scalar] = {"count": len(names), "names": names[:SHOWN]}
            yield Finding(CODE, Status.FAIL, f"ACC205.{what}", args, weight=500)
        else:
            args = {"what": what, "baseline": str(left.about.get(what)), "target": str(right.about.get(what))}
            yield Finding(CODE, Status.FAIL, "ACC205.option", args, weight=600)
