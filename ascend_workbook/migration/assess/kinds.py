"""The findings of a scan by what they say: one kind is one thing to learn, however often it stands in the code."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.knowledge import HOURS
from ascend_workbook.migration.repair import CLASSES, MANUAL, UNSUPPORTED, class_of, places_of
from ascend_workbook.migration.texts.requirements import import_name
from ascend_workbook.migration.verdict import stops_training

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


def kinds_of(findings: Iterable[Finding]) -> list[Kind]:
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
