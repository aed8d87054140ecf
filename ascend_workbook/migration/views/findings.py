"""A scan's findings one by one: chosen by class, rule and text, each with its reason, next step and the code around.

With widgets a script to pick and a list beside its code; below it, and alone without widgets, the first of a class.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say, title
from ascend_workbook.migration.around import LINES, show_context, text_of
from ascend_workbook.migration.reading.source import LINE_END
from ascend_workbook.migration.repair import CLASSES, GRAVEST, Findings, class_of
from ascend_workbook.show import template

#: Lines that a frame holds, about the chosen one; letters of a line.
FRAME_LINES, LETTERS = 4000, 400


def render_frame(text: str, findings: Findings, chosen: int, lang: str, height: int = 380) -> str:
    """The file's code in a frame of its own, opened at line `chosen` (0: its begin), `height` pixels tall."""
    marked = list(findings)
    first = min(max(1, chosen - FRAME_LINES // 2), max(1, len(LINE_END.split(text)) - FRAME_LINES + 1))
    counts = Counter(map(class_of, marked))
    whole = template.render_template(
        "code_page.html",
        lang=lang,
        counts=[(kind, counts[kind]) for kind in CLASSES if counts[kind]],
        lines=render_lines(text, marked, first, first + FRAME_LINES - 1, chosen, lang),
    )
    return template.render_frame(whole, height, "border:1px solid #8886;border-radius:3px", kind="aw-frame")


def render_lines(text: str, file_findings: Findings, first: int, last: int, chosen: int, lang: str) -> Markup:
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
    kinds = sorted(map(class_of, findings), key=GRAVEST.index)[:1] + ["chosen"] * chosen
    tip = "\n".join(f"{finding.rule} {finding.message(lang)}" for finding in findings)
    cut = code if len(code) <= LETTERS else f"{code[: LETTERS - 1]}…"
    return {"number": number, "code": cut, "kinds": kinds, "tip": tip, "chosen": chosen}


#: Findings told without widgets; entries of a list, which a browser must still draw.
TOLD, LISTED = 3, 2000


@dataclass(frozen=True)
class First:
    """The first TOLD findings of a class, as text and as HTML."""

    report: Report
    kind: str
    lang: str

    def _choose(self) -> tuple[list[str], list[Finding]]:
        findings = choose_findings(self.report, self.kind)
        messages = [describe_count(findings, TOLD, self.lang), *describe_missing(self.report, findings, self.lang)]
        return messages, findings[:TOLD]

    def __repr__(self) -> str:
        messages, findings = self._choose()
        return "\n\n".join([*messages, *(describe_finding(self.report, finding, self.lang) for finding in findings)])

    def _repr_html_(self) -> str:
        messages, findings = self._choose()
        shown = [(render_detail(each, self.lang), render_excerpt(self.report, each, self.lang)) for each in findings]
        chosen = template.render_template("chosen.html", said=messages, findings=shown)
        return template.render_fragment(chosen, code=True)


def choose_findings(
    report: Report, kind: str = "", rule: str = "", text: str = "", lang: str | None = None
) -> list[Finding]:
    """The findings of a class and rule (empty: any) with the text in them; those for a person first."""
    wanted = text.strip().lower()
    findings = [finding for finding in report.findings if finding.place and class_of(finding)]
    findings = [
        finding
        for finding in findings
        if (not kind or class_of(finding) == kind)
        and (not rule or finding.rule == rule)
        and (not wanted or wanted in f"{finding.place} {finding.args['code']} {finding.message(lang)}".lower())
    ]
    return sorted(findings, key=lambda finding: GRAVEST.index(class_of(finding)))


def describe_count(findings: list[Finding], most: int, lang: str) -> str:
    return say("migration.box.shown", lang, shown=min(most, len(findings)), count=len(findings))


def list_unread_files(report: Report, name: str = "") -> list[Finding]:
    """The files that the scan could not look at; of `name` alone where it is given."""
    return [
        finding
        for finding in of_script(report.findings, name)
        if finding.place and finding.status >= Status.SKIPPED and not class_of(finding)
    ]


def of_script(findings: Findings, name: str) -> list[Finding]:
    """The findings of one script or notebook, by the place; all of them where no name is given."""
    return [
        finding
        for finding in findings
        if not name or (finding.place and finding.place.path.partition("#cell")[0] == name)
    ]


def describe_missing(report: Report, findings: list[Finding], lang: str, name: str = "") -> list[str]:
    """Describe beside the findings left what was not looked at, whether a filter hides some, and the next step."""
    every = of_script(choose_findings(report), name)
    head = report.headline
    missed = list_unread_files(report, name)
    if not missed and not every and not name and head and head.status >= Status.SKIPPED:
        missed = [head]  # the folder holds nothing that could be looked at
    messages = [" → ".join(filter(None, (finding.message(lang), finding.hint(lang)))) for finding in missed]
    if findings or messages:
        return messages
    return [say("migration.box.hidden" if every else "migration.box.none", lang, count=len(every))]


def list_scripts(report: Report) -> list[str]:
    """Names below the scan's root that can be picked: the scanned files; beside a scanned script its neighbours."""
    scanned, root, path = sorted(report.facts["sha256"]), Path(report.facts["root"]), Path(report.facts["path"])
    if not path.is_file():
        return scanned
    return list(dict.fromkeys([path.name, *scanned, *sorted(file.name for file in root.glob("*.py"))]))[:LISTED]


def describe_finding(report: Report, finding: Finding, lang: str | None = None) -> str:
    """Describe one finding whole: what and where, why, what to do, where to read on, and the code around it."""
    kind = say(f"migration.class.{class_of(finding)}", lang)
    lines = [f"{finding.place}  {finding.rule}  {kind}", finding.message(lang), finding.hint(lang)]
    lines += [f"{title('link', lang)}: {finding.args['link']}" if finding.args.get("link") else ""]
    try:
        around_it = show_context(report.facts, finding)
    except WorkbookError as error:
        around_it = _describe_error(error, lang)
    return "\n".join(filter(None, [*lines, around_it]))


def render_detail(finding: Finding, lang: str) -> Markup:
    """One finding as HTML, without its code."""
    address = str(finding.args.get("link") or "")
    return template.render_template("finding.html", finding=finding, kind=class_of(finding), address=address, lang=lang)


def render_excerpt(report: Report, finding: Finding, lang: str) -> Markup:
    """The lines around a finding as HTML, its own marked."""
    place = finding.place or Place("")
    try:
        text = text_of(report.facts, place)
    except WorkbookError as error:
        return escape(_describe_error(error, lang))
    return render_lines(text, [finding], place.line - LINES, place.line + LINES, place.line, lang)


def _describe_error(error: WorkbookError, lang: str | None) -> str:
    return f"{error.message(lang)} {error.hint(lang)}"
