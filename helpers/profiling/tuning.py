"""The advice of all rules as one report: a row per change, the one that can save most first."""

from __future__ import annotations

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

#: Which codes are advice; each of their findings has topic, bound and source among its arguments
ADVICE = ("PRF342", "PRF343", "PRF344", "PRF345", "PRF36", "PRF39")
#: Causes of lost time. PRF314 is left out: its time is part of the free and the loading time.
CAUSES = ("PRF311", "PRF312", "PRF313", "PRF315")
#: Of which no change counts any time (PRF342 counts what pairs of ranks send)
WAITING = "PRF312.waiting"
#: Findings that tell more closely what the cause is
CLOSER = {WAITING: "cause_waiting", "PRF312.pairwise": "cause_pairwise"}


def largest(findings: list[Finding]) -> Finding | None:
    """The cause or change that can save most, None where none is worth it; of equal ones the cause."""
    savings = [one for one in findings if one.rule in CAUSES and one.status in (Status.NOTE, Status.WARN)]
    changes = [one for one in findings if one.rule.startswith(ADVICE) and one.status is Status.NOTE]
    return max([*savings, *changes], key=lambda one: one.weight, default=None)


def named(saving: Finding) -> Scalar:
    """What `largest` found, in a few words."""
    if saving.rule not in CAUSES:
        return saving.args["topic"]
    return {"say": f"{saving.rule}.{CLOSER.get(saving.key, 'cause')}", "args": saving.args}


def tuning(profile: Profile, stage: str, findings: list[Finding]) -> Report:
    """Of the findings those of advice: changes as rows, and below what was fine and what was not looked at."""
    of_it = [one for one in findings if one.rule.startswith(ADVICE)]
    changes = sorted((one for one in of_it if one.status is Status.NOTE), key=lambda one: -one.weight)
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (
            one.args["topic"],
            one.args["gain_ms"],
            one.args["share"],
            {"say": one.key, "args": one.args},
            {"hint": one.key, "args": one.args},
            one.args["source"],
        )
        for one in changes
    )
    columns = (
        Column("tuning_change"),
        Column("tuning_bound", "ms"),
        Column("share", "%"),
        Column("tuning_seen", wrap=48),
        Column("tuning_do", wrap=48),
        Column("tuning_source", detail=True),
    )
    chart = Chart("bars", "tuning_change", ("tuning_bound",), "ms") if rows else None
    first = _headline(changes, of_it, largest(findings))
    rest = [one for one in of_it if one not in changes]
    return Report(stage, "tuning", (first, *changes, *rest), Table(columns, rows), chart, tier=profile.tier,
                  answers=("PRF310",))  # fmt: skip


def _headline(changes: list[Finding], all_of_it: list[Finding], saving: Finding | None) -> Finding:
    """With the worst status of what was looked at, SKIPPED where nothing was; a cause that costs more than any change
    saves is named too."""
    looked = [one.status for one in all_of_it if one.status is not Status.SKIPPED]
    status = max(looked, default=Status.SKIPPED)
    args: dict[str, Scalar] = {"open": sum(one.status is Status.SKIPPED for one in all_of_it)}
    more = ""
    if saving and saving.rule in CAUSES:
        more = "_beside" if saving.key == WAITING else "_of"
        args |= {"cause": named(saving), "cause_ms": saving.args["gain_ms"]}
    if not changes:
        return Finding("PRF310", status, f"PRF310.no_advice{more}", args, weight=1000.0)
    args |= {"count": len(changes), **{name: changes[0].args[name] for name in ("topic", "gain_ms", "share")}}
    return Finding("PRF310", status, f"PRF310.advice{more}", args, weight=1000.0)
