"""The advice of all rules as one report: a row per change, the one that can save most first."""

from __future__ import annotations

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

#: Which codes are advice; each of their findings has topic, bound and source among its arguments
ADVICE = ("PRF342", "PRF343", "PRF344", "PRF345", "PRF36", "PRF39")


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
    first = _headline(changes, of_it)
    rest = [one for one in of_it if one not in changes]
    return Report(stage, "tuning", (first, *changes, *rest), Table(columns, rows), chart, tier=profile.tier,
                  answers=("PRF310",))  # fmt: skip


def _headline(changes: list[Finding], all_of_it: list[Finding]) -> Finding:
    """With the worst status of what was looked at; SKIPPED where nothing was."""
    looked = [one.status for one in all_of_it if one.status is not Status.SKIPPED]
    status = max(looked, default=Status.SKIPPED)
    args: dict[str, Scalar] = {"open": sum(one.status is Status.SKIPPED for one in all_of_it)}
    if not changes:
        return Finding("PRF310", status, "PRF310.no_advice", args, weight=1000.0)
    args |= {"count": len(changes), **{name: changes[0].args[name] for name in ("topic", "gain_ms", "share")}}
    return Finding("PRF310", status, "PRF310.advice", args, weight=1000.0)
