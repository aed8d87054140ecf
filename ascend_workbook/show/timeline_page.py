"""The interactive timeline as a piece of a page: timeline.js and its data inside, nothing loaded from anywhere."""

from __future__ import annotations

import io
import json

from markupsafe import Markup

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import choose_language, load_catalogue, say
from ascend_workbook.show import template
from ascend_workbook.show.boxed import make_box

#: Pixels of a level, between lanes, of a lane of the strip; a deeper Python lane is folded: as in timeline.js
ROW, GAP, STRIP, FOLDED = 17, 7, 13, 8
#: Pixels of all else in a frame; the tallest frame, in which a reader scrolls
AROUND, TALLEST = 330, 900


def render_view(report: Report, lang: str, still: str = "") -> Markup:
    """Render the view of a report with a timeline; `still` (HTML) is shown until the script runs, or where none may."""
    data = report.facts["timeline"]
    words: dict[str, str] = {}
    inner_words: dict[str, dict[str, str]] = {"groups": {}, "kinds": {}}
    for key in load_catalogue():
        first, _, name = key.partition(".")
        group, _, inner = name.partition(".")
        if first == "timeline" and name != "left_out":
            (inner_words[f"{group}s"] if inner else words)[inner or name] = say(key, lang)
    inside = json.dumps({"data": data, "words": {**inner_words, **words}}, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        inside = inside.replace(sign, f"\\u{ord(sign):04x}")
    return template.render_template("timeline.html", lang=lang, inside=Markup(inside), still=Markup(still))


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

    name = timeline_report.title(lang)
    whole = template.render_page(name, render_view(timeline_report, lang), lang)
    return HTML(template.render_frame(whole, height, "border:1px solid #8884", name=name))


def _needed_height(timeline_report: Report) -> int:
    """Return the pixels for the lanes as the script lays them out, and what is around them."""
    data = timeline_report.facts["timeline"]
    levels = [1] * len(data["lanes"])
    for lane, level in zip(map(int, data["boxes"]["lane"].split()), map(int, data["boxes"]["level"].split())):
        levels[lane] = max(levels[lane], level + 1)
    shown = [1 if lane[0] == "python" and many > FOLDED else many for lane, many in zip(data["lanes"], levels)]
    lanes = sum(many * ROW + GAP for many in shown)
    return min(TALLEST, AROUND + lanes + STRIP * len(data["overview"]["lanes"]))


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
