"""Each kind of box moved as a reader moves it. What it then shows is held against what the verbs say."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from ascend_workbook.diagnose import explain
from ascend_workbook.findings.report import Report
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.views.findings import choose_findings
from ascend_workbook.precision.views.factors import read_measures, report_operators_out
from tests.browser.notebook import Opened

if TYPE_CHECKING:
    from playwright.sync_api import Locator

#: For what takes less than one on a machine that nobody else uses.
SECONDS = 90.0


def text_of(place: Locator) -> str:
    """What a reader sees, spaces as one."""
    return re.sub(r"\s+", " ", place.inner_text())


def expect(place: Locator, said: str) -> None:
    """Waits until `said` stands there; fails with what stands there instead."""
    wanted, page, until = re.sub(r"\s+", " ", said), place.page, time.monotonic() + SECONDS
    while wanted not in text_of(place):
        if time.monotonic() > until:
            raise AssertionError(f"{wanted!r} is not shown after {SECONDS:g} s; what is: {text_of(place)[:600]!r}")
        page.wait_for_timeout(100)


def findings(seen: Opened, folder: Path, first: str, other: str, lang: str) -> None:
    """Filters by class, chooses the last finding, picks another script: the list, its place and the code follow."""
    box, report = seen.output(0), scan(folder / first)
    script, kind, _ = (box.locator("select:not([size])").nth(number) for number in range(3))
    listed, code = box.locator("select[size]"), box.frame_locator("iframe.aw-frame")
    shown = choose_findings(report)
    assert labels(listed) == [label(one) for one in shown]
    listed.evaluate("list => { list.scrollTop = list.scrollHeight; }")
    before = listed.evaluate("list => list.scrollTop")
    last = shown[-1]
    listed.select_option(index=len(shown) - 1)
    expect(box.locator(".aw").nth(0), last.message(lang))
    line = code.locator(".chosen b")

    def number() -> int:
        return int(line.inner_text().strip("> \n"))

    place = last.place
    assert place
    wait(seen, "the code stands at the finding's line", lambda: number() == place.line)
    inside = "each => { const box = each.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; }"
    wait(seen, "the finding's line is in sight", lambda: bool(line.evaluate(inside)))
    above = "head => head.contains(document.elementFromPoint(38, head.getBoundingClientRect().bottom - 4))"
    assert code.locator("header").evaluate(above), "no line number shows through the legend"
    assert listed.evaluate("list => list.scrollTop") >= before > 0, "the list stays where it was scrolled to"
    name = str(last.args["class"])
    kind.select_option(index=1 + ("auto", "rewrite", "manual", "unsupported", "advice").index(name))
    wait(seen, f"class {name} alone", lambda: labels(listed) == [label(one) for one in choose_findings(report, name)])
    assert number() == place.line, "and what is chosen stays chosen"
    kind.select_option(index=0)
    script.select_option(label=other)
    wait(
        seen,
        f"the findings of {other}",
        lambda: labels(listed) == [label(one) for one in choose_findings(scan(folder / other))],
    )
    expect(code.locator("body"), (folder / other).read_text(encoding="utf-8").splitlines()[-1].strip())


def label(one: Any) -> str:
    return re.sub(r"\s+", " ", f"{one.place}  {one.args['code']}").strip()


def labels(listed: Locator) -> list[str]:
    return [re.sub(r"\s+", " ", text).strip() for text in listed.locator("option").all_inner_texts()]


def tolerance(seen: Opened, comparison: Report, lang: str) -> None:
    """Moves the slider to both ends and to a number between: the sentence and the operators are those of
    `report_operators_out`.
    """
    box, found = seen.output(0), read_measures(comparison)
    handle, readout = box.locator(".noUi-handle").first, box.locator(".widget-readout").first
    for factor, move in ((1e4, "End"), (0.01, "Home"), (10.0, "")):
        if move:
            handle.focus()
            handle.press(move)
        else:
            readout.fill(f"{factor:g}")
            readout.press("Enter")
        report = report_operators_out(found, factor)
        expect(box.locator(".aw").first, report.verdict(lang))
        cells = box.locator(".aw").first.locator("td.k").all_inner_texts()
        assert cells == [row[3] for row in (report.table.rows if report.table else ())]


def explained(seen: Opened, text: str, lang: str) -> None:
    """Pastes an error and asks: the verdict and the next step of `explain` come."""
    box = seen.output(0)
    box.locator("textarea").fill(text)
    box.locator("button").first.click()
    expect(box, explain(text).verdict(lang))


def timeline(seen: Opened, report: Report) -> None:
    """Zooms with the wheel and the button, searches, and shows the whole profile."""
    view = seen.output(0).frame_locator("iframe")
    shown, canvas = view.locator(".shown"), view.locator(".stage canvas")
    whole = shown.inner_text()
    spare = canvas.evaluate("() => innerHeight - document.body.getBoundingClientRect().bottom")
    assert 0 <= spare < 150, f"the frame is as tall as its lanes need: {spare} pixels are left"
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": 700, "y": 60})
    seen.screen.page.mouse.wheel(0, -400)
    wait(seen, "the wheel zooms", lambda: shown.inner_text() != whole)
    zoomed = shown.inner_text()
    view.locator(".timeline button").nth(1).click()
    wait(seen, "the button zooms", lambda: shown.inner_text() not in (whole, zoomed))
    view.locator(".timeline button").nth(3).click()
    wait(seen, "the whole is shown", lambda: ": 0 ns –" in shown.inner_text().replace("：", ": "))
    (data,) = report.facts["timeline"]["sides"]
    names, boxes = data["names"], [int(each) for each in data["boxes"]["name"].split()]
    name = names[max(boxes)]
    hits = sum(each >= 0 and name.lower() in names[each].lower() for each in boxes)
    view.locator(".timeline input[type=search]").fill(name)
    expect(view.locator(".hits"), f"{hits} ")


def wait(seen: Opened, what: str, holds: Callable[[], bool]) -> None:
    """Waits until it holds; fails with what was waited for."""
    until = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {SECONDS:g} s")
        seen.screen.page.wait_for_timeout(100)
