"""ACC217: was all of both runs looked at? A selection and a sample leave things out, and that is said, with what the
sample costs in certainty."""

from __future__ import annotations

import math
from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.words import Scalar

CODE = "ACC217"
BASIS = "defined"


def check(facts: Comparison) -> Iterator[Finding]:
    selection = facts.selection
    if selection.names:
        count = sum(len(step.pairing.pairs) for step in facts.steps)
        args: dict[str, Scalar] = {"count": count, "names": list(selection.names)}
        yield Finding(CODE, Status.NOTE, "ACC217.selected", args)
    if selection.sample.share < 1:
        found = [slot.metrics for step in facts.steps for one in step.judged
                 for slot in (*one.agreement.inputs, *one.agreement.outputs) if slot.metrics]  # fmt: skip
        shares = [one.sampling / one.relative_l2 for one in found
                  if one.sampling is not None and one.relative_l2 > 0 and math.isfinite(one.sampling)]  # fmt: skip
        worst: Scalar = max(shares, default=0.0)
        args = {"share": selection.sample.share, "seed": selection.sample.seed, "count": len(found), "worst": worst}
        yield Finding(CODE, Status.NOTE, "ACC217.sampled", args)
