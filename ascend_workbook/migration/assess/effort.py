"""The hours: each sum from what stands beside it, with testing, a range, and what was assumed.

The hours of a first place are knowledge.HOURS or the rule's own; factors and shares here are estimates too. Whoever has
one migration behind them corrects them. The least testing is held against ports that people made (tools/ports).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.repair import (
    AUTO,
    CLASSES,
    GRAVEST,
    HOURS,
    MANUAL,
    UNSUPPORTED,
    Findings,
    class_of,
    places_of,
)
from ascend_workbook.migration.texts.requirements import import_name
from ascend_workbook.migration.verdict import stops_training

# The findings of a scan by what they say: one kind is one thing to learn, however often it stands in the code.

#: What a further place of a kind costs, as a share of the first and at most in hours: how to repair it is known then.
REPEATED = 0.25
REPEATED_MOST_H = 1.0


@dataclass(frozen=True)
class Kind:
    """All places where one rule says the same about the same thing; `each_h` are the hours of the first."""

    first: Finding
    places: int
    each_h: float

    @property
    def repair(self) -> str:
        return class_of(self.first)

    @property
    def hours(self) -> float:
        return round(self.each_h + repeat_h(self.each_h) * (self.places - 1), 2)

    @property
    def library(self) -> str:
        """The library it is about, as Python imports it; empty for everything else."""
        return import_name(str(self.first.args.get("library", "")).lower())


@dataclass(frozen=True)
class Risk:
    """Kinds that are one decision: all that is said about one library, else a single kind. `first` is the gravest."""

    kinds: tuple[Kind, ...]

    @property
    def first(self) -> Finding:
        return self.kinds[0].first

    @property
    def repair(self) -> str:
        return self.kinds[0].repair

    @property
    def places(self) -> int:
        return sum(kind.places for kind in self.kinds)

    @property
    def hours(self) -> float:
        return round(sum(kind.hours for kind in self.kinds), 2)


def repeat_h(each_h: float) -> float:
    """Return the hours of a further place, rounded up to hundredths, so that the sums can be checked by hand."""
    return min(math.ceil(round(REPEATED * each_h * 100, 6)) / 100, REPEATED_MOST_H)


def kinds_of(findings: Findings) -> list[Kind]:
    """Group the findings by what they say, in order of first appearance."""
    groups: dict[tuple[str, str, str, float], list[Finding]] = {}
    for finding in findings:
        repair = class_of(finding)
        if repair in CLASSES:
            thing = str(finding.args.get("library") or finding.args.get("name") or "")
            each_h = float(str(finding.args.get("effort_h", HOURS[repair])))
            groups.setdefault((finding.key, thing, repair, each_h), []).append(finding)
    return [Kind(group[0], sum(map(places_of, group)), each_h) for (*_, each_h), group in groups.items()]


def rank_risks(kinds: Iterable[Kind]) -> list[Risk]:
    """List what may stop or delay the migration, the gravest first."""
    together: dict[object, list[Kind]] = {}
    for kind in kinds:
        if kind.repair in (UNSUPPORTED, MANUAL):
            together.setdefault(kind.library or id(kind), []).append(kind)
    risks = [Risk(tuple(sorted(group, key=_gravity_order))) for group in together.values()]
    return sorted(risks, key=lambda risk: (*_gravity_order(risk.kinds[0])[:2], -risk.hours, -risk.places))


def _gravity_order(kind: Kind) -> tuple[bool, bool, float]:
    return not stops_training(kind.first), kind.repair != UNSUPPORTED, -kind.hours


RULE = "MIG160"
#: Columns of hours.
HOURS_OF = {"effort", "effort_low", "effort_high", "effort_first", "effort_repeat"}


def make_wrapped_columns(**wraps: int) -> tuple[Column, ...]:
    """Make the columns of a table, each with how wide it wraps (0: not at all); a link is a detail."""
    in_hours = {name: Column(name, "h", 6) for name in HOURS_OF}
    return tuple(in_hours.get(name) or Column(name, wrap=wrap, detail=name == "link") for name, wrap in wraps.items())


#: Testing: this share of all repairs, and not less than these hours where there is anything to migrate; with them the
#: hours are in the median those of 22 public ports by the size of their change (docs/public-repositories.md).
TESTING = "testing"
TESTING_SHARE = 0.5
TESTING_LEAST_H = 20.0
#: From a good day to a bad one, as factors of what is likely: an alternative fits at once, or has to be written.
RANGE = {**dict.fromkeys((*CLASSES, TESTING), (0.5, 2.0)), AUTO: (1.0, 1.0), UNSUPPORTED: (0.25, 2.5)}


@dataclass(frozen=True)
class Line:
    """Kinds of one class whose first places cost the same."""

    repair: str
    each_h: float
    kinds: int
    repeats: int
    rules: tuple[str, ...]

    @property
    def hours(self) -> float:
        return round(self.kinds * self.each_h + self.repeats * repeat_h(self.each_h), 2)


@dataclass(frozen=True)
class Sum:
    """Hours of a class, of testing or of all, from `low` to `high`."""

    likely: float
    low: float
    high: float


def lines_of(kinds: Iterable[Kind]) -> list[Line]:
    groups: dict[tuple[str, float], list[Kind]] = {}
    for kind in kinds:
        groups.setdefault((kind.repair, kind.each_h), []).append(kind)
    lines = []
    for (repair, each_h), group in groups.items():
        rules = tuple(sorted({kind.first.rule for kind in group}))
        lines.append(Line(repair, each_h, len(group), sum(kind.places - 1 for kind in group), rules))
    return sorted(lines, key=lambda line: (GRAVEST.index(line.repair), -line.each_h))


def sums_of(lines: Iterable[Line]) -> dict[str, Sum]:
    """Add up the hours by class, then of testing, rounded as they are shown, so that the sums agree."""
    rows = list(lines)
    sums = {name: _estimate_range(name, [line.hours for line in rows if line.repair == name]) for name in CLASSES}
    repairs = round(sum(class_sum.likely for class_sum in sums.values()), 2)
    testing = max(TESTING_LEAST_H, round(TESTING_SHARE * repairs, 2)) if rows else 0.0
    return {**sums, TESTING: _estimate_range(TESTING, [testing])}


def add_sums(sums: Iterable[Sum]) -> Sum:
    every = list(sums)
    return Sum(*(round(sum(getattr(class_sum, part) for class_sum in every), 2) for part in ("likely", "low", "high")))


def _estimate_range(name: str, hours: list[float]) -> Sum:
    likely = round(sum(hours), 2)
    low, high = RANGE[name]
    return Sum(likely, round(low * likely, 2), round(high * likely, 2))


def make_effort_table(lines: list[Line], sums: dict[str, Sum]) -> Table:
    """Make the table with a row for each class, and one for testing."""
    counts = {"repair": 0, "repair_count": 0, "repair_kinds": 0}
    columns = make_wrapped_columns(**counts, effort=0, effort_low=0, effort_high=0, repair_action=60)
    rows = [_make_effort_row(name, [line for line in lines if line.repair == name], sums[name]) for name in GRAVEST]
    rows.append(_make_effort_row(TESTING, [], sums[TESTING]))
    return Table(columns, tuple(rows))


def _make_effort_row(name: str, lines: list[Line], hours: Sum) -> tuple[Scalar, ...]:
    places = sum(line.kinds + line.repeats for line in lines)
    kinds = sum(line.kinds for line in lines)
    counted: tuple[Scalar, ...] = (None, None) if name == TESTING else (places, kinds)
    meaning: Scalar = Sentence(f"migration.meaning.{name}")
    return Sentence(f"migration.class.{name}"), *counted, hours.likely, hours.low, hours.high, meaning


CHART = Chart("bars", "repair", ("effort",), "h")


def report_calculation(lines: list[Line], sums: dict[str, Sum]) -> Report:
    """Report how the hours come about: first places and further ones of each class, testing, and the sum of it all."""
    repeats = {"effort_first": 0, "effort_repeats": 0, "effort_repeat": 0}
    columns = make_wrapped_columns(repair=0, repair_kinds=0, **repeats, effort=0, effort_assumed=70)
    rows: list[tuple[Scalar, ...]] = [_make_calculation_row(line) for line in lines]
    repairs = round(sum(line.hours for line in lines), 2)
    assumed: dict[str, Scalar] = {"share": f"{TESTING_SHARE:.0%}", "hours": repairs, "least": TESTING_LEAST_H}
    if lines:
        assumption: Scalar = Sentence("migration.assumed.testing", **assumed)
        rows.append((Sentence("migration.class.testing"), None, None, None, None, sums[TESTING].likely, assumption))
    whole = add_sums(sums.values())
    range_: Scalar = Sentence("migration.assumed.total", low=whole.low, high=whole.high)
    rows.append((Sentence("migration.class.total"), None, None, None, None, whole.likely, range_))
    args: dict[str, Scalar] = {
        "share": f"{REPEATED:.0%}",
        "most": REPEATED_MOST_H,
        "unsupported": _format_range(UNSUPPORTED),
        "others": _format_range(MANUAL),
    }
    finding = Finding(RULE, Status.NOTE, "MIG160.assumed", args)
    return Report("migration", "assess_effort", (finding,), Table(columns, tuple(rows)))


def _make_calculation_row(line: Line) -> tuple[Scalar, ...]:
    own = line.each_h != HOURS[line.repair]
    key = "migration.assumed.rules" if own else f"migration.assumed.{line.repair}"
    assumption: Scalar = Sentence(key, **{"rules": list(line.rules)} if own else {})
    kind: Scalar = Sentence(f"migration.class.{line.repair}")
    return kind, line.kinds, line.each_h, line.repeats, repeat_h(line.each_h), line.hours, assumption


def _format_range(repair: str) -> str:
    return " – ".join(f"{factor:g}" for factor in RANGE[repair])
