"""ACC232: which operator made the first infinity or NaN, or how it came in; on the target, and on the baseline."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison, StepComparison
from helpers.precision.divergence import nonfinite
from helpers.precision.divergence.nonfinite import Origin
from helpers.precision.operators import kernels
from helpers.words import Scalar

CODE = "ACC232"
BASIS = "facts"
#: Below the first divergence: what overflows may have been wrong before.
WEIGHT = 250.0


def check(facts: Comparison) -> Iterator[Finding]:
    if facts.stopped:  # ACC230 says that nothing was judged
        return
    for side in ("target", "baseline"):
        found = [(step, origin) for step in facts.steps if (origin := nonfinite.origin(step.pairing, side))]
        if found:
            step, first = min(found, key=lambda pair: (pair[0].step, pair[1].operator.order))
            ranks = sorted({one.rank for one, _ in found if one.step == step.step})
            yield _finding(step, first, ranks)


def _finding(step: StepComparison, first: Origin, ranks: list[int]) -> Finding:
    operator, record = first.operator, first.record
    limit = nonfinite.LARGEST.get(record.dtype)
    args: dict[str, Scalar] = {
        "side": {"say": f"precision.side_{first.side}"},
        "operator": list(first.names),
        "receiver": operator.name,
        "kind": {"say": f"ACC232.{first.kind}"},
        "step": step.step,
        "ranks": ranks,
        "slot": record.slot,
        "dtype": record.dtype,
        "limit": limit,
        "expected": first.expected,
        "kernels": list(kernels(operator)) or None,
        "place": str(operator.place) if operator.place else None,
    }
    return Finding(CODE, Status.FAIL, f"ACC232.{first.how}", args, operator.place, weight=WEIGHT)
