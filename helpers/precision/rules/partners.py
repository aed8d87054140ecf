"""ACC210: operators that only one run called. They were not compared, and that is said, with the likely reason, never
counted as agreement. And modules that were paired although their names differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.precision.pairing.reasons import reasons
from helpers.words import Scalar

CODE = "ACC210"
BASIS = "facts"
SHOWN = 4
#: Up to this share of all operators it is a remark: a single helper call that one device needs and the other does not.
REMARK = 0.01


def check(facts: Comparison) -> Iterator[Finding]:
    for name in ("baseline", "target"):
        left = [found for one in facts.steps for found in reasons(one.pairing, name)]
        if left:
            heads = Counter((operator.head, reason) for operator, reason in left)
            shown = [_shown(head, count, why) for (head, why), count in heads.most_common(SHOWN)]
            args: dict[str, Scalar] = {"count": len(left), "names": shown, "side": {"say": f"precision.side_{name}"}}
            few = len(left) <= REMARK * sum(len(one.pairing.target.operators) for one in facts.steps)
            yield Finding(CODE, Status.NOTE if few else Status.WARN, "ACC210.only", args, weight=len(left))
    renamed = [found for one in facts.steps for found in one.pairing.renamed]
    if renamed:
        names: list[Scalar] = list(dict.fromkeys(f"{one.baseline.head} = {one.target.head}" for one in renamed))
        yield Finding(CODE, Status.NOTE, "ACC210.renamed", {"count": len(renamed), "names": names[:SHOWN]})


def _shown(head: str, count: int, why: str) -> Scalar:
    reason: Scalar = {"say": f"precision.why_{why}"}
    return {"say": "precision.alone", "args": {"head": head, "count": count, "why": reason}}
