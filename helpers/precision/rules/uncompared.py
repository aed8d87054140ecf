"""ACC215: pairs whose tensors could not be compared, with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.agreement import DTYPE, NO_VALUES, UNREADABLE
from helpers.precision.comparison import Comparison
from helpers.precision.divergence import NOT_COMPARED
from helpers.words import Scalar

CODE = "ACC215"
SHOWN = 4


def check(facts: Comparison) -> Iterator[Finding]:
    judged = [one for step in facts.steps for one in step.judged]
    broken = [slot for one in judged for slot in one.agreement.problems(UNREADABLE)]
    if broken:
        args: dict[str, Scalar] = {"count": len(broken), "first": broken[0].detail}
        yield Finding(CODE, Status.FAIL, "ACC215.unreadable", args, weight=350)
    nodes = [one.name for one in judged if one.outcome == NOT_COMPARED and not one.agreement.problems(UNREADABLE)
             and not one.agreement.problems(NO_VALUES) and one.agreement.outputs]  # fmt: skip
    if nodes:
        yield Finding(CODE, Status.NOTE, "ACC215.autograd", {"count": len(nodes), "names": nodes[:SHOWN]})
    dtypes = [f"{one.name} {slot.detail}" for one in judged for slot in one.agreement.problems(DTYPE)]
    if dtypes:
        yield Finding(CODE, Status.WARN, "ACC215.dtype", {"count": len(dtypes), "names": dtypes[:SHOWN]}, weight=50)
    for error in {step.replays.error for step in facts.steps if step.replays.error}:
        yield Finding(CODE, Status.SKIPPED, "ACC215.replay", {"error": error})
