"""ACC218: how large a fault would have gone unseen? Statistics alone, and 16-bit numbers, leave room for one; where no
operator is found at fault, the size of that room belongs to the answer."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.precision.divergence import AGREES, ALLOWED, EXPLAINED, POSSIBLE
from helpers.precision.record import FORWARD
from helpers.precision.tensors import tolerance

CODE = "ACC218"
BASIS = "reasoned"
#: A fault of one percent shows in training; where half of the operators could hide one, that is said.
LARGE = 0.01


def check(facts: Comparison) -> Iterator[Finding]:
    if facts.stopped or facts.bare or facts.first is not None or facts.start:
        return
    judged = [one for step in facts.steps for one in step.judged if one.agreement.pair.target.direction == FORWARD
              and one.own is None and one.outcome in (AGREES, EXPLAINED, ALLOWED, POSSIBLE)]  # fmt: skip
    rooms = [max(one.allowed, tolerance.AMPLIFICATION * one.agreement.error_in) for one in judged]
    room = median(rooms) if rooms else 0.0
    if room < LARGE:
        return
    saved = any(t.file for one in judged for t in one.agreement.pair.target.outputs)
    half = any(tolerance.unit(dtype) > tolerance.unit("float32") for one in judged for dtype in one.agreement.dtypes)
    why = [{"say": f"ACC218.{name}"} for name, holds in (("statistics", not saved), ("half", half)) if holds]
    yield Finding(CODE, Status.NOTE, "ACC218.room", {"count": len(rooms), "room": room, "why": list(why) or None})
