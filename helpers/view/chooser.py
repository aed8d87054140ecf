"""The box of `findings_box`: a script to pick, filters, the findings left beside the code, and the chosen one's reason.

The code stays where it is while filters change; it opens anew at the line of a finding that is chosen.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.finding import Finding, Place
from helpers.migration.around import text_of
from helpers.migration.repair import CLASSES, class_of
from helpers.migration.scan import scan
from helpers.report import Report
from helpers.view import code, html
from helpers.view.findings import LISTED, beside, chosen, counted, detail, scripts, unread
from helpers.words import say, title

TALL = 400


class Chooser:
    """Builds the widgets of one scan's report and answers their changes through `scan` and `chosen`."""

    def __init__(self, widgets: Any, report: Report, lang: str, kind: str) -> None:
        self.report, self.lang, self.shown, self.trouble = report, lang, Place(""), ""
        every = (say("migration.box.all", lang), "")
        names, wide = scripts(report), widgets.Layout(width="100%")
        first = [] if Path(report.facts["path"]).is_file() else [every]
        narrow = widgets.Layout(width="24%", min_width="11em")
        files = [*first, *zip(names, names)]
        self.script = widgets.Dropdown(options=files, description=title("file", lang), layout=narrow)
        kinds = [every, *((say(f"migration.class.{name}", lang), name) for name in CLASSES)]
        self.kind = widgets.Dropdown(options=kinds, value=kind, description=title("repair", lang), layout=narrow)
        self.rule = widgets.Dropdown(options=[every], description=title("rule", lang), layout=narrow)
        self.text = widgets.Text(description=say("migration.box.text", lang), continuous_update=False, layout=narrow)
        self.left, self.detail, self.code = widgets.Label(), widgets.HTML(layout=wide), widgets.HTML(layout=wide)
        self.listed = widgets.Select(layout=widgets.Layout(width="38%", height=f"{TALL + 4}px"))
        self.box = widgets.VBox([
            widgets.HBox([self.script, self.kind, self.rule, self.text], layout=widgets.Layout(flex_flow="row wrap")),
            self.left, widgets.HBox([self.listed, widgets.Box([self.code], layout=widgets.Layout(width="62%"))]),
            self.detail])  # fmt: skip
        self.script.observe(self.pick, "value")
        for box in (self.kind, self.rule, self.text):
            box.observe(self.refill, "value")
        self.listed.observe(self.show, "value")
        self.pick()

    def pick(self, _: Any = None) -> None:
        """Another script: scanned where the report at hand does not have it, and what stands in the way of that is
        said."""
        name, self.trouble = self.script.value or "", ""
        path = Path(self.report.facts["root"], name)
        if name and name not in self.report.facts["sha256"] and path != Path(self.report.facts["path"]):
            try:
                self.report = scan(path)
            except WorkbookError as error:
                self.trouble = f"{error.message(self.lang)} {error.hint(self.lang)}".strip()
        rules = sorted({finding.rule for finding in self._of_script(chosen(self.report))})
        kept = self.rule.value if self.rule.value in rules else ""
        self.rule.options = [(say("migration.box.all", self.lang), ""), *zip(rules, rules)]
        self.rule.value = kept
        self.refill()

    def refill(self, _: Any = None) -> None:
        """The findings that the filters leave; the chosen one stays chosen where it is among them."""
        now = self._of_script(chosen(self.report, self.kind.value, self.rule.value, self.text.value, self.lang))
        before = self.listed.value
        self.left.value = counted(now, LISTED, self.lang)
        self.listed.unobserve(self.show, "value")  # new options choose the first, for a moment
        self.listed.options = [(f"{one.place}  {one.args['code']}", one) for one in now[:LISTED]]
        self.listed.value = before if before in now[:LISTED] else next(iter(now), None)
        self.listed.observe(self.show, "value")
        self.show()

    def show(self, _: Any = None) -> None:
        """The chosen finding's reason, and its code unless that is on the screen already; without a finding why there
        is none."""
        one: Finding | None = self.listed.value
        name = self.script.value or ""
        missed = unread(self.report, name)
        first = one or next(iter(missed), None)
        place = first.place if first and first.place else Place(name)
        style = f"<style>{html.STYLE}{code.STYLE}</style>"
        left = [each for _, each in self.listed.options]
        said = [self.trouble] if self.trouble else beside(self.report, left, self.lang, name)
        told = "".join(f"<p>{escape(each)}</p>" for each in said)
        self.detail.value = f'<div class="aw">{style}{told}{detail(one, self.lang) if one else ""}</div>'
        if place != self.shown:
            self.shown, self.code.value = place, self._frame(place)

    def _of_script(self, found: list[Finding]) -> list[Finding]:
        name = self.script.value
        return [one for one in found if not name or (one.place and one.place.path.partition("#cell")[0] == name)]

    def _frame(self, place: Place) -> str:
        if not place.path:
            return ""
        try:
            text = text_of(self.report.facts, place)
        except WorkbookError as error:
            if self.trouble or unread(self.report, place.path):
                return ""  # the sentence below says why
            return f"<p>{escape(error.message(self.lang))} {escape(error.hint(self.lang))}</p>"
        same = [one for one in chosen(self.report) if class_of(one) and one.place and one.place.path == place.path]
        return code.frame(text, same, place.line, self.lang, TALL)
