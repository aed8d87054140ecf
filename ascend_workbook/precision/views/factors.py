"""How the answer depends on the tolerance: which operators are out when all that is allowed is multiplied by a factor.

Read from a comparison's table, so that nothing is compared again. At factor 1 it is the comparison's own judgement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, title
from ascend_workbook.precision.divergence import AGREES, ARGUMENT, CONTAINER, JUMP, NOT_COMPARED, STRUCTURE
from ascend_workbook.precision.views.questions import read_outcome
from ascend_workbook.show import card
from ascend_workbook.show.boxed import make_box


def tolerance_box(comparison: Report, lang: str | None = None) -> object:
    """Show the slider with its answer above the Report of `tolerances`; without widgets that report alone."""
    return make_box(lambda widgets, told_in: _make_box(widgets, comparison, told_in), tolerances(comparison), lang)


def _make_box(widgets: Any, comparison: Report, lang: str) -> object:
    measures_taken = read_measures(comparison)
    ends = {"value": 1.0, "min": LOWEST, "max": HIGHEST, "step": 0.1, "readout_format": ".3g"}
    looks = {"style": {"description_width": "initial"}, "layout": widgets.Layout(width="98%")}
    slider = widgets.FloatLogSlider(description=title("factor", lang), **ends, **looks)
    answer_box = widgets.HTML(render_answer(measures_taken, 1.0, lang), layout=looks["layout"])

    def on_change(change: Any) -> None:
        answer_box.value = render_answer(measures_taken, float(change["new"]), lang)

    slider.observe(on_change, "value")
    return widgets.VBox([slider, answer_box])


def render_answer(measures_taken: list[Measure], factor: float, lang: str) -> str:
    """Render what stands under the slider: the sentence, and the operators that are out in order of execution."""
    return card.render_fragment(report_operators_out(measures_taken, factor), lang)


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


def read_measures(comparison: Report) -> list[Measure]:
    """Read every operator that was judged, in order of execution; of several outputs the worst counts."""
    worst: dict[tuple[Scalar, ...], Measure] = {}
    if comparison.table is None or not comparison.facts.get("judged", True):
        return []
    names = ("order", "step", "rank", "operator", "error_out", "own_error", "allowed", "judgement")
    for order, step, rank, name, error, own, allowed, judgement in zip(*map(comparison.table.column_values, names)):
        ratio = _error_ratio(read_outcome(judgement), *map(_read_number, (error, own, allowed)))
        key = (step, rank, name)
        if ratio is not None and (key not in worst or ratio > worst[key].ratio):
            before = worst.get(key)
            first = before.order if before else int(str(order))
            worst[key] = Measure(first, int(str(step)), int(str(rank)), str(name), ratio)
    return list(worst.values())


def _error_ratio(judgement: str, error: float | None, own: float | None, allowed: float | None) -> float | None:
    if judgement in _NEVER:
        return math.inf
    if judgement in _LEFT_OUT or error is None or allowed is None:
        return None
    size = error if own is None or judgement == AGREES else own
    if size == 0:
        return 0.0
    return size / allowed if allowed > 0 else math.inf


def _read_number(value: Scalar) -> float | None:
    """Return a cell as a number; infinity is kept in tables as a word."""
    if isinstance(value, str):
        return float(value)
    return float(value) if isinstance(value, (int, float)) else None


def find_operators_out(measures_taken: list[Measure], factor: float) -> list[Measure]:
    """Find the operators that are out at this factor, in order of execution."""
    return [measure for measure in measures_taken if measure.ratio > factor]


def _summarize_factor(measures_taken: list[Measure], factor: float) -> Finding:
    """Say how many operators are out at this factor, and which is first."""
    if not measures_taken:
        return Finding("ACC292", Status.NOT_LOOKED, "factor.nothing")
    beyond = find_operators_out(measures_taken, factor)
    args: dict[str, Scalar] = {"factor": factor, "count": len(beyond), "of": len(measures_taken)}
    if not beyond:
        return Finding("ACC292", Status.GOOD, "factor.none", args)
    args.update(first=beyond[0].name, step=beyond[0].step, rank=beyond[0].rank)
    return Finding("ACC292", Status.LOOK, "factor.out", args)


def report_operators_out(measures_taken: list[Measure], factor: float) -> Report:
    """List each operator that is out at this factor in a row, in order of execution, with its error over what is
    allowed at factor 1."""
    rows: list[tuple[Scalar, ...]] = [
        (measure.order, measure.step, measure.rank, measure.name, measure.ratio if measure.ratio < math.inf else "inf")
        for measure in find_operators_out(measures_taken, factor)
    ]
    headline = _summarize_factor(measures_taken, factor)
    columns = (*map(Column, ("order", "step", "rank", "operator")), Column("times_allowed", digits=3))
    return Report("precision", "operators_out", (headline,), Table(columns, tuple(rows)))


def tolerances(comparison: Report, factors: tuple[float, ...] = FACTORS) -> Report:
    """List each factor in a row: how many operators are out, which is first, and where."""
    measures_taken = read_measures(comparison)
    rows: list[tuple[Scalar, ...]] = []
    for factor in factors:
        beyond = find_operators_out(measures_taken, factor)
        first: tuple[Scalar, ...] = (beyond[0].name, beyond[0].step, beyond[0].rank) if beyond else (None, None, None)
        rows.append((factor, len(beyond), len(measures_taken), *first))
    columns = tuple(map(Column, ("factor", "operators_out", "operators", "first", "step", "rank")))
    headline = _summarize_factor(measures_taken, 1.0)
    return Report("precision", "tolerances", (headline,), Table(columns, tuple(rows)), tier=comparison.tier)
