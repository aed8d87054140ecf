"""The interactive timeline in a notebook: its report's page in a frame, above a still picture."""

from __future__ import annotations

import io

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import choose_language
from ascend_workbook.show import template
from ascend_workbook.show.boxed import make_box

#: Pixels of a level, between lanes, of a row of the strip; a deeper Python lane is folded; of a curve; the tallest that
#: all lanes are shown: as in timeline.js
ROW, GAP, STRIP, FOLDED, CURVE, STAGE = 17, 7, 13, 8, 34, 620
#: Pixels of all else in a frame; the tallest frame, in which a reader scrolls
AROUND, TALLEST = 420, 900


def timeline_view(report: Report, lang: str | None = None, *, height: int = 0) -> object:
    """Show the interactive timeline in a notebook, in a frame of its own above its picture. Without a reader it is the
    picture alone, after one line of text that says what it draws. `report`: one with a part `timeline`; `height` of the
    frame in pixels, 0: what its lanes need, up to TALLEST."""
    from ascend_workbook.show import charts

    timeline_report = next(part for part in (report, *report.parts) if "timeline" in part.facts)
    print(charts.describe_chart(timeline_report))
    tall = height or _needed_height(timeline_report)
    return make_box(
        lambda _, told_in: _make_frame(timeline_report, told_in, tall),
        _make_picture(timeline_report, choose_language(lang)),
        lang,
    )


def _make_frame(timeline_report: Report, lang: str, height: int) -> object:
    from IPython.display import HTML

    page, name = timeline_report.html(lang), timeline_report.title(lang)
    return HTML(template.render_frame(page, height, "border:1px solid #8884", name=name))


def _needed_height(timeline_report: Report) -> int:
    """Return the pixels for the lanes as the script lays them out, and what is around them."""
    side = timeline_report.facts["timeline"]["sides"][0]
    levels = [1 if group == "python" and many > FOLDED else many for _, group, _, _, many in side["lanes"]]
    lanes = sum(many * ROW + GAP for many in levels) + len(side["curves"]) * (CURVE + GAP)
    return min(TALLEST, AROUND + min(STAGE, lanes) + STRIP * len(side["busy"]))


def _make_picture(timeline_report: Report, lang: str) -> object:
    """Make the static picture, which an untrusted notebook shows too."""
    from IPython.display import Image

    from ascend_workbook.show import charts

    figure, stream = timeline_report.figure(lang), io.BytesIO()
    if figure is None:
        return timeline_report
    charts.save_png(figure, stream)
    return Image(
        stream.getvalue(), format="png", alt=f"{timeline_report.title(lang)}: {charts.describe_chart(timeline_report)}"
    )
