"""A scan's findings one by one: chosen by class, rule and text, each with its reason, next step and the code around.

With widgets a list to choose from; in a run without a reader, and without ipywidgets, the first of a class as text.
"""

from __future__ import annotations

import os
from typing import Any

from helpers.errors import WorkbookError
from helpers.finding import Finding
from helpers.migration.around import around
from helpers.migration.repair import ADVICE, AUTO, CLASSES, MANUAL, REWRITE, UNSUPPORTED, class_of
from helpers.report import Report
from helpers.view.widgets import HEADLESS
from helpers.words import say, title

#: Findings told without widgets; entries of the list, which a browser must still draw.
TOLD, LISTED = 3, 2000
ORDER = (UNSUPPORTED, MANUAL, REWRITE, ADVICE, AUTO)


def findings_box(report: Report, lang: str | None = None, kind: str = "") -> Any:
    """A box to choose a finding of the scan's report in; without widgets the first TOLD of class `kind` are printed.

    `kind` is a class of the scan, or empty: all of them. Raises WorkbookError for another word.
    """
    if kind and kind not in CLASSES:
        raise WorkbookError("gate.no_class", name=kind, classes=list(CLASSES))
    box = None if os.environ.get(HEADLESS) == "1" else _box(report, lang, kind)
    if box is None:
        found = chosen(report, kind)
        print(say("migration.box.shown", lang, shown=min(TOLD, len(found)), count=len(found)))
        for finding in found[:TOLD]:
            print("\n" + told(report, finding, lang))
    return box


def chosen(report: Report, kind: str = "", rule: str = "", text: str = "", lang: str | None = None) -> list[Finding]:
    """The findings of a class and a rule (empty: of any) whose place, code or message has the text in it, those first
    that need a person."""
    wanted = text.strip().lower()
    found = [finding for finding in report.findings if finding.place and class_of(finding)]
    found = [
        finding
        for finding in found
        if (not kind or class_of(finding) == kind)
        and (not rule or finding.rule == rule)
        and (not wanted or wanted in f"{finding.place} {finding.args['code']} {finding.message(lang)}".lower())
    ]
    return sorted(found, key=lambda finding: ORDER.index(class_of(finding)))


def told(report: Report, finding: Finding, lang: str | None = None) -> str:
    """One finding whole: what and where, why, what to do, where to read on, and the code around it."""
    kind = say(f"migration.class.{class_of(finding)}", lang)
    lines = [f"{finding.place}  {finding.rule}  {kind}", finding.message(lang), finding.hint(lang)]
    lines += [f"{title('link', lang)}: {finding.args['link']}" if finding.args.get("link") else ""]
    try:
        code = around(report.facts, finding)
    except WorkbookError as error:
        code = f"{error.message(lang)} {error.hint(lang)}"
    return "\n".join(filter(None, [*lines, code]))


def _box(report: Report, lang: str | None, kind: str) -> Any:
    """Two lists and a text to filter by, the findings left, and the chosen one; None where there are no widgets."""
    try:
        import ipywidgets as widgets
    except ImportError:
        return None
    every, found = say("migration.box.all", lang), chosen(report)
    kinds = [(say(f"migration.class.{name}", lang), name) for name in CLASSES if chosen(report, name)]
    rules = sorted({finding.rule for finding in found})
    by_kind = widgets.Dropdown(options=[(every, ""), *kinds], description=title("repair", lang))
    by_rule = widgets.Dropdown(options=[(every, ""), *zip(rules, rules)], description=title("rule", lang))
    by_text = widgets.Text(description=say("migration.box.text", lang), continuous_update=False)
    listed = widgets.Select(rows=10, layout=widgets.Layout(width="100%"))
    shown = widgets.Textarea(disabled=True, layout=widgets.Layout(width="100%", height="18em"))
    left = widgets.Label()

    def refill(_: Any = None) -> None:
        now = chosen(report, by_kind.value, by_rule.value, by_text.value, lang)
        left.value = say("migration.box.shown", lang, shown=min(LISTED, len(now)), count=len(now))
        listed.options = [(f"{each.place}  {each.args['code']}", each) for each in now[:LISTED]]

    def show(_: Any = None) -> None:
        shown.value = told(report, listed.value, lang) if listed.value is not None else ""

    by_kind.value = kind if any(kind == name for _, name in kinds) else ""
    for box in (by_kind, by_rule, by_text):
        box.observe(refill, "value")
    listed.observe(show, "value")
    refill()
    return widgets.VBox([widgets.HBox([by_kind, by_rule, by_text]), left, listed, shown])
