"""A scan's findings one by one: chosen by class, rule and text, each with its reason, next step and the code around.

With widgets a script to pick and a list beside its code; below it, and alone without widgets, the first of a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.migration.around import LINES, around, text_of
from helpers.migration.repair import ADVICE, AUTO, CLASSES, MANUAL, REWRITE, UNSUPPORTED, class_of
from helpers.report import Report
from helpers.view import browse, code, html
from helpers.view.boxed import boxed
from helpers.words import language, say, title

#: Findings told without widgets; entries of a list, which a browser must still draw.
TOLD, LISTED = 3, 2000
ORDER = (UNSUPPORTED, MANUAL, REWRITE, ADVICE, AUTO)


@dataclass(frozen=True)
class First:
    """The first TOLD findings of a class, as text and as HTML."""

    report: Report
    kind: str
    lang: str

    def __repr__(self) -> str:
        found = chosen(self.report, self.kind)
        pieces = [told(self.report, one, self.lang) for one in found[:TOLD]]
        return "\n\n".join([counted(found, TOLD, self.lang), *beside(self.report, found, self.lang), *pieces])

    def _repr_html_(self) -> str:
        found = chosen(self.report, self.kind)
        said = [counted(found, TOLD, self.lang), *beside(self.report, found, self.lang)]
        pieces = [f"<p>{escape(one)}</p>" for one in said]
        for one in found[:TOLD]:
            pieces += [detail(one, self.lang), f'<pre class="aw-code">{excerpt(self.report, one, self.lang)}</pre>']
        return f'<div class="aw"><style>{html.STYLE}{code.STYLE}</style>{"".join(pieces)}</div>'


def findings_box(report: Report, lang: str | None = None, kind: str = "") -> Any:
    """A box to pick a script and a finding in, beside its code; below it, and alone without widgets, the first TOLD of
    class `kind`.

    `kind` is a class of the scan, or empty: all of them. Raises WorkbookError for another word.
    """
    from helpers.view.chooser import Chooser

    if kind and kind not in CLASSES:
        raise WorkbookError("gate.no_class", name=kind, classes=list(CLASSES))
    still = First(report, kind, language(lang))
    return boxed(lambda widgets, told_in: Chooser(widgets, report, told_in, kind).box, still, lang)


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


def counted(found: list[Finding], most: int, lang: str) -> str:
    return say("migration.box.shown", lang, shown=min(most, len(found)), count=len(found))


def unread(report: Report, name: str = "") -> list[Finding]:
    """The files that the scan could not look at; of `name` alone where it is given."""
    found = [one for one in report.findings if one.place and one.status >= Status.SKIPPED and not class_of(one)]
    return [one for one in found if not name or (one.place and one.place.path.partition("#cell")[0] == name)]


def beside(report: Report, found: list[Finding], lang: str, name: str = "") -> list[str]:
    """What is said beside the findings that are left: which files were not looked at and, where none is left, whether
    there is none or a filter hides them, with the next step."""
    every = [one for one in chosen(report) if not name or (one.place and one.place.path.partition("#cell")[0] == name)]
    head = report.headline
    missed = unread(report, name)
    if not missed and not every and not name and head and head.status >= Status.SKIPPED:
        missed = [head]  # the folder holds nothing that could be looked at
    said = [" → ".join(filter(None, (one.message(lang), one.hint(lang)))) for one in missed]
    if found or said:
        return said
    return [say("migration.box.hidden" if every else "migration.box.none", lang, count=len(every))]


def scripts(report: Report) -> list[str]:
    """Names below the scan's root that can be picked: the scanned files; of a scanned script its neighbours after
    it."""
    scanned, root, path = sorted(report.facts["sha256"]), Path(report.facts["root"]), Path(report.facts["path"])
    if not path.is_file():
        return scanned
    return list(dict.fromkeys([path.name, *scanned, *sorted(file.name for file in root.glob("*.py"))]))[:LISTED]


def told(report: Report, finding: Finding, lang: str | None = None) -> str:
    """One finding whole: what and where, why, what to do, where to read on, and the code around it."""
    kind = say(f"migration.class.{class_of(finding)}", lang)
    lines = [f"{finding.place}  {finding.rule}  {kind}", finding.message(lang), finding.hint(lang)]
    lines += [f"{title('link', lang)}: {finding.args['link']}" if finding.args.get("link") else ""]
    try:
        around_it = around(report.facts, finding)
    except WorkbookError as error:
        around_it = _unread(error, lang)
    return "\n".join(filter(None, [*lines, around_it]))


def detail(finding: Finding, lang: str) -> str:
    """One finding as HTML, without its code."""
    kind, hint, link = class_of(finding), finding.hint(lang), str(finding.args.get("link") or "")
    head = f'<span class="aw-legend"><span class="{kind}">{escape(say(f"migration.class.{kind}", lang))}</span></span> '
    pieces = [f"{head}<b>{escape(finding.rule)}</b> <code>{escape(str(finding.place))}</code>",
              escape(finding.message(lang)), f'<span class="hint">→ {escape(hint)}</span>' if hint else "",
              browse.link(link) if link.startswith("https://") else escape(link)]  # fmt: skip
    return f"<p>{'<br>'.join(filter(None, pieces))}</p>"


def excerpt(report: Report, finding: Finding, lang: str) -> str:
    """The lines around a finding as HTML, its own marked."""
    place = finding.place or Place("")
    try:
        text = text_of(report.facts, place)
    except WorkbookError as error:
        return escape(_unread(error, lang))
    return code.lines(text, [finding], place.line - LINES, place.line + LINES, place.line, lang)


def _unread(error: WorkbookError, lang: str | None) -> str:
    return f"{error.message(lang)} {error.hint(lang)}"
