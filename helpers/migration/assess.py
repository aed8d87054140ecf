"""`assess`: what migrating a repository will take, before any of it is done: effort, risks, libraries, a plan.

Built from one scan. Hours are estimates: knowledge.HOURS for the first place of a kind, a quarter of it for each
further one, since the second repair of a kind is known. A person who has done one migration corrects them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.migration.knowledge import CONFIDENCE, HOURS, VERSIONS
from helpers.migration.repair import CLASSES, MANUAL, UNSUPPORTED, class_of
from helpers.migration.scan import scan
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

RULE = "MIG160"
WEIGHT = 1000.0
REPEATED = 0.25
RISKS = 15
#: The plan's steps, each with what has to be there at its end; the sentences are in the catalogue.
STEPS = ("baseline", "versions", "unsupported", "rewrite", "dry_run", "precision", "performance", "long_run")


@dataclass(frozen=True)
class Kind:
    """All places where one rule says the same about the same thing."""

    first: Finding
    places: int
    hours: float

    @property
    def repair(self) -> str:
        return class_of(self.first)


def assess(path: str | os.PathLike[str], fail_on: Iterable[str] = ()) -> Report:
    """The assessment of a file or folder. With `fail_on` (classes) the status is FAIL where one of them occurs.

    `facts` has `counts` and `effort_h` by class, `risks` and `libraries`, as a CI job reads them. Raises
    WorkbookError for an unknown class or a path that does not exist.
    """
    gates = tuple(fail_on)
    unknown = [name for name in gates if name not in CLASSES]
    if unknown:
        raise WorkbookError("migration.no_class", name=unknown[0], classes=list(CLASSES))
    scanned = scan(path)
    kinds = kinds_of(scanned.findings)
    hours = {name: round(sum(kind.hours for kind in kinds if kind.repair == name), 2) for name in CLASSES}
    tensorflow = scanned.facts.get("tensorflow", {"counts": {}})["counts"]  # counted apart by the scan
    counts = {name: count + tensorflow.get(name, 0) for name, count in scanned.facts["counts"].items()}
    unread = [finding for finding in scanned.findings if finding.status is Status.SKIPPED]
    parts = (_effort(kinds, counts, hours), _risks(kinds), _libraries(kinds), _plan())
    facts: dict[str, Any] = {
        "path": os.fspath(path), "files": scanned.facts["files"], "counts": counts, "effort_h": hours,
        "effort_total_h": round(sum(hours.values()), 2), "versions": VERSIONS, "fail_on": list(gates),
        "failed_on": [name for name in gates if counts[name]],
        "risks": [_as_fact(kind) for kind in ranked(kinds)], "unread": len(unread),
    }  # fmt: skip
    findings = (_summary(facts), *_gate(facts), *unread)
    return Report("migration", "assess", findings, facts=facts, parts=parts)


def kinds_of(findings: Iterable[Finding]) -> list[Kind]:
    """The findings by what they say, in order of first appearance, with the hours of all places together."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if class_of(finding) in CLASSES:
            thing = str(finding.args.get("library") or finding.args.get("name") or "")
            groups.setdefault((finding.key, thing), []).append(finding)
    return [Kind(found[0], _places(found), _hours(found)) for found in groups.values()]


def ranked(kinds: Iterable[Kind]) -> list[Kind]:
    """What may stop or delay the migration, the gravest first."""
    grave = [kind for kind in kinds if kind.repair in (UNSUPPORTED, MANUAL)]
    return sorted(grave, key=lambda kind: (-kind.first.status, kind.repair != UNSUPPORTED, -kind.hours, -kind.places))


def _places(found: list[Finding]) -> int:
    return sum(int(str(finding.args.get("count", 1))) for finding in found)


def _hours(found: list[Finding]) -> float:
    each = float(str(found[0].args.get("effort_h", HOURS[class_of(found[0])])))
    return round(each * (1 + REPEATED * (_places(found) - 1)), 2)


def _summary(facts: dict[str, Any]) -> Finding:
    counts = facts["counts"]
    args: dict[str, Scalar] = {
        "files": facts["files"],
        "hours": facts["effort_total_h"],
        "unsupported": counts[UNSUPPORTED],
        "manual": counts[MANUAL],
    }
    status = Status.WARN if counts[UNSUPPORTED] or counts[MANUAL] else Status.NOTE
    return Finding(RULE, status, "MIG160.estimate", args, weight=WEIGHT)


def _gate(facts: dict[str, Any]) -> Iterable[Finding]:
    for name in facts["failed_on"]:
        kind: Scalar = {"say": f"migration.class.{name}"}
        yield Finding(RULE, Status.FAIL, "MIG160.gate", {"kind": kind, "count": facts["counts"][name]})


def _as_fact(kind: Kind) -> dict[str, Any]:
    place = kind.first.place
    return {
        "rule": kind.first.rule, "class": kind.repair, "key": kind.first.key, "args": kind.first.args,
        "first": str(place) if place else "", "places": kind.places, "effort_h": kind.hours,
    }  # fmt: skip


def _effort(kinds: list[Kind], counts: dict[str, int], hours: dict[str, float]) -> Report:
    columns = (Column("repair"), Column("repair_count"), Column("repair_kinds"), Column("effort", "h"),
               Column("effort_assumed"))  # fmt: skip
    rows = tuple(
        (
            {"say": f"migration.class.{name}"},
            counts[name],
            sum(kind.repair == name for kind in kinds),
            hours[name],
            {"say": f"migration.assumed.{name}", "args": {"hours": HOURS[name]}},
        )
        for name in CLASSES
    )
    finding = Finding(RULE, Status.NOTE, "MIG160.assumed", {"share": REPEATED})
    return Report("migration", "assess_effort", (finding,), Table(columns, rows), Chart("bars", "repair", ("effort",)))


def _risks(kinds: list[Kind]) -> Report:
    columns = tuple(map(Column, ("risk", "repair", "repair_count"))) + (
        Column("effort", "h"), Column("risk_first"), Column("confidence"), Column("link"),
    )  # fmt: skip
    order = ranked(kinds)
    rows = tuple(_risk(kind) for kind in order[:RISKS])
    key = "MIG160.risks" if rows else "MIG160.no_risk"
    args: dict[str, Scalar] = {"shown": len(rows), "all": len(order)} if rows else {}
    return Report("migration", "assess_risks", (Finding(RULE, Status.NOTE, key, args),), Table(columns, rows))


def _risk(kind: Kind) -> tuple[Scalar, ...]:
    said: Scalar = {"say": kind.first.key, "args": kind.first.args}
    first = str(kind.first.place) if kind.first.place else str(kind.first.args.get("first", ""))
    sure = str(kind.first.args.get("confidence", CONFIDENCE[-1]))
    return (
        said, {"say": f"migration.class.{kind.repair}"}, kind.places, kind.hours, first,
        {"say": f"migration.confidence.{sure}"}, kind.first.args.get("link"),
    )  # fmt: skip


def _libraries(kinds: list[Kind]) -> Report:
    """A row per library: found by its import or in a list of requirements."""
    rows: dict[str, tuple[Scalar, ...]] = {}
    for kind in kinds:
        library = kind.first.args.get("library")
        if library is not None:
            use = kind.first.args.get("use")
            repair: Scalar = {"say": f"migration.class.{kind.repair}"}
            rows.setdefault(str(library), (str(library), repair, use, str(kind.first.place)))
    columns = tuple(map(Column, ("library", "repair", "library_use", "risk_first")))
    finding = Finding(RULE, Status.NOTE if rows else Status.OK, "MIG160.libraries", {"count": len(rows)})
    return Report("migration", "assess_libraries", (finding,), Table(columns, tuple(rows.values())))


def _plan() -> Report:
    columns = (Column("plan_step"), Column("plan_work"), Column("plan_target"))
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (
            number,
            {"say": f"migration.plan.{step}", "args": {"versions": VERSIONS}},
            {"say": f"migration.target.{step}"},
        )
        for number, step in enumerate(STEPS, 1)
    )
    finding = Finding(RULE, Status.NOTE, "MIG160.plan", {"first": {"say": "migration.plan.baseline", "args": {}}})
    return Report("migration", "assess_plan", (finding,), Table(columns, rows))
