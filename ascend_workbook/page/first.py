"""What to fix first: the causes of a run as cards, in the order in which they are to be mended.

The order is that of the work: a machine that is not ready, a script that stops, a place that no NPU runs, an operator
that parts the runs, the largest saving, and where nothing is left, the repetition on hardware. One cause is one card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Optional

from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence, show
from ascend_workbook.page.texts import number_of, show_both

#: The stages in the order of a run, and the tab of each.
TABS = {"environment": "env", "migration": "code", "precision": "prec", "profiling": "perf", "planning": "planning"}
#: Stages that a page shows only where they were asked for.
OPTIONAL = ("planning",)
#: Percent of a step that a saving takes at most, below which it is not told first.
WORTH = 5.0
#: Ranks of cards: a smaller one is to be mended first.
ORDER = (
    *("environment", "stops", "unsupported", "by_hand", "parts", "memory", "stage", "saving", "look", "hardware"),
    *("run", "reference"),
)
#: Sentences of a change that was tried and may fit.
CURES = ("PLN507.fits", "PLN507.unsure")
#: Lines of a difference that a card shows.
SHOWN_LINES = 9


def shorten_operator(name: str) -> str:
    """Return the name of a call as a reader says it: `Functional.conv2d.2.forward` is `conv2d.2 forward`."""
    kind, _, rest = name.partition(".")
    short = rest if kind in ("Functional", "Tensor", "Torch", "NPU", "Aten", "Module") and rest else name
    call, dot, way = short.rpartition(".")
    return f"{call} {way}" if dot and way in ("forward", "backward") else short


@dataclass(frozen=True)
class Card:
    """One cause: what it is, where, and what to do. `kind` is one of ORDER; `stage` is empty where it is none's."""

    kind: str
    status: Status
    stage: str
    cause: Scalar
    detail: Scalar = None
    place: str = ""
    remedy: Scalar = None
    weight: float = 0.0
    command: tuple[str, ...] = ()
    difference: str = ""

    @property
    def rank(self) -> tuple[float, ...]:
        """Return what orders cards: what is to be fixed, by stage, then by kind, the heaviest of equals first."""
        stage = [*TABS].index(self.stage) if self.stage in TABS else len(TABS)
        return (0 if self.status is Status.FIX else 1, stage, ORDER.index(self.kind), -self.weight)

    def describe(self) -> dict[str, Any]:
        """Describe the card for a page, in both languages."""
        described: dict[str, Any] = {"kind": self.kind, "status": number_of(self.status), "stage": self.stage}
        tab = "run" if self.kind == "reference" else TABS.get(self.stage, "")
        described |= {"tab": tab, "cause": show_both(self.cause)}
        for name in ("detail", "remedy"):
            if getattr(self, name):
                described[name] = show_both(getattr(self, name))
        described |= {"place": self.place} if self.place else {}
        described |= {"difference": self.difference} if self.difference else {}
        return {**described, **({"command": list(self.command)} if self.command else {})}


def choose_first(
    stages: Mapping[str, Report], failed: Mapping[str, Card] = MappingProxyType({}), waiting: Sequence[str] = ()
) -> Card:
    """Choose the card to be mended first; the arguments are those of `order_cards`."""
    return order_cards(stages, failed, waiting)[0]


def order_cards(
    stages: Mapping[str, Report], failed: Mapping[str, Card] = MappingProxyType({}), waiting: Sequence[str] = ()
) -> list[Card]:
    """Return every cause as a card, what is to be mended first in front; never empty.

    `failed` has the cards of stages that ended without a report of their own, `waiting` the stages that did not run.
    """
    cards = list(failed.values())
    for stage, report in stages.items():
        cards += [card for card in _MAKERS.get(stage, _make_stage)(report) if card.cause]
        if report.status >= Status.LOOK and not any(card.stage == stage for card in cards if card.kind != "saving"):
            cards += _make_stage(report)
    cards = _drop_same(sorted(cards, key=lambda card: card.rank))
    if any(card.status is Status.FIX for card in cards) or not stages:
        return cards or [Card("run", Status.NOT_LOOKED, "", Sentence("page.first.nothing_ran"))]
    if waiting:
        names: list[Scalar] = [Sentence(f"page.tab.{TABS[stage]}") for stage in waiting]
        rest = Sentence("page.first.waiting", stages=names)
        return [
            *cards,
            Card("run", Status.NOT_LOOKED, waiting[0], rest, remedy=NextStep("page.first.waiting", stages=[])),
        ]
    cards += [card for stage, report in stages.items() for card in _make_unlooked(stage, report)]
    if any(report.simulated for report in stages.values()):
        step = Sentence("page.first.hardware")
        return [*cards, Card("hardware", Status.GOOD, "", step, remedy=NextStep("page.first.hardware"))]
    return cards or [Card("hardware", Status.GOOD, "", Sentence("page.first.good"), remedy=NextStep("page.first.good"))]


def make_reference_card(report: Report) -> Card | None:
    """Make the card of a run that is not as its reference: the first stage that is not, what differs there, and what
    compares anew; None where it is."""
    wrong = [finding for finding in report.findings if finding.status is Status.FIX]
    if not wrong:
        return None
    card = _card_of("reference", wrong[0], "")
    stages: list[Scalar] = [finding.args.get("stage") for finding in wrong[1:]]
    more = Sentence("page.first.more_stages", stages=stages) if stages else None
    lines = report.listing.text.splitlines()[:SHOWN_LINES] if report.listing else []
    place = str(wrong[0].place or "")
    return replace(card, detail=more, place=place, command=report.command, difference="\n".join(lines))


def _make_unlooked(stage: str, report: Report) -> list[Card]:
    """Make a card of a stage that could not look: it is not clean. No time of a simulated NPU can be looked at."""
    headline = report.headline
    if report.status is not Status.NOT_LOOKED or (report.simulated and stage == "profiling"):
        return []
    return [_card_of("look", headline or Finding(report.verb, Status.NOT_LOOKED, "report.not_looked"), stage)]


def _drop_same(cards: list[Card]) -> list[Card]:
    """Return the cards without those whose cause another of the same place has told."""
    by_cause: dict[object, Card] = {}
    for card in cards:
        stopped = card.kind == "stops" and card.place
        by_cause.setdefault((card.stage, card.place) if stopped else (str(card.cause), card.place), card)
    return list(by_cause.values())


def _card_of(kind: str, finding: Finding, stage: str, *, weight: float = 0.0) -> Card:
    place = f"{finding.place.path}:{finding.place.line}" if finding.place and finding.place.line else ""
    cause, remedy = Sentence(finding.key, **finding.args), NextStep(finding.key, **finding.args)
    return Card(kind, finding.status, stage, cause, None, place, remedy if finding.hint("en") else None, weight)


def _walk(report: Report) -> list[Report]:
    return [report, *(inner for part in report.parts for inner in _walk(part))]


def _make_environment(report: Report) -> list[Card]:
    """Make a card of each check that failed or warns; the summary of all of them is none's cause."""
    checks = [finding for part in report.parts or (report,) for finding in part.findings if finding.rule != "ENV000"]
    wrong = [finding for finding in checks if finding.status >= Status.LOOK]
    kinds = {Status.FIX: "environment", Status.LOOK: "look"}
    return [_card_of(kinds[finding.status], finding, report.stage, weight=finding.weight) for finding in wrong]


def _make_migration(report: Report) -> list[Card]:
    parts = {part.verb: part for part in report.parts}
    cards = []
    for verb in ("dry_run", "operator_support"):
        ran = parts.get(verb)
        cards += [_add_remedy(_card_of("stops", finding, report.stage)) for finding in _failures(ran)]
    scanned = parts.get("scan", report)
    by_class: dict[str, list[Finding]] = {}
    for finding in scanned.findings:
        if finding.place and finding.args.get("class") in ("unsupported", "manual"):
            by_class.setdefault(str(finding.args["class"]), []).append(finding)
    left = Status.FIX if report.status is Status.FIX else Status.LOOK
    for name, kind in (("unsupported", "unsupported"), ("manual", "by_hand")):
        places = by_class.get(name, [])
        if places:
            first = next((finding for finding in places if finding.args.get("stops")), places[0])
            card = _card_of(kind, first, report.stage)
            more = Sentence("page.first.more_places", count=len(places) - 1) if len(places) > 1 else None
            status = left if any(finding.args.get("stops") for finding in places) else Status.LOOK
            cards.append(Card(kind, status, report.stage, card.cause, more, card.place, card.remedy))
    return cards


def _add_remedy(card: Card) -> Card:
    """Return the card of what stopped a script with what to do: of a known error its cure, else whom to ask."""
    known_error = explain_text(show(card.cause, "en"))
    if known_error is not None:
        return replace(card, detail=known_error.cause, remedy=known_error.fix)
    return card if card.remedy else replace(card, remedy=NextStep("EXP002.unknown", error=""))


def _failures(report: Optional[Report]) -> list[Finding]:
    """Return what failed in a report, the heaviest first."""
    wrong = [finding for finding in report.findings if finding.status is Status.FIX] if report else []
    return sorted(wrong, key=lambda finding: -finding.weight)[:1]


def _make_precision(report: Report) -> list[Card]:
    for part in _walk(report):
        first = part.facts.get("first_divergence")
        if part.verb in ("divergence", "compare") and first and part.headline and part.status is Status.FIX:
            card = _card_of("parts", part.headline, report.stage)
            named = Sentence("page.first.parts", operator=shorten_operator(str(first)))
            return [Card("parts", Status.FIX, report.stage, named, card.cause, _place_of_row(part), card.remedy)]
    return []


def _place_of_row(report: Report) -> str:
    """Return the line that calls the operator which parts the runs, where the capture kept it."""
    row, table = report.facts.get("row"), report.table
    names = [column.name for column in table.columns] if table else []
    if table is None or not isinstance(row, int) or row >= len(table.rows) or "place" not in names:
        return ""
    return str(table.rows[row][names.index("place")] or "")


def _make_profiling(report: Report) -> list[Card]:
    """Make a card of the first cause, else of the largest saving, that is worth it; its milliseconds a step are its
    weight."""
    cards = []
    parts = {part.verb: part for part in report.parts if part.table and part.table.rows}
    causes = _rows_of(parts.get("causes"))
    if causes and causes[0]["kind"] not in ("computing", "untold"):
        first = causes[0]
        gain = first.get("profiling_time")
        if isinstance(gain, (int, float)) and float(first.get("share") or 0) >= WORTH:
            cause = Sentence("page.first.saving", change=first.get("cause"), gain_ms=gain)
            seen, act, place = (first.get(name) for name in ("cause_told_by", "tuning_do", "cause_place"))
            return [Card("saving", Status.NOTE, report.stage, cause, seen, str(place or ""), act, weight=float(gain))]
    for part in [parts["tuning"]] if "tuning" in parts else []:
        assert part.table is not None
        row = dict(zip((column.name for column in part.table.columns), part.table.rows[0]))
        gain, share = row.get("tuning_bound"), row.get("share")
        if isinstance(gain, (int, float)) and isinstance(share, (int, float)) and share >= WORTH:
            cause = Sentence("page.first.saving", change=row.get("tuning_change"), gain_ms=gain)
            seen, act = row.get("tuning_seen"), row.get("tuning_do")
            cards.append(Card("saving", Status.NOTE, report.stage, cause, seen, "", act, weight=float(gain)))
    return cards


def _rows_of(report: Optional[Report]) -> list[dict[str, Any]]:
    """Return the rows of a report of causes by column, each with its `kind`."""
    if report is None or report.table is None:
        return []
    names = [column.name for column in report.table.columns]
    kinds = [cause.get("kind") for cause in report.facts.get("causes", [])]
    return [{**dict(zip(names, row)), "kind": kind} for row, kind in zip(report.table.rows, kinds)]


def _make_planning(report: Report) -> list[Card]:
    """Make the card of a training that does not fit its cards: the line that finds no memory, and the first change that
    was tried and fits."""
    cards = []
    for part in _walk(report):
        finding = part.headline if part.verb in ("rehearse", "strategy") else None
        if finding is None or finding.status is not Status.FIX:
            continue
        card = replace(_card_of("memory", finding, report.stage, weight=finding.weight), command=part.command)
        tried = next((each for each in part.findings if each.rule == "PLN507"), None)
        if tried is not None and tried.key in CURES:
            card = replace(card, remedy=Sentence(tried.key, **tried.args))
        elif tried is not None:
            card = replace(card, detail=Sentence(tried.key, **tried.args), remedy=NextStep(tried.key, **tried.args))
        cards.append(card)
    return cards


def _make_stage(report: Report) -> list[Card]:
    """Make the card of what is worst in a stage: of Fix or Look, in the report itself, else in one of its parts."""
    findings = (finding for part in _walk(report) for finding in part.findings)
    worst = max(findings, key=lambda finding: (finding.status, finding.weight), default=None)
    if worst is None or worst.status < Status.LOOK:
        return []
    return [_card_of("stage" if worst.status is Status.FIX else "look", worst, report.stage)]


_MAKERS = {
    "environment": _make_environment,
    "migration": _make_migration,
    "precision": _make_precision,
    "profiling": _make_profiling,
    "planning": _make_planning,
}
