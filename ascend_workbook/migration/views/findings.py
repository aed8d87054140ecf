"""A scan's findings one by one: chosen by class, rule and text, each with its reason, next step and the code around.

With widgets a script to pick and a list beside its code, which stays where it is while filters change; below it, and
alone without widgets, the first of a class.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import choose_language, say, title
from ascend_workbook.migration.reading.source import LINE_END, decode_bytes
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.repair import CLASSES, GRAVEST, Findings, class_of
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.texts.lines import text_source
from ascend_workbook.migration.texts.notebook import read_code_cells
from ascend_workbook.show import template
from ascend_workbook.show.boxed import make_box

LINES = 3
LARGEST_BYTES = 16 << 20


def show_context(facts: dict[str, Any], finding: Finding, lines: int = LINES) -> str:
    """Return `lines` lines before and behind a finding's, numbered, `>` before its own, `^` under its column.

    `facts` are those of the scan's report. Raises WorkbookError where the file cannot be read, is not below the
    scanned folder, or has changed since it was scanned."""
    place = finding.place or Place("")
    every = LINE_END.split(text_of(facts, place))
    first, last = max(1, place.line - lines), min(len(every), place.line + lines)
    width = len(str(last))
    shown = []
    for number in range(first, last + 1):
        mark = ">" if number == place.line else " "
        shown.append(f"{mark} {number:>{width}}  {every[number - 1]}".rstrip())
        if number == place.line and place.column:
            before = every[number - 1][: place.column - 1]
            pad = "".join(" " if ord(character) < 0x2E80 else "  " for character in before.expandtabs(1))
            shown.append(f"  {'':>{width}}  {pad}^")
    return "\n".join(shown)


def text_of(facts: dict[str, Any], place: Place) -> str:
    """Read the text of a file of the scan, or of one cell of it. Raises WorkbookError as `show_context` does."""
    name, _, cell = place.path.partition("#cell")
    root = Path(facts["root"]).resolve()
    file = (root / name).resolve()
    if not file.is_relative_to(root):
        raise WorkbookError("storage.outside", name=name, root=str(root))
    try:
        if file.stat().st_size > LARGEST_BYTES:
            raise WorkbookError("command.file", path=str(file), error=f"> {LARGEST_BYTES >> 20} MiB")
        text = decode_bytes(file.read_bytes())[0]
        expected = facts["sha256"].get(name)
        if expected and text_source(text, name).sha256 != expected:
            raise WorkbookError("migration.changed", path=name)
        if cell:
            return next(
                notebook_cell.code for notebook_cell in read_code_cells(text) if notebook_cell.number == int(cell)
            )
    except OSError as error:
        raise WorkbookError("command.file", path=str(file), error=explain_os_error(error)) from error
    except (Unreadable, StopIteration, ValueError) as error:
        raise WorkbookError("migration.changed", path=name) from error
    return text


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
        if finding.place and finding.status >= Status.NOT_LOOKED and not class_of(finding)
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
    if not missed and not every and not name and head and head.status >= Status.NOT_LOOKED:
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
        name = {"description": title("place", lang), "style": {"description_width": "initial"}}
        self.listed = widgets.Select(layout=widgets.Layout(width="38%", height=f"{TALL + 4}px"), **name)
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
