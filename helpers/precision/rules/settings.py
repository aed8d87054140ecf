"""ACC207: do the two sides differ in settings that change numbers: package versions, torch's flags, variables?

They make no other experiment, so nothing is concluded from them; but where the runs part they are to be ruled out
before an operator is blamed.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.precision.experiment import surroundings
from helpers.words import Scalar

CODE = "ACC207"
BASIS = "facts"


def check(facts: Comparison) -> Iterator[Finding]:
    found = surroundings(facts.baseline.about, facts.target.about)
    if not found:
        return
    first = found[0]
    args: dict[str, Scalar] = {
        "count": len(found), "what": first.name, "baseline": first.left, "target": first.right,
        "why": {"say": f"settings.why.{first.why}"}, "others": [one.name for one in found[1:4]] or "-",
    }  # fmt: skip
    yield Finding(CODE, Status.NOTE, "ACC207.differ", args, weight=30)
