"""Is it the same work? Operators that one side alone has, other shapes, many more calls: then a difference of times
is no difference of devices.

Fusing and other kernels change operators too, so what is told is how much of the time has a partner.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.compare.facts import Comparison
from helpers.profiling.compare.rows import JOINED, ONLY_BASELINE, ONLY_TARGET, Row
from helpers.profiling.compare.scopes import OPTIMIZER
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF381"
BASIS = "reasoned"
#: Of the operators' time, a side's share without a partner from which it is likely another model
OTHER_MODEL = 0.5
#: Shapes of operators that take less of their side than this are not told
TOLD = 0.01
MORE_CALLS = 1.5
#: One row however it is done: for each parameter or for all at once
STEP = OPTIMIZER[:-1]
MOVES = ("collective ", "copy", "aten::copy_", "aten::to")


def check(compared: Comparison) -> Iterator[Finding]:
    alone = [_alone(compared.real_rows, left) for left in (True, False)]
    if max(alone) > OTHER_MODEL:
        args: dict[str, Scalar] = {"baseline": round(100 * alone[0], 1), "target": round(100 * alone[1], 1)}
        yield Finding(CODE, Status.WARN, "PRF381.other_model", args, weight=900.0)
        return
    known = [row for row in compared.real_rows if row.baseline.shapes and row.target.shapes]
    if not known:
        raise CannotCheck("PRF381.no_shapes")
    other = [row for row in known if row.baseline.shapes.keys() != row.target.shapes.keys() and _tells(compared, row)]
    if not other:
        yield Finding(CODE, Status.OK, "PRF381.same", {"operators": len(known)})
        return
    row = other[0]
    shapes = [_costliest(one, than) for one, than in ((row.baseline.shapes, row.target.shapes),
                                                      (row.target.shapes, row.baseline.shapes))]  # fmt: skip
    told: dict[str, Scalar] = {"operators": len(other), "of": len(known), "operator": row.name}
    told |= {"baseline": shapes[0], "target": shapes[1]}
    yield Finding(CODE, Status.WARN, "PRF381.shapes", told, weight=900.0)


def _alone(rows: tuple[Row, ...], left: bool) -> float:
    """The share of one side's operators' time that has no partner, or one called half as often again. What moves data
    between devices belongs to the set-up, not to the model."""
    own = [(row, row.baseline.ns if left else row.target.ns) for row in rows if not row.name.startswith(MOVES)]
    total = sum(ns for _, ns in own)
    return sum(ns for row, ns in own if _strange(row, left)) / total if total else 0.0


def _strange(row: Row, left: bool) -> bool:
    if row.pairing in (ONLY_BASELINE, ONLY_TARGET):
        return row.pairing == (ONLY_BASELINE if left else ONLY_TARGET)
    calls = sorted((row.baseline.calls, row.target.calls))
    return row.pairing != JOINED and row.name != STEP and calls[1] > MORE_CALLS * calls[0]


def _tells(compared: Comparison, row: Row) -> bool:
    return row.pairing != JOINED and row.baseline.ns > TOLD * compared.baseline.step_ns


def _costliest(shapes: dict[str, float], than: dict[str, float]) -> str:
    """The shape that costs most among those that the other side lacks; of all where it lacks none."""
    own = {shape: ns for shape, ns in shapes.items() if shape not in than} or shapes
    return max(own, key=lambda shape: own[shape])
