"""A chart as SVG within a cell's HTML: its letters are the browser's, its colours those of JupyterLab's theme."""

from __future__ import annotations

import base64
import io
import re
import warnings
from typing import TYPE_CHECKING

from ascend_workbook.findings.report import Report
from ascend_workbook.show import charts

if TYPE_CHECKING:
    from markupsafe import Markup

#: What matplotlib draws with in the place of the theme's colours.
INK, FAINT = "#010101", "#010102"
#: A colour of the picture -> the theme's; outside of JupyterLab the colour after the comma.
THEME = {
    INK: "var(--jp-content-font-color1, #222)",
    FAINT: "var(--jp-border-color1, #9aa0a6)",
    "#000000": "var(--jp-content-font-color1, #222)",
    "#ffffff": "var(--jp-layout-color0, #fff)",
    "#57606a": "var(--jp-content-font-color2, #57606a)",
    "#cf222e": "var(--jp-error-color1, #cf222e)",
}
#: Matplotlib's settings: letters stay letters, nothing is filled with white.
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ascend-workbook",
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color", "legend.edgecolor"), FAINT),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), "none"),
    "axes.spines.top": False,
    "axes.spines.right": False,
}
#: A font as matplotlib writes it: before 3.11 with its size.
FONT = re.compile(r"font(?:-family)?: (?:(?:italic|oblique|bold|\d{3}) )*(?:([\d.]+px) )?[^;\"]*'[^;\"]*")
#: Names that each picture has anew, a style for the whole page, and whose picture it is.
LEFT_OUT = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>| id=\"[A-Za-z0-9.]*_[\d.]+\"", re.DOTALL)
LANGUAGES = {"zh": "zh-CN"}


def render_chart(report: Report, lang: str) -> Markup | str:
    """Render the chart for a cell. Where its styles are not trusted, JupyterLab shows the PNG in its place."""
    from ascend_workbook.show.template import render_template

    figure = report.figure(lang)
    if figure is None:
        return ""
    still = io.BytesIO()
    charts.save_png(figure, still)
    return render_template(
        "chart.html",
        lang=LANGUAGES.get(lang, lang),
        name=report.title(lang),
        drawn=draw_themed(report, lang),
        still=base64.b64encode(still.getvalue()).decode(),
    )


def draw_themed(report: Report, lang: str) -> Markup:
    """Draw the chart as an SVG element; equal reports give equal texts."""
    from markupsafe import Markup, escape
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has other fonts
        figure = charts.draw_chart(report, lang, themed=True)
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = LEFT_OUT.sub("", stream.getvalue()[stream.getvalue().index("<svg") :])
    text = FONT.sub(lambda match: f"font-size: {match[1]}" * bool(match[1]), text)  # the family is the page's
    for colour, variable in THEME.items():
        text = text.replace(colour, variable)
    name = escape(f"{report.title(lang)}: {charts.describe_chart(report)}")
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{name}" stroke-linejoin="round" ', 1))
