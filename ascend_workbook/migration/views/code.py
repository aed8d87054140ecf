"""A file's code with its findings marked: a frame that opens at the chosen line, or a few lines as plain HTML.

The colours of the frame follow the page around it, light or dark. Nothing is loaded, and the code is text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from markupsafe import Markup

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.reading.source import LINE_END
from ascend_workbook.migration.repair import ADVICE, AUTO, CLASSES, MANUAL, REWRITE, UNSUPPORTED, class_of
from ascend_workbook.show import template

#: Lines that a frame holds, about the chosen one; letters of a line.
LINES, LETTERS = 4000, 400
#: Classes from what weighs most.
ORDER = (UNSUPPORTED, MANUAL, REWRITE, ADVICE, AUTO)


def render_frame(text: str, findings: Iterable[Finding], chosen: int, lang: str, height: int = 380) -> str:
    """The file's code in a frame of its own, opened at line `chosen` (0: its begin), `height` pixels tall."""
    marked = list(findings)
    every = len(LINE_END.split(text))
    first = min(max(1, chosen - LINES // 2), max(1, every - LINES + 1))
    counts = Counter(map(class_of, marked))
    whole = template.render_template(
        "code_page.html",
        lang=lang,
        counts=[(kind, counts[kind]) for kind in CLASSES if counts[kind]],
        lines=render_lines(text, marked, first, first + LINES - 1, chosen, lang),
    )
    return template.render_frame(whole, height, "border:1px solid #8886;border-radius:3px", kind="aw-frame")


def render_lines(text: str, file_findings: Iterable[Finding], first: int, last: int, chosen: int, lang: str) -> Markup:
    """The lines `first` to `last`, numbered, a finding's with its class's colour and its sentence as a tip."""
    by_line: dict[int, list[Finding]] = {}
    for finding in file_findings:
        if finding.place:
            by_line.setdefault(finding.place.line, []).append(finding)
    every = LINE_END.split(text)
    wide = len(str(min(last, len(every))))
    shown = range(max(1, first), min(last, len(every)) + 1)
    rows = [_render_line(f"{at:>{wide}}", every[at - 1], by_line.get(at, []), at == chosen, lang) for at in shown]
    return template.render_template("code.html", rows=rows)


def _render_line(number: str, code: str, findings: list[Finding], chosen: bool, lang: str) -> dict[str, object]:
    kinds = sorted(map(class_of, findings), key=ORDER.index)[:1] + ["chosen"] * chosen
    tip = "\n".join(f"{finding.rule} {finding.message(lang)}" for finding in findings)
    cut = code if len(code) <= LETTERS else f"{code[: LETTERS - 1]}…"
    return {"number": number, "code": cut, "kinds": kinds, "tip": tip, "chosen": chosen}
