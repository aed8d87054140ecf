"""A file's code with its findings marked: a frame that opens at the chosen line, or a few lines as plain HTML.

The colours of the frame follow the page around it, light or dark. Nothing is loaded, and the code is text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape

from helpers.finding import Finding
from helpers.migration.reading.source import LINE_END
from helpers.migration.repair import CLASSES, class_of
from helpers.words import say

#: Lines that a frame holds, about the chosen one; letters of a line.
LINES, LETTERS = 4000, 400
FONTS = (
    "ui-monospace, 'DejaVu Sans Mono', Consolas, Menlo, 'Noto Sans Mono CJK SC', 'WenQuanYi Micro Hei Mono', monospace"
)
COLOURS = {"unsupported": "#e5534b", "manual": "#c98a1b", "rewrite": "#388bfd", "advice": "#a475f9", "auto": "#3fa34d"}
STYLE = f"""
.aw-code {{ font: 13px/1.5 {FONTS}; white-space: pre; margin: .3em 0 1.2em; overflow-x: auto; }}
.aw-code div {{ border-left: 5px solid transparent; padding-left: .4em; width: max-content; min-width: 100%;
  box-sizing: border-box; }}
.aw-code b {{ opacity: .6; font-weight: 400; user-select: none; }}
.aw-code .chosen {{ outline: 2px solid #8888; outline-offset: -2px; }}
.aw-code .chosen b {{ opacity: 1; font-weight: 700; }}
.aw-legend span {{ margin-right: 1em; border-left: 5px solid; padding-left: .35em; white-space: nowrap; }}
""" + "".join(
    f".aw-code .{kind} {{ border-left-color: {colour}; background: {colour}26; }}\n"
    f".aw-legend .{kind} {{ border-left-color: {colour}; }}\n"
    for kind, colour in COLOURS.items()
)
PAGE = """<!doctype html><html><head><meta charset="utf-8"><style>:root {{ color-scheme: light dark; }}
body {{ margin: 0; background: Canvas; color: CanvasText; }} .aw-code {{ overflow: visible; margin: 0; }}
header {{ position: sticky; top: 0; z-index: 1; background: Canvas; padding: 0 .6em;
  font: 13px/2 system-ui, 'WenQuanYi Micro Hei', sans-serif; border-bottom: 1px solid #8884; }}
{style}</style></head><body><header class="aw-legend">{legend}</header><pre class="aw-code">{lines}</pre>
<script>const chosen = document.querySelector(".chosen");  // a frame may get its height after its content
if (chosen) new ResizeObserver((_, watch) => {{
  scrollTo(0, chosen.offsetTop - innerHeight / 3);
  if (innerHeight > 100) watch.disconnect();
}}).observe(document.documentElement);</script></body></html>"""


def frame(text: str, found: Iterable[Finding], chosen: int, lang: str, height: int = 380) -> str:
    """The file's code in a frame of its own, opened at line `chosen` (0: its begin), `height` pixels tall."""
    marked = list(found)
    every = len(LINE_END.split(text))
    first = min(max(1, chosen - LINES // 2), max(1, every - LINES + 1))
    shown = lines(text, marked, first, first + LINES - 1, chosen, lang)
    whole = PAGE.format(style=STYLE, legend=legend(marked, lang), lines=shown)
    style = f"width:100%;height:{int(height)}px;border:1px solid #8886;border-radius:3px"
    return f'<iframe class="aw-frame" sandbox="allow-scripts" style="{style}" srcdoc="{escape(whole)}"></iframe>'


def lines(text: str, found: Iterable[Finding], first: int, last: int, chosen: int, lang: str) -> str:
    """The lines `first` to `last`, numbered, a finding's with its class's colour and its sentence as a tip."""
    by_line: dict[int, list[Finding]] = {}
    for one in found:
        if one.place:
            by_line.setdefault(one.place.line, []).append(one)
    every = LINE_END.split(text)
    wide = len(str(min(last, len(every))))
    return "".join(_line(f"{number:>{wide}}", every[number - 1], by_line.get(number, []), number == chosen, lang)
                   for number in range(max(1, first), min(last, len(every)) + 1))  # fmt: skip


def legend(found: Iterable[Finding], lang: str) -> str:
    """Each class that occurs with its colour and how often."""
    counts = Counter(map(class_of, found))
    return "".join(f'<span class="{kind}">{escape(say(f"migration.class.{kind}", lang))} {counts[kind]}</span>'
                   for kind in CLASSES if counts[kind])  # fmt: skip


def _line(number: str, code: str, found: list[Finding], chosen: bool, lang: str) -> str:
    kinds = sorted(map(class_of, found), key=list(COLOURS).index)[:1] + ["chosen"] * chosen
    tip = "\n".join(f"{one.rule} {one.message(lang)}" for one in found)
    named = f' class="{" ".join(kinds)}"' if kinds else ""
    said = f' title="{escape(tip)}"' if tip else ""
    cut = code if len(code) <= LETTERS else f"{code[: LETTERS - 1]}…"
    sign = "&gt;" if chosen else " "  # what is left of the mark where styles are taken away
    return f"<div{named}{said}><b>{sign} {number}  </b>{escape(cut)}</div>"
