"""The error of every operator in the order of execution: forward and backward apart, against what is allowed.

A network of 30,000 operators has more points than a picture has columns: of each column the worst is drawn, so that
no operator that stands out is lost, and the axis says so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ascend_workbook.findings.report import Chart, Table
from ascend_workbook.findings.sentence import Scalar, say, show, title
from ascend_workbook.show.charts import Drawing, describe_span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Columns of the picture; a series has at most so many points.
COLUMNS = 500
#: Points that are drawn with a marker, and groups (step, rank) that are named.
DOTS, NAMED = 150, 12
COLOURS = ("#1f77b4", "#ff7f0e", "#6e40c9", "#57606a")
MARKERS = ("o", "^", "s", "D")
RED, GREY = "#cf222e", "#57606a"


@dataclass(frozen=True)
class Point:
    """One row: its place in the order, its error (NaN: not told), and what was allowed."""

    x: float
    error: float
    limit: float
    row: int


def draw_errors(axes: Axes, chart: Chart, table: Table, lang: str) -> None:
    """Draws `chart.y[0]` over `chart.x`, a series for each value of `chart.by`, with `chart.limit` beside it."""
    every = read_points(chart, table)
    series = series_of(chart, table, every)
    bottom, top = _value_range(every)
    width = max(1, math.ceil(max((point.x for point in every), default=0) / COLUMNS))
    for (name, some), colour, marker in zip(series.items(), COLOURS, MARKERS):
        shown = thin_points(some, width)
        line = _break_line(shown, every)
        x, y = [point.x for point in line], [_place_value(point.error, bottom, top) for point in line]
        dot, size = (marker, 3.5) if len(shown) <= DOTS else (".", 1)
        axes.plot(x, y, "-", marker=dot, markersize=size, linewidth=1, color=colour, label=title(name, lang))
    known = [point for point in thin_points(every, width) if point.limit > 0]
    x, y = [point.x for point in known], [_place_value(point.limit, bottom, top) for point in known]
    axes.step(x, y, where="mid", color=GREY, linewidth=1, linestyle="--", label=title(chart.limit, lang))
    axes.set_yscale("log")
    axes.set_ylim(bottom / 2, top * 4)
    if any(point.error == 0 for point in every):  # a logarithmic axis has no zero: it is the bottom, as the tick says
        axes.axhline(bottom, color="#8c959f", linewidth=0.8, linestyle=":")
        axes.text(0.0, bottom, "0 ", transform=axes.get_yaxis_transform(), ha="right", va="center", fontsize=9)
    _draw_groups(axes, table, every)
    _draw_mark(axes, chart, table, lang, every)
    axes.set_ylabel(title("relative_l2", lang))
    axes.set_xlabel(title(chart.x, lang) + (say("chart.thinned", lang, count=width) if width > 1 else ""))
    axes.margins(x=0.01)
    axes.figure.legend(fontsize=8, loc="outside lower center", ncols=5, frameon=False)
    axes.grid(alpha=0.25)


def describe_series(chart: Chart, table: Table) -> str:
    """Describe each series in a line of text: how many points, their range, how many beyond what is allowed."""
    series = series_of(chart, table, read_points(chart, table))
    over = {name: sum(point.error > point.limit for point in some) for name, some in series.items()}
    return ", ".join(
        f"{name} ({describe_span([point.error for point in some])}, {over[name]} above {chart.limit})"
        for name, some in series.items()
    )


DRAWING = Drawing(draw_errors, describe_series, height=4.2)


def read_points(chart: Chart, table: Table) -> list[Point]:
    """Read every row that has an error, in order."""
    columns = zip(*(table.column_values(name) for name in (chart.x, chart.y[0], chart.limit)))
    all_points = (
        Point(float(x) if isinstance(x, (int, float)) else row, _read_number(error), _read_number(limit), row)
        for row, (x, error, limit) in enumerate(columns)
    )
    return [point for point in all_points if not math.isnan(point.error)]


def thin_points(some: Sequence[Point], width: int) -> list[Point]:
    """The worst point of every `width` places; all of them for a width of 1."""
    worst: dict[int, Point] = {}
    for point in some:
        at = int(point.x // width) if width > 1 else point.row
        if at not in worst or point.error > worst[at].error:
            worst[at] = point
    return list(worst.values())


def _break_line(shown: list[Point], every: list[Point]) -> list[Point]:
    """With a gap wherever points of another series lie between two: a line there would show what is not."""
    number = {point.row: at for at, point in enumerate(every)}
    own = sorted(shown, key=lambda point: point.x)
    steps = [number[b.row] - number[a.row] for a, b in zip(own, own[1:])]
    usual = 2 * max(1, sorted(steps)[len(steps) // 2]) if steps else 1
    line = own[:1]
    for step, point in zip(steps, own[1:]):
        line += [Point(point.x, math.nan, math.nan, -1)] * (step > usual) + [point]
    return line


def _read_number(value: Scalar) -> float:
    """Return a cell as a number: infinity is kept in tables as a word; what is neither is a gap."""
    if isinstance(value, str):
        return math.inf if value in ("inf", "nan") else math.nan
    return float(value) if isinstance(value, (int, float)) else math.nan


def series_of(chart: Chart, table: Table, every: list[Point]) -> dict[str, list[Point]]:
    """Group the points by their value in column `chart.by`; without one all are of the y column's series."""
    kinds: list[Scalar] = table.column_values(chart.by) if chart.by else [chart.y[0]] * len(table.rows)
    series: dict[str, list[Point]] = {}
    for point in every:
        series.setdefault(str(kinds[point.row]), []).append(point)
    return series


def _value_range(every: list[Point]) -> tuple[float, float]:
    """Return the lowest place, where zeros are drawn, and the highest, for what is infinite."""
    values = [value for point in every for value in (point.error, point.limit) if 0 < value < math.inf]
    if not values:
        return 1e-9, 1e-6
    errors = [point.error for point in every if 0 < point.error < math.inf]
    limits = sorted(point.limit for point in every if 0 < point.limit < math.inf) or [min(values)]
    top = max([*errors, limits[len(limits) // 2]])
    return 0.3 * 10 ** math.floor(math.log10(min(values)) - 0.3), 10 ** math.ceil(math.log10(top) + 0.1)


def _place_value(value: float, bottom: float, top: float) -> float:
    return value if math.isnan(value) else min(max(value, bottom), top)


def _draw_groups(axes: Axes, table: Table, every: list[Point]) -> None:
    """Draw a line where another step or rank begins, with its name while there is room."""
    names = [column.name for column in table.columns]
    if not {"step", "rank"} <= set(names):
        return
    where = list(zip(table.column_values("step"), table.column_values("rank")))
    begins = [
        point for before, point in zip([None, *every], every) if before is None or where[before.row] != where[point.row]
    ]
    ranks = len({rank for _, rank in where}) > 1
    for number, point in enumerate(begins if len(begins) > 1 else []):
        axes.axvline(point.x - 0.5, color="#8c959f", linewidth=0.8)
        if len(begins) <= NAMED:
            step, rank = where[point.row]
            text = f" step {step}" + (f", rank {rank}" if ranks else "")
            height, across = 0.93 if number % 2 else 0.98, axes.get_xaxis_transform()
            axes.text(point.x, height, text, transform=across, fontsize=7, va="top", color=GREY)


def _draw_mark(axes: Axes, chart: Chart, table: Table, lang: str, every: list[Point]) -> None:
    """Draw the first divergence: a red line and the operator's name, on the side where there is room."""
    at = _read_number(chart.mark)
    row = next((number for number, x in enumerate(table.column_values(chart.x)) if x == chart.mark), None)
    if math.isnan(at) or row is None:
        return
    axes.axvline(at, color=RED, linewidth=1.3)
    last = max((point.x for point in every), default=at)
    left = at > last / 2
    operators = table.column_values("operator") if "operator" in [column.name for column in table.columns] else []
    name = show(operators[row] if operators else chart.mark, lang)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
    where: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
    text, offset = say("chart.first", lang, operator=name), (-5 if left else 5, 22)
    axes.annotate(
        text, (at, 0.06), xytext=offset, ha="right" if left else "left", fontsize=8, color=RED, bbox=box, **where
    )
