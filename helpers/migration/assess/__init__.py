"""`assess`: what migrating a repository will take, before any of it is done: effort, risks, versions, a plan.

Built from one scan. What to read first stands first: the hours, the risks, the plan, the versions, the libraries, and
at the end how the hours come about (effort.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from helpers import versions
from helpers.finding import Finding, Status
from helpers.migration.assess import advised, effort
from helpers.migration.assess.effort import Sum
from helpers.migration.assess.kinds import REPEATED, Kind, Risk, kinds_of, ranked
from helpers.migration.files import tree
from helpers.migration.knowledge import CONFIDENCE, VERSIONS
from helpers.migration.repair import CLASSES, MANUAL, REWRITE, UNSUPPORTED
from helpers.migration.scan import scan
from helpers.migration.verdict import counted, gate, gates, grave, stops, unread
from helpers.report import Column, Report, Table
from helpers.words import Scalar

__all__ = ["REPEATED", "assess", "kinds_of", "ranked"]
RULE = "MIG160"
WEIGHT = 1000.0
RISKS = 15
#: Hours from which work by hand is more than a small matter.
MUCH_H = 4.0
#: From here on a reader wants no tenths of hours.
WHOLE_H = 10.0
#: The plan's steps, each with what has to be there at its end; the sentences are in the catalogue.
STEPS = (
    "unsupported", "pins", "early", "baseline", "versions", "rewrite", "dry_run", "precision", "performance",
    "long_run",
)  # fmt: skip


def assess(path: str | os.PathLike[str], fail_on: Iterable[str] = ()) -> Report:
    """The assessment of a file or folder. With `fail_on` (classes) the status is FAIL where one of them occurs.

    `facts` has `counts` and `effort_h` (repairs) by class, `estimate_h` (testing and the range), `versions`, `risks`
    and `libraries`, as a CI job reads them. Raises WorkbookError for an unknown class or a path that does not exist.
    """
    asked = gates(fail_on)
    scanned, where = scan(path), tree(path)
    kinds = kinds_of(scanned.findings)
    lines = effort.lines_of(kinds)
    sums = effort.sums_of(lines)
    chosen = advised.report(advised.pinned(where))
    tensorflow = scanned.facts.get("tensorflow", {"counts": {}})["counts"]  # counted apart by the scan
    counts = {name: count + tensorflow.get(name, 0) for name, count in scanned.facts["counts"].items()}
    headline, *found = scanned.findings
    untold = [finding for finding in found if finding.status is Status.SKIPPED]
    said: dict[str, Scalar] = {"grave": grave(found), "unread": unread(found), "files": counted(where)}
    risks = ranked(kinds)
    parts = (_risks(risks), _plan(counts, chosen), chosen, _libraries(risks, kinds), effort.calculation(lines, sums))
    hours = {name: sums[name].likely for name in CLASSES}
    facts: dict[str, Any] = {
        "path": os.fspath(path), "files": scanned.facts["files"], "counts": counts, "effort_h": hours,
        "effort_total_h": round(sum(hours.values()), 2), "estimate_h": _estimate(sums), "versions": chosen.facts,
        "rules_tried_with": VERSIONS, "fail_on": list(asked), "failed_on": [name for name in asked if counts[name]],
        "risks": [_as_fact(risk) for risk in risks], "unread": len(untold),
    }  # fmt: skip
    findings = (_summary(facts, said, headline.status), *gate(RULE, counts, asked), *untold)
    table = effort.summary(lines, sums) if lines else None
    return Report("migration", "assess", findings, table, effort.CHART if lines else None, facts=facts, parts=parts)


def _estimate(sums: dict[str, Sum]) -> dict[str, float]:
    whole = effort.total(sums.values())
    return {"testing": sums[effort.TESTING].likely, "likely": whole.likely, "low": whole.low, "high": whole.high}


def _summary(facts: dict[str, Any], said: dict[str, Scalar], status: Status) -> Finding:
    """The status is the scan's: both speak of the source as it stands."""
    counts = facts["counts"]
    if not any(counts.values()):
        kept = {name: said[name] for name in ("files", "unread")}
        return Finding(RULE, status, "MIG160.nothing", kept, weight=WEIGHT)
    args: dict[str, Scalar] = {
        **said, **{name: counts[name] for name in (UNSUPPORTED, MANUAL, REWRITE)},
        "hours": _plain(facts["estimate_h"]["likely"]), "low": _plain(facts["estimate_h"]["low"]),
        "high": _plain(facts["estimate_h"]["high"]),
    }  # fmt: skip
    return Finding(RULE, status, "MIG160.estimate", args, weight=WEIGHT)


def _plain(hours: float) -> Scalar:
    return round(hours) if hours >= WHOLE_H else round(hours, 1)


def _as_fact(risk: Risk) -> dict[str, Any]:
    return {
        "rule": risk.first.rule, "class": risk.repair, "weight": _weight(risk), "key": risk.first.key,
        "args": risk.first.args, "first": _first(risk.first), "places": risk.places, "effort_h": risk.hours,
    }  # fmt: skip


def _weight(risk: Risk) -> str:
    """high: training cannot run as it is; medium: it may not, or there is much to do; low: the rest."""
    if stops(risk.first):
        return "high"
    return "medium" if risk.repair == UNSUPPORTED or risk.hours >= MUCH_H else "low"


def _first(finding: Finding) -> str:
    return str(finding.place) if finding.place else str(finding.args.get("first", ""))


def _risks(order: list[Risk]) -> Report:
    columns = (
        Column("risk_weight"), Column("risk", wrap=80), Column("repair"), Column("repair_count"),
        Column("effort", "h", 6), Column("risk_first", wrap=40), Column("confidence"), Column("link", detail=True),
    )  # fmt: skip
    rows = tuple(map(_risk, order[:RISKS]))
    key = "MIG160.risks" if rows else "MIG160.no_risk"
    args: dict[str, Scalar] = {"shown": len(rows), "all": len(order)} if rows else {}
    finding = Finding(RULE, Status.NOTE, key, args)
    return Report("migration", "assess_risks", (finding,), Table(columns, rows) if rows else None)


def _risk(risk: Risk) -> tuple[Scalar, ...]:
    args = risk.first.args
    said: Scalar = {"say": risk.first.key, "args": args}
    sure: Scalar = {"say": f"migration.confidence.{args.get('confidence', CONFIDENCE[-1])}"}
    weight: Scalar = {"say": f"migration.weight.{_weight(risk)}"}
    kind: Scalar = {"say": f"migration.class.{risk.repair}"}
    return weight, said, kind, risk.places, risk.hours, _first(risk.first), sure, args.get("link")


def _libraries(risks: list[Risk], kinds: list[Kind]) -> Report:
    """A row per library, found by its import or in a list of requirements: the grave first, then those that work."""
    every = [(risk.kinds[0], risk.places) for risk in risks] + [(kind, kind.places) for kind in kinds]
    rows: dict[str, tuple[Scalar, ...]] = {}
    for kind, places in every:
        args = kind.first.args
        if kind.library:
            repair: Scalar = {"say": f"migration.class.{kind.repair}"}
            use = args.get("use", {"say": kind.first.key, "args": args})
            row = (str(args["library"]), repair, use, places, str(kind.first.place), args.get("link"))
            rows.setdefault(kind.library, row)
    columns = (
        Column("library"), Column("repair"), Column("library_use", wrap=80), Column("repair_count"),
        Column("risk_first", wrap=40), Column("link", detail=True),
    )  # fmt: skip
    finding = Finding(RULE, Status.NOTE if rows else Status.OK, "MIG160.libraries", {"count": len(rows)})
    table = Table(columns, tuple(rows.values())) if rows else None
    return Report("migration", "assess_libraries", (finding,), table)


def _plan(counts: dict[str, int], chosen: Report) -> Report:
    """What may stop the migration is decided first, and a torch that has no torch_npu is left before the baseline."""
    columns = (Column("plan_step"), Column("plan_work", wrap=60), Column("plan_target", wrap=60))
    asked = chosen.facts["pinned"]
    pinned = [pin["pin"] for pin in asked if pin["outcome"] in (advised.OLD, advised.NONE)]
    early = [pin["pin"] for pin in asked if pin["outcome"] == advised.EARLY]
    best = versions.recommended()
    args: dict[str, dict[str, Scalar]] = {
        "versions": {"versions": advised.said(best)}, "unsupported": {"count": counts[UNSUPPORTED]},
        "pins": {"pins": pinned, "torch": best.torch}, "early": {"pins": early, "torch": best.torch},
    }  # fmt: skip
    there = {"unsupported": counts[UNSUPPORTED], "pins": pinned, "early": early}
    left_out = {name for name, kept in there.items() if not kept}
    steps = [step for step in STEPS if step not in left_out]
    work: list[Scalar] = [{"say": f"migration.plan.{step}", "args": args.get(step, {})} for step in steps]
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (number, what, {"say": f"migration.target.{step}"}) for number, (what, step) in enumerate(zip(work, steps), 1)
    )
    finding = Finding(RULE, Status.NOTE, "MIG160.plan", {"first": work[0]})
    return Report("migration", "assess_plan", (finding,), Table(columns, rows))
