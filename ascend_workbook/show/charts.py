"""A chart of a report's table as a matplotlib figure: one drawing function a kind, opaque white, both languages."""

from __future__ import annotations

import io
import math
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import cycle
from typing import IO, TYPE_CHECKING, Any, Callable

from ascend_workbook.findings.finding import STATUS_OF_WORD, Status
from ascend_workbook.findings.registry import CHART, find_entry
from ascend_workbook.findings.report import Chart, Report, Table
from ascend_workbook.findings.sentence import Scalar, choose_language, say, show, title
from ascend_workbook.show import flame
from ascend_workbook.show import timeline_picture as timeline
from ascend_workbook.show.chinese_font import find_cjk_font

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#8c959f"
COLOURS = dict(zip(Status, ("#1a7f37", "#0969da", GREY, "#bf8700", "#cf222e")))
BARS = 25
#: Letters of a bar's label
LABEL = 44
#: More points than these are drawn as a line alone.
DOTS = 200
#: More cells than these have no number in them.
CELLS = 100
#: Colours of an embedded picture; one with more than so many keeps them all
PALETTE, COLOURFUL = 256, 4096


@dataclass(frozen=True)
class Drawing:
    """How a stage draws a kind of chart of its own: on the axes, as a line of text, and how many inches tall.

    On a page it is an SVG and stands above its table, in which the row of the chart's mark is pointed out.
    """

    draw: Callable[[Axes, Chart, Table, str], None]
    describe: Callable[[Chart, Table], str]
    height: float


def find_drawing(chart: Chart | None) -> Drawing | None:
    """Return the drawing that a stage entered for the chart's kind; None for a kind of this file's own."""
    entry = find_entry(CHART, chart.kind) if chart else None
    return entry if isinstance(entry, Drawing) else None


def draw_chart(report: Report, lang: str | None = None, *, themed: bool = False) -> Figure:
    """Draw the figure of `report.chart`; in English where no font on this machine carries Chinese.

    `themed`: for a browser, which has fonts and colours of its own (ascend_workbook.show.themed).
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    assert report.chart and report.table
    lang = choose_language(lang)
    font = find_cjk_font()  # in English too: a file or module may have a Chinese name
    lang = lang if font or themed else "en"
    fonts = ["DejaVu Sans", *([font] if font else [])]
    white = {} if themed else {"savefig.facecolor": "white", "figure.facecolor": "white"}
    with rc_context({"font.family": fonts, "axes.unicode_minus": False, **white}):
        size = _choose_size(report, report.chart, report.table)
        figure = Figure(figsize=size, layout="constrained")
        below = report.chart.kind == "lines" and bool(report.chart.below)
        axes = figure.subplots(2, sharex=True, height_ratios=(2, 1))[0] if below else figure.add_subplot()
        if report.chart.kind in PICTURES:
            PICTURES[report.chart.kind].draw(axes, report.facts[FACTS[report.chart.kind]], lang)
        else:
            drawing = find_drawing(report.chart)
            (drawing.draw if drawing else KINDS[report.chart.kind])(axes, report.chart, report.table, lang)
        name = report.title(lang)
        axes.set_title(f"{say('report.simulated_short', lang)} {name}" if report.simulated else name, fontsize=11)
    return figure


def save_svg(figure: Figure, stream: IO[bytes]) -> None:
    """Write the figure as SVG: letters as outlines, so that no font is needed; equal figures give equal bytes."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "ascend-workbook"}):
        figure.savefig(stream, format="svg", facecolor="white", metadata={"Date": None})


def save_png(figure: Figure, stream: IO[bytes]) -> None:
    """Write the figure as PNG on opaque white, with PALETTE colours (half the size) unless one would see it."""
    from PIL import Image

    drawn = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a name that no font here carries
        figure.savefig(drawn, format="png", dpi=110, facecolor="white")
    with Image.open(drawn) as image:
        whole = image.convert("RGB")
    if whole.getcolors(COLOURFUL) is None:
        stream.write(drawn.getvalue())
        return
    few = whole.quantize(PALETTE, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(stream, "PNG", optimize=True)


def describe_chart(report: Report) -> str:
    """Describe a chart in one line, for readers without pictures and for tests: kind, columns, points, range."""
    if not (report.chart and report.table and report.table.rows):
        return "no chart"
    pieces = []
    if report.chart.kind == timeline.KIND:
        return f"lanes by time: {timeline.describe_picture(report.facts['timeline'])}"
    if report.chart.kind == "strip":
        states = Counter(str(value) for value in report.table.column_values(report.chart.y[0]))
        pieces = [", ".join(f"{count} {state}" for state, count in sorted(states.items()))]
    drawing = find_drawing(report.chart)
    if drawing:
        pieces = [drawing.describe(report.chart, report.table)]
    for name in (*report.chart.y, *report.chart.below) if report.chart.kind != "strip" and not drawing else ():
        values = [float(value) for value in report.table.column_values(name) if isinstance(value, (int, float))]
        pieces.append(f"{name} ({describe_span(values)})")
    mark = "" if report.chart.mark is None else f", mark {show(report.chart.mark, 'en')}"
    mark += f", marks {show(list(report.chart.marks), 'en')}" if report.chart.marks else ""
    return f"{report.chart.kind} by {report.chart.x}: {', '.join(pieces)}{mark}"


def describe_span(values: list[float]) -> str:
    """Count the points and name their range."""
    return f"{len(values)} points" + (f" {min(values):.4g}..{max(values):.4g}" if values else "")


def _choose_size(report: Report, chart: Chart, table: Table) -> tuple[float, float]:
    """Choose width and height in inches."""
    if chart.kind in PICTURES:
        return 11.0, PICTURES[chart.kind].height(report.facts[FACTS[chart.kind]])
    drawing = find_drawing(chart)
    if drawing:
        return 8.0, drawing.height
    lines, bars = 5.0 if chart.below else 3.6, 1.2 + 0.28 * min(BARS, len(table.rows)) * max(1, 0.6 * len(chart.y))
    return 8.0, {"bars": bars, "stack": 2.3, "strip": 1.6, "heat": 4.2}.get(chart.kind, lines)


def _column_numbers(table: Table, name: str) -> list[float]:
    """Return a column as floats; what is not a number is a gap, never a zero."""
    return [float(value) if isinstance(value, (int, float)) else math.nan for value in table.column_values(name)]


def _title_with_unit(chart: Chart, lang: str, name: str) -> str:
    return f"{title(name, lang)} ({chart.unit})" if chart.unit else title(name, lang)


def _draw_bars(axes: Axes, chart: Chart, table: Table, lang: str) -> None:
    labels = [timeline.cut_middle(show(value, lang), LABEL) for value in table.column_values(chart.x)][:BARS]
    marked = None if chart.mark is None else timeline.cut_middle(show(chart.mark, lang), LABEL)
    thick = 0.8 / len(chart.y)
    for number, (name, colour) in enumerate(zip(chart.y, ("#4c78a8", "#e08a3c", "#59a14f"))):
        places = [at + (number - (len(chart.y) - 1) / 2) * thick for at in range(len(labels))]
        colours = ["#cf222e" if label == marked else colour for label in labels]
        axes.barh(places, _column_numbers(table, name)[:BARS], thick, color=colours, label=title(name, lang))
    if len(chart.y) > 1:
        _draw_legend(axes, 4)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.invert_yaxis()
    if chart.log and any(value > 0 for name in chart.y for value in _column_numbers(table, name)[:BARS]):
        axes.set_xscale("log")
    axes.set_xlabel(_title_with_unit(chart, lang, chart.y[0]) if len(chart.y) == 1 else chart.unit)


def _draw_legend(axes: Axes, columns: int) -> None:
    """Draw the names of what is drawn below the picture; none where nothing is."""
    if axes.get_legend_handles_labels()[1]:
        axes.figure.legend(ncols=columns, fontsize=8, loc="outside lower center", frameon=False)


def _draw_stacks(axes: Axes, chart: Chart, table: Table, lang: str) -> None:
    labels = [show(value, lang) for value in table.column_values(chart.x)]
    below = [0.0] * len(labels)
    for name in chart.y:
        values = [0.0 if math.isnan(value) else value for value in _column_numbers(table, name)]
        if any(values):
            axes.bar(range(len(labels)), values, 0.9, bottom=below, label=title(name, lang))
            below = [before + value for before, value in zip(below, values)]
    every = max(1, math.ceil(len(labels) / BARS))
    axes.set_xticks(range(0, len(labels), every), labels[::every], fontsize=8)
    axes.set_xlabel(title(chart.x, lang))
    axes.set_ylabel(chart.unit)
    _draw_legend(axes, 5)


def _draw_stack(axes: Axes, chart: Chart, table: Table, lang: str) -> None:
    left_end = 0.0
    for label, value in zip(table.column_values(chart.x), _column_numbers(table, chart.y[0])):
        if value > 0:
            axes.barh([0], [value], left=left_end, label=show(label, lang))
            left_end += value
    axes.set_yticks([])
    axes.set_xlabel(_title_with_unit(chart, lang, chart.y[0]))
    axes.margins(x=0.0)
    _draw_legend(axes, 4)


def _draw_lines(axes: Axes, chart: Chart, table: Table, lang: str) -> None:
    _draw_curves(axes, chart, table, lang, chart.y, chart.log)
    axes.set_ylabel(chart.unit)
    if chart.below:
        lower = axes.figure.axes[1]
        positive = any(value > 0 for name in chart.below for value in _column_numbers(table, name))
        _draw_curves(lower, chart, table, lang, chart.below, positive)
        axes = lower
    axes.set_xlabel(title(chart.x, lang))


def _draw_curves(axes: Axes, chart: Chart, table: Table, lang: str, names: tuple[str, ...], log: bool) -> None:
    x = _column_numbers(table, chart.x)
    marker = "o" if len(x) <= DOTS else ""
    if chart.limit and names is chart.y:
        _draw_areas(axes, x, chart, table, lang)
        names = (chart.limit,)
    for name, style in zip(names, cycle(("-", "--", "-.", ":"))):
        axes.plot(x, _column_numbers(table, name), style, marker=marker, markersize=3, label=title(name, lang))
    for place in chart.marks:
        axes.axvline(float(place), color="#bf8700", linewidth=0.8, linestyle=":")
    if isinstance(chart.mark, (int, float)):
        axes.axvline(float(chart.mark), color="#cf222e", linewidth=1)
    if log:
        axes.set_yscale("log")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)


def _draw_areas(axes: Axes, x: list[float], chart: Chart, table: Table, lang: str) -> None:
    """Draw the y columns on one another, but for the one that they are parts of."""
    parts = {name: _column_numbers(table, name) for name in chart.y if name != chart.limit}
    drawn = {name: values for name, values in parts.items() if any(value > 0 for value in values)}
    if drawn:
        axes.stackplot(x, *drawn.values(), labels=[title(name, lang) for name in drawn], alpha=0.8)


def _draw_strip(axes: Axes, chart: Chart, table: Table, lang: str) -> None:
    states = [STATUS_OF_WORD.get(str(value)) for value in table.column_values(chart.y[0])]
    colours = [GREY if state is None else COLOURS[state] for state in states]
    axes.bar(range(len(states)), [1] * len(states), width=0.95, color=colours)
    axes.set_yticks([])
    axes.set_xticks(
        range(len(states)), [show(v, lang) for v in table.column_values(chart.x)], rotation=45, ha="right", fontsize=7
    )


def _draw_heat(axes: Axes, chart: Chart, table: Table, lang: str) -> None:
    """Draw a cell for each pair, with its least value where several rows tell of it; pairs without one stay blank."""
    import numpy as np

    least: dict[tuple[Scalar, Scalar], float] = {}
    pairs = [*zip(table.column_values(chart.by), table.column_values(chart.x))]
    for pair, value in zip(pairs, _column_numbers(table, chart.y[0])):
        if not math.isnan(value):
            least[pair] = min(value, least.get(pair, math.inf))
    down, across = (sorted({pair[at] for pair in pairs}, key=_order_labels) for at in (0, 1))
    most = max((*least.values(), 0.0)) or 1.0
    image = axes.imshow(
        np.ma.masked_invalid([[least.get((row, column), math.nan) for column in across] for row in down]),
        cmap="YlGnBu",
        aspect="auto",
        vmin=0,
        vmax=most,
    )
    axes.figure.colorbar(image, label=_title_with_unit(chart, lang, chart.y[0]))
    for labels, set_ticks, set_label, name in (
        (across, axes.set_xticks, axes.set_xlabel, chart.x),
        (down, axes.set_yticks, axes.set_ylabel, chart.by),
    ):
        every = max(1, math.ceil(len(labels) / BARS))
        set_ticks(range(0, len(labels), every), [show(label, lang) for label in labels[::every]], fontsize=8)
        set_label(title(name, lang))
    if len(least) <= CELLS:
        for (row, column), value in least.items():
            place = across.index(column), down.index(row)
            axes.text(
                *place,
                f"{value:.3g}",
                ha="center",
                va="center",
                fontsize=8,
                color="black" if value < 0.6 * most else "white",
            )


def _order_labels(label: Scalar) -> tuple[bool, float, str]:
    """Return a key that puts numbers first, by size, then texts."""
    return (False, float(label), "") if isinstance(label, (int, float)) else (True, 0.0, str(label))


KINDS: dict[str, Callable[[Axes, Chart, Table, str], None]] = {
    "bars": _draw_bars,
    "stack": _draw_stack,
    "stacks": _draw_stacks,
    "lines": _draw_lines,
    "strip": _draw_strip,
    "heat": _draw_heat,
}
#: Kinds that draw facts of the report in place of its table: which module draws, and which facts
PICTURES: dict[str, Any] = {timeline.KIND: timeline, flame.KIND: flame}
FACTS = {timeline.KIND: "timeline", flame.KIND: "flame"}
