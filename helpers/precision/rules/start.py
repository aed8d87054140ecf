"""ACC204: dumps without a record of the experiment: their first step began with other weights or other data."""

from __future__ import annotations

import math
from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.precision.experiment.start import Changed, Start
from helpers.words import Scalar

CODE = "ACC204"
BASIS = "facts"
SHOWN = 3
#: A share of all weights from which on they are another model's, or another seed's.
MOST = 0.4


def check(facts: Comparison) -> Iterator[Finding]:
    start = facts.start
    if not start:
        return
    worst = sorted((*start.weights, *start.data), key=lambda one: -one.error)
    args: dict[str, Scalar] = {
        "count": len(start.weights),
        "total": start.total,
        "names": [_told(one) for one in worst[:SHOWN]],
    }
    yield Finding(CODE, Status.FAIL, f"ACC204.{_key(start)}", args, weight=400)


def _key(start: Start) -> str:
    if not start.weights:
        return "data"
    if start.data:
        return "seed"
    if len(start.weights) >= MOST * start.total:
        return "weights"
    return "few"


def _told(one: Changed) -> Scalar:
    args: dict[str, Scalar] = {"where": one.where, "error": one.error}
    if math.isnan(one.factor):
        return {"say": "ACC204.one", "args": args}
    return {"say": "ACC204.scaled", "args": {**args, "factor": f"{one.factor:.4g}"}}
