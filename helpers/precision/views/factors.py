"""How the answer depends on the tolerance: which operators are out when all that is allowed is multiplied by a factor.

Read from a comparison's table, so that nothing is compared again. At factor 1 it is the comparison's own judgement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from helpers.finding import Finding, Status
from helpers.precision.divergence import AGREES, ARGUMENT, CONTAINER, JUMP, NOT_COMPARED, STRUCTURE
from helpers.precision.views.outcomes import outcome
from helpers.report import Column, Report, Table
from helpers.words import Scalar

#: What a static table shows, and a slider's ends (powers of ten).
FACTORS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
LOWEST, HIGHEST = -2.0, 4.0
#: No tolerance makes these agree: the structure, an argument, or an input made elsewhere.
_NEVER = (STRUCTURE, ARGUMENT, JUMP)
#: Not judged by their own error.
_LEFT_OUT = (NOT_COMPARED, CONTAINER)


@dataclass(frozen=True)
class Measure:
    """One operator: its error over what is allowed. It is out at every factor below that ratio."""

    order: int
    step: int
    rank: int
    name: str
    ratio: float


def measures(comparison: Report) -> list[Measure]:
    """Every operator that was judged, in order of execution; of several outputs the worst counts."""
    worst: dict[tuple[Scalar, ...], Measure] = {}
    if comparison.table is None or not comparison.facts.get("judged", True):
        return []
    names = ("order", "step", "rank", "operator", "error_out", "own_error", "allowed", "judgement")
    for order, step, rank, name, error, own, allowed, judgement in zip(*map(comparison.table.values, names)):
        ratio = _ratio(outcome(judgement), *map(_number, (error, own, allowed)))
        key = (step, rank, name)
        if ratio is not None and (key not in worst or ratio > worst[key].ratio):
            before = worst.get(key)
            first = before.order if before else int(str(order))
            worst[key] = Measure(first, int(str(step)), int(str(rank)), str(name), ratio)
    return list(worst.values())


def _ratio(said: str, error: float | None, own: float | None, allowed: float | None) -> float | None:
    if said in _NEVER:
        return math.inf
    if said in _LEFT_OUT or error is None or allowed is None:
        return None
    size = error if own is None or said == AGREES else own
    if size == 0:
        return 0.0
    return size / allowed if allowed > 0 else math.inf


def _number(value: Scalar) -> float | None:
    """Infinity is kept in tables as a word."""
    if isinstance(value, str):
        return float(value)
    return float(value) if isinstance(value, (int, float)) else None


def out(found: list[Measure], factor: float) -> list[Measure]:
    """The operators that are out at this factor, in order of execution."""
    return [one for one in found if one.ratio > factor]


def sentence(found: list[Measure], factor: float) -> Scalar:
    """How many are out at this factor, and which is first."""
    beyond = out(found, factor)
    args: dict[str, Scalar] = {"factor": factor, "count": len(beyond), "of": len(found)}
    if not beyond:
        return {"say": "factor.none", "args": args}
    first = beyond[0]
    return {"say": "factor.out", "args": {**args, "first": first.name, "step": first.step, "rank": first.rank}}


def beyond(found: list[Measure], factor: float) -> Report:
    """A row for each operator that is out at this factor, in order of execution, with its error over what is allowed
    at factor 1."""
    rows: list[tuple[Scalar, ...]] = [
        (one.order, one.step, one.rank, one.name, one.ratio if one.ratio < math.inf else "inf")
        for one in out(found, factor)
    ]
    told = sentence(found, factor)
    assert isinstance(told, dict)
    status = Status.SKIPPED if not found else Status.WARN if rows else Status.OK
    headline = Finding("ACC292", status, told["say"] if found else "factor.nothing", told["args"] if found else {})
    columns = (*map(Column, ("order", "step", "rank", "operator")), Column("times_allowed", digits=3))
    return Report("precision", "operators_out", (headline,), Table(columns, tuple(rows)))


def tolerances(comparison: Report, factors: tuple[float, ...] = FACTORS) -> Report:
    """A row for each factor: how many operators are out, which is first, and where."""
    found = measures(comparison)
    rows: list[tuple[Scalar, ...]] = []
    for factor in factors:
        beyond = out(found, factor)
        first: tuple[Scalar, ...] = (beyond[0].name, beyond[0].step, beyond[0].rank) if beyond else (None, None, None)
        rows.append((factor, len(beyond), len(found), *first))
    columns = tuple(map(Column, ("factor", "operators_out", "operators", "first", "step", "rank")))
    told = sentence(found, 1.0)
    assert isinstance(told, dict)
    headline = Finding("ACC292", Status.OK if found else Status.SKIPPED, told["say"] if found else "factor.nothing",
                       told["args"] if found else {})  # fmt: skip
    return Report("precision", "tolerances", (headline,), Table(columns, tuple(rows)), tier=comparison.tier)
