"""The box of `findings_box`: a script to pick, filters, the findings left beside the code, and the chosen one's reason.

The code stays where it is while filters change; it opens anew at the line of a finding that is chosen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import choose_language, say, title
from ascend_workbook.migration.around import text_of
from ascend_workbook.migration.repair import CLASSES
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.views.findings import (
    LISTED,
    First,
    choose_findings,
    describe_count,
    describe_missing,
    list_scripts,
    list_unread_files,
    of_script,
    render_detail,
    render_frame,
)
from ascend_workbook.show import template
from ascend_workbook.show.boxed import make_box

TALL = 400


def findings_box(report: Report, lang: str | None = None, kind: str = "") -> Any:
    """A box to pick a script and a finding in beside its code; without widgets, the first of class `kind`.

    Empty: of all classes. Raises WorkbookError for a word that is no class."""
    if kind and kind not in CLASSES:
        raise WorkbookError("gate.no_class", name=kind, classes=list(CLASSES))
    still = First(report, kind, choose_language(lang))
    return make_box(lambda widgets, told_in: Chooser(widgets, report, told_in, kind).box, still, lang)


class Chooser:
    """Builds the widgets of one scan's report and answers their changes through `scan` and `choose_findings`."""

    def __init__(self, widgets: Any, report: Report, lang: str, kind: str) -> None:
        self.report, self.lang, self.shown, self.trouble = report, lang, Place(""), ""
        every = (say("migration.box.all", lang), "")
        names, wide = list_scripts(report), widgets.Layout(width="100%")
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
        self.box = widgets.VBox(
            [
                widgets.HBox(
                    [self.script, self.kind, self.rule, self.text], layout=widgets.Layout(flex_flow="row wrap")
                ),
                self.left,
                widgets.HBox([self.listed, widgets.Box([self.code], layout=widgets.Layout(width="62%"))]),
                self.detail,
            ]
        )
        self.script.observe(self.pick_script, "value")
        for box in (self.kind, self.rule, self.text):
            box.observe(self.refill_list, "value")
        self.listed.observe(self.show_finding, "value")
        self.pick_script()

    def pick_script(self, _: object = None) -> None:
        """Scan another script where the report at hand does not have it; what stands in the way of that is said."""
        name, self.trouble = self.script.value or "", ""
        path = Path(self.report.facts["root"], name)
        if name and name not in self.report.facts["sha256"] and path != Path(self.report.facts["path"]):
            try:
                self.report = scan(path)
            except WorkbookError as error:
                self.trouble = f"{error.message(self.lang)} {error.hint(self.lang)}".strip()
        rules = sorted({finding.rule for finding in of_script(choose_findings(self.report), name)})
        kept_rule = self.rule.value if self.rule.value in rules else ""
        self.rule.options = [(say("migration.box.all", self.lang), ""), *zip(rules, rules)]
        self.rule.value = kept_rule
        self.refill_list()

    def refill_list(self, _: object = None) -> None:
        """The findings that the filters leave; the chosen one stays chosen where it is among them."""
        left = choose_findings(self.report, self.kind.value, self.rule.value, self.text.value, self.lang)
        now, before = of_script(left, self.script.value or ""), self.listed.value
        self.left.value = describe_count(now, LISTED, self.lang)
        self.listed.unobserve(self.show_finding, "value")  # new options choose the first, for a moment
        self.listed.options = [(f"{finding.place}  {finding.args['code']}", finding) for finding in now[:LISTED]]
        self.listed.value = before if before in now[:LISTED] else next(iter(now), None)
        self.listed.observe(self.show_finding, "value")
        self.show_finding()

    def show_finding(self, _: object = None) -> None:
        """Show the chosen finding's reason, and its code unless that is there; without one why there is none."""
        chosen_finding: Finding | None = self.listed.value
        name = self.script.value or ""
        missed = list_unread_files(self.report, name)
        first = chosen_finding or next(iter(missed), None)
        place = first.place if first and first.place else Place(name)
        left = [listed_finding for _, listed_finding in self.listed.options]
        messages = [self.trouble] if self.trouble else describe_missing(self.report, left, self.lang, name)
        details = [(render_detail(chosen_finding, self.lang), None)] if chosen_finding else []
        chosen = template.render_template("chosen.html", said=messages, findings=details)
        self.detail.value = template.render_fragment(chosen, code=True)
        if place != self.shown:
            self.shown, self.code.value = place, self._show_frame(place)

    def _show_frame(self, place: Place) -> str:
        if not place.path:
            return ""
        try:
            text = text_of(self.report.facts, place)
        except WorkbookError as error:
            if self.trouble or list_unread_files(self.report, place.path):
                return ""  # the sentence below says why
            messages = [f"{error.message(self.lang)} {error.hint(self.lang)}"]
            return str(template.render_template("chosen.html", said=messages, findings=[]))
        every = choose_findings(self.report)  # each has a place and a class
        same = [finding for finding in every if finding.place and finding.place.path == place.path]
        return render_frame(text, same, place.line, self.lang, TALL)
