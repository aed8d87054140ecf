"""The table of two curves: a row a step, and of a long run the rows that a picture needs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ascend_workbook.findings.report import Column, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.curves.aligned import Aligned
from ascend_workbook.precision.curves.names import GRAD_NORM, LOSS, LR
from ascend_workbook.precision.curves.series import Curve, to_scalar

COLUMNS = (
    Column("step"),
    Column("loss_baseline"),
    Column("loss_target"),
    Column("absolute_error"),
    Column("relative_error"),
    Column("smoothed_error"),
    Column("lr"),
    Column("grad_norm_baseline"),
    Column("grad_norm_target"),
    Column("place_baseline", detail=True),
    Column("place_target", detail=True),
)
#: Rows of a report; a page with more of them is slow, and a picture shows no more.
MOST = 1500
#: Steps on either side of what is pointed out that are always kept.
AROUND = 10


def make_table(left: Curve, right: Curve, pair: Aligned, shift: int, pointed: Iterable[int]) -> Table:
    """All steps; of more than MOST the extremes of each stretch and the surroundings of the places `pointed` out."""
    sides = {
        (side, name): _values_by_step(curve, name, shift if side == "target" else 0)
        for side, curve in (("baseline", left), ("target", right))
        for name in (LR, GRAD_NORM)
    }
    rows = []
    for at in _choose_rows(pair, pointed):
        step = int(pair.steps[at])
        numbers = (pair.baseline[at], pair.target[at], pair.absolute[at], pair.relative[at], pair.smoothed[at])
        around = (
            sides["target", LR].get(step),
            sides["baseline", GRAD_NORM].get(step),
            sides["target", GRAD_NORM].get(step),
        )
        places = (_describe_place(left, int(pair.at_baseline[at])), _describe_place(right, int(pair.at_target[at])))
        rows.append((step, *map(to_scalar, (*numbers, *around)), *places))
    return Table(COLUMNS, tuple(rows))


def _choose_rows(pair: Aligned, pointed: Iterable[int]) -> list[int]:
    count = len(pair.steps)
    if count <= MOST:
        return list(range(count))
    chosen = {0, count - 1}
    for stretch in np.array_split(np.arange(count), MOST // 5):
        values = (np.nan_to_num(pair.target[stretch]), np.nan_to_num(pair.relative[stretch]))
        chosen |= {
            int(stretch[0]),
            int(stretch[values[0].argmin()]),
            int(stretch[values[0].argmax()]),
            int(stretch[values[1].argmax()]),
        }
    for place in list(pointed)[:20]:
        chosen |= set(range(max(0, place - AROUND), min(count, place + AROUND + 1)))
    return sorted(chosen)


def _values_by_step(curve: Curve, name: str, shift: int) -> dict[int, float]:
    series = curve.series.get(name)
    if series is None:
        return {}
    steps, places = series.last_of_each()
    return dict(zip((steps + shift).tolist(), np.asarray(series.values)[places].tolist()))


def _describe_place(curve: Curve, at: int) -> Scalar:
    path, line = curve.place_of_value(curve.series[LOSS], at)
    return f"{path}:{line}" if line else path
