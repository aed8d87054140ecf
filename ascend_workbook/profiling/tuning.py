"""The advice of all rules as one report: a row per change, the one that can save most first."""

from __future__ import annotations

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import make_columns

#: Which codes are advice; each of their findings has topic, bound and source among its arguments
ADVICE = ("PRF342", "PRF343", "PRF344", "PRF345", "PRF36", "PRF39")
#: Causes of lost time. PRF314 is left out: its time is part of the free and the loading time.
CAUSES = ("PRF311", "PRF312", "PRF313", "PRF315")
#: Of which no change counts any time (PRF342 counts what pairs of ranks send)
WAITING = "PRF312.waiting"
#: Findings that tell more closely what the cause is
CLOSER = {WAITING: "cause_waiting", "PRF312.pairwise": "cause_pairwise"}


def find_largest_saving(findings: list[Finding]) -> Finding | None:
    """Return the cause or change that can save most, None where none is worth it; of equal ones the cause."""
    savings = [
        finding for finding in findings if finding.rule in CAUSES and finding.status in (Status.NOTE, Status.LOOK)
    ]
    changes = [finding for finding in findings if finding.rule.startswith(ADVICE) and finding.status is Status.NOTE]
    return max([*savings, *changes], key=lambda finding: finding.weight, default=None)


def describe_saving(saving: Finding) -> Scalar:
    """Say in a few words what the largest saving is."""
    if saving.rule not in CAUSES:
        return saving.args["topic"]
    return Sentence(f"{saving.rule}.{CLOSER.get(saving.key, 'cause')}", **saving.args)


def report_tuning(profile: Profile, stage: str, findings: list[Finding]) -> Report:
    """Report the findings that are advice: changes as rows, and below what was fine and what was not looked at."""
    advice_findings = [finding for finding in findings if finding.rule.startswith(ADVICE)]
    changes = sorted(
        (finding for finding in advice_findings if finding.status is Status.NOTE), key=lambda finding: -finding.weight
    )
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (
            finding.args["topic"],
            finding.args["gain_ms"],
            finding.args["share"],
            Sentence(finding.key, **finding.args),
            NextStep(finding.key, **finding.args),
            finding.args["source"],
        )
        for finding in changes
    )
    texts = (Column("tuning_seen", wrap=48), Column("tuning_do", wrap=48), Column("tuning_source", detail=True))
    columns = (*make_columns(tuning_change="", tuning_bound="ms", share="%"), *texts)
    chart = Chart("bars", "tuning_change", ("tuning_bound",), "ms") if rows else None
    first = _make_headline(changes, advice_findings, find_largest_saving(findings))
    rest = [finding for finding in advice_findings if finding not in changes]
    return Report(
        stage, "tuning", (first, *changes, *rest), Table(columns, rows), chart, tier=profile.tier, answers=("PRF310",)
    )


def _make_headline(changes: list[Finding], advice_findings: list[Finding], saving: Finding | None) -> Finding:
    """Return the headline with the worst status of what was looked at, Not looked where nothing was; a cause that costs
    more than any change saves is named too."""
    looked = [finding.status for finding in advice_findings if finding.status is not Status.NOT_LOOKED]
    status = max(looked, default=Status.NOT_LOOKED)
    args: dict[str, Scalar] = {"open": sum(finding.status is Status.NOT_LOOKED for finding in advice_findings)}
    more = ""
    if saving and saving.rule in CAUSES:
        more = "_beside" if saving.key == WAITING else "_of"
        args |= {"cause": describe_saving(saving), "cause_ms": saving.args["gain_ms"]}
    if not changes:
        return Finding("PRF310", status, f"PRF310.no_advice{more}", args, weight=1000.0)
    args |= {"count": len(changes), **{name: changes[0].args[name] for name in ("topic", "gain_ms", "share")}}
    return Finding("PRF310", status, f"PRF310.advice{more}", args, weight=1000.0)
