"""ACC210: operators that only one run called. They were not compared, and that is said, never counted as agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.words import Scalar

CODE = "ACC210"
SHOWN = 4
#: Up to this share of all operators it is a remark: a single helper call that one device needs and the other does not.
REMARK = 0.01


def check(facts: Comparison) -> Iterator[Finding]:
    for name, attribute in (("baseline", "only_baseline"), ("target", "only_target")):
        left = [operator for one in facts.steps for operator in getattr(one.pairing, attribute)]
        if left:
            heads = Counter(operator.head for operator in left)
            shown = [f"{head} ({count})" for head, count in heads.most_common(SHOWN)]
            args: dict[str, Scalar] = {"count": len(left), "names": shown, "side": {"say": f"precision.side_{name}"}}
            few = len(left) <= REMARK * sum(len(one.pairing.target.operators) for one in facts.steps)
            yield Finding(CODE, Status.NOTE if few else Status.WARN, "ACC210.only", args, weight=len(left))
