"""The interactive timeline as a piece of a page: one script, data inside it, nothing loaded from anywhere."""

from __future__ import annotations

import io
import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from helpers.report import Report
from helpers.view.boxed import boxed
from helpers.words import catalogue, language, say

SCRIPT = Path(__file__).with_name("timeline.js")
CLASS = 'class="aw-timeline"'
#: Pixels of a level, between lanes, of a lane of the strip; a deeper Python lane is folded: as in timeline.js
ROW, GAP, STRIP, FOLDED = 17, 7, 13, 8
#: Pixels of all else in a frame; the tallest frame, in which a reader scrolls
AROUND, TALLEST = 330, 900
STYLE = """
.aw-timeline { margin: .8em 0; } .aw-timeline .stage { position: relative; overflow: hidden; }
.aw-timeline .bar { display: flex; flex-wrap: wrap; gap: .5em; align-items: center; margin: .3em 0; }
.aw-timeline input[type=search] { min-width: 14em; } .aw-timeline .bar > * { font: inherit; font-size: .88em; }
.aw-timeline canvas { display: block; touch-action: pan-y; } .aw-timeline canvas:focus { outline: 2px solid #0969da; }
.aw-timeline .tip { position: absolute; max-width: 32em; padding: .3em .6em; font-size: .82em; pointer-events: none;
  background: Canvas; color: CanvasText; border: 1px solid #8888; border-radius: .3em; z-index: 2;
  overflow-wrap: anywhere; }
.aw-timeline .legend span { margin-right: 1.1em; font-size: .85em; white-space: nowrap; }
.aw-timeline .legend i { display: inline-block; width: .9em; height: .9em; margin-right: .35em; vertical-align: -.1em; }
.aw-timeline .note { font-size: .85em; opacity: .8; margin: .3em 0; } .aw-timeline .legend { margin: .4em 0; }
.aw-timeline .selected { font-size: .88em; max-height: 24em; overflow: auto; overflow-wrap: anywhere; }
.aw-timeline .selected td + td { white-space: nowrap; }
.aw-timeline .total { font-weight: 600; } .aw-timeline .shown { margin-left: auto; }
"""


def view(report: Report, lang: str, still: str = "") -> str:
    """The view of a report with a timeline; `still` (HTML) is shown until the script runs, and where none may."""
    data = report.facts["timeline"]
    inside = json.dumps({"data": data, "words": _words(lang)}, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        inside = inside.replace(sign, f"\\u{ord(sign):04x}")
    fallback = f'<div class="still">{still}<p>{escape(say("timeline.no_script", lang))}</p></div>' if still else ""
    return f'<div {CLASS}>{fallback}<script type="application/json">{inside}</script></div>'


def script(body: str) -> str:
    """The script and the style, where the page's body has a view for them."""
    return f"<style>{STYLE}</style><script>{_code()}</script>" if f"<div {CLASS}>" in body else ""


def timeline_view(report: Report, lang: str | None = None, *, height: int = 0) -> Any:
    """The interactive timeline as a notebook shows it, in a frame of its own above its picture; without a reader the
    picture alone, after one line of text that says what it draws. `report`: one with a part `timeline`; `height` of
    the frame in pixels, 0: what its lanes need, up to TALLEST."""
    from helpers.view import charts

    found = next(part for part in (report, *report.parts) if "timeline" in part.facts)
    print(charts.facts(found))
    tall = height or _needed(found)
    return boxed(lambda _, told_in: _frame(found, told_in, tall), _still(found, language(lang)), lang)


def _frame(found: Report, lang: str, height: int) -> Any:
    from IPython.display import HTML

    from helpers.view.html import page

    body = view(found, lang)
    whole = page(found.title(lang), f'<div class="aw">{body}</div>{script(body)}', lang)
    style = f"width:100%;height:{int(height)}px;border:1px solid #8884"
    name = escape(found.title(lang))
    return HTML(f'<div><iframe srcdoc="{escape(whole)}" style="{style}" sandbox="allow-scripts" title="{name}">'
                "</iframe></div>")  # fmt: skip


def _needed(found: Report) -> int:
    """Pixels for the lanes as the script lays them out, the strip below them, the bar, the legend and the notes."""
    data = found.facts["timeline"]
    levels = [1] * len(data["lanes"])
    for lane, level in zip(map(int, data["boxes"]["lane"].split()), map(int, data["boxes"]["level"].split())):
        levels[lane] = max(levels[lane], level + 1)
    shown = [1 if lane[0] == "python" and many > FOLDED else many for lane, many in zip(data["lanes"], levels)]
    lanes = sum(many * ROW + GAP for many in shown)
    return min(TALLEST, AROUND + lanes + STRIP * len(data["overview"]["lanes"]))


def _still(found: Report, lang: str) -> Any:
    """The static picture, which an untrusted notebook shows too."""
    from IPython.display import Image

    from helpers.view import charts

    figure, stream = found.figure(lang), io.BytesIO()
    if figure is None:
        return found
    charts.save_png(figure, stream)
    return Image(stream.getvalue(), format="png", alt=f"{found.title(lang)}: {charts.facts(found)}")


def _words(lang: str) -> dict[str, Any]:
    """The page's words: `timeline.NAME` as NAME, those of groups and kinds in a mapping each."""
    told: dict[str, Any] = {"groups": {}, "kinds": {}}
    for key in catalogue():
        first, _, name = key.partition(".")
        group, _, inner = name.partition(".")
        if first == "timeline" and name != "picture" and name != "left_out":
            (told[f"{group}s"] if inner else told)[inner or name] = say(key, lang)
    return told


@cache
def _code() -> str:
    return SCRIPT.read_text(encoding="utf-8")
