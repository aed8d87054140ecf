"""The advice of all rules as one report: a row per change, the one that can save most first."""

from __future__ import annotations

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import make_columns

#: Which codes are advice; each of their findings has topic, bound and source among its arguments
ADVICE = ("PRF342", "PRF343", "PRF344", "PRF345", "PRF36", "PRF39", "PRF40")
#: Causes of lost time that a table of the profiler's, or other ranks, tell more closely than the gaps
CAUSES = ("PRF312", "PRF315")
#: Of which no change counts any time (PRF342 counts what pairs of ranks send)
WAITING = "PRF312.waiting"
#: Findings that tell more closely what the cause is
CLOSER = {WAITING: "cause_waiting", "PRF312.pairwise": "cause_pairwise"}
#: What each kind of cause is mended by; what is mended by nothing here comes last
MENDED_BY = {
    "loading": ("PRF394", "PRF395"),
    "preprocessing": ("PRF394", "PRF395"),
    "blocked_copy": ("PRF396", "PRF390"),
    "synchronisation": ("PRF390",),
    "tiny_kernels": ("PRF345", "PRF392", "PRF36"),
    "python": ("PRF392",),
    "compiling": ("PRF391",),
    "garbage": ("PRF393",),
    "communication": ("PRF342", "PRF343", "PRF344", "PRF398", "PRF399"),
    "fallback": ("PRF365", "PRF366"),
    "layout": ("PRF368",),
    "casting": ("PRF367",),
    "computing": ("PRF36",),
    "shapes_differ": ("PRF397",),
}


def find_largest_saving(profile: Profile, findings: list[Finding]) -> Finding | None:
    """Return what is to be changed first: what the first cause is mended by, and of causes that the profiler's own
    tables tell more closely these; None where nothing is worth it."""
    first = profile.causes[0] if profile.causes else None
    if first is None or first.kind == "untold":
        return None
    notes = [finding for finding in findings if finding.status in (Status.NOTE, Status.LOOK)]
    notes = [finding for finding in notes if finding.args.get("gain_ms") is not None]  # by counts alone: not known
    closer = [finding for finding in notes if finding.rule == "PRF312" and finding.weight >= first.weight]
    if closer:
        return max(closer, key=lambda finding: finding.weight)
    for cause in profile.causes:
        at_work = cause.kind in ("computing", "layout", "casting")
        mended = [finding for finding in notes if at_work and finding.rule.startswith(MENDED_BY[cause.kind])]
        if mended:
            return max(mended, key=lambda finding: finding.weight)
        if cause.kind not in ("computing", "untold"):
            return next((finding for finding in findings if finding.key == cause.evidence.key), None)
    return None


def describe_saving(profile: Profile, saving: Finding) -> Scalar:
    """Say in a few words what the largest saving is."""
    if saving.rule == "PRF316":
        return name_cause(next(cause for cause in profile.causes if cause.evidence.key == saving.key))
    if saving.rule not in CAUSES:
        return saving.args["topic"]
    return Sentence(f"{saving.rule}.{CLOSER.get(saving.key, 'cause')}", **saving.args)


def name_cause(cause: Cause) -> Sentence:
    """Name a cause with its place."""
    name = Sentence(f"profiling.cause.{cause.kind}")
    return Sentence("profiling.cause_with_place", cause=name, where=cause.where) if cause.where else name


def order_of_change(profile: Profile, finding: Finding) -> tuple[int, float]:
    """Return what changes are ordered by: the first cause that each mends, then what it saves."""
    kinds = [cause.kind for cause in profile.causes]
    at = (at for at, kind in enumerate(kinds) if finding.rule.startswith(MENDED_BY.get(kind, ())))
    return next(at, len(kinds)), -finding.weight


def report_tuning(profile: Profile, stage: str, findings: list[Finding]) -> Report:
    """Report the findings that are advice: changes as rows, and below what was fine and what was not looked at."""
    advice_findings = [finding for finding in findings if finding.rule.startswith(ADVICE)]
    changes = sorted(
        (finding for finding in advice_findings if finding.status is Status.NOTE),
        key=lambda finding: order_of_change(profile, finding),
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
    first = _make_headline(profile, changes, advice_findings, find_largest_saving(profile, findings))
    rest = [finding for finding in advice_findings if finding not in changes]
    return Report(
        stage, "tuning", (first, *changes, *rest), Table(columns, rows), chart, tier=profile.tier, answers=("PRF310",)
    )


def _make_headline(
    profile: Profile, changes: list[Finding], advice_findings: list[Finding], saving: Finding | None
) -> Finding:
    """Return the headline with the worst status of what was looked at, Not looked where nothing was; a cause that costs
    more than any change saves is named too."""
    looked = [finding.status for finding in advice_findings if finding.status is not Status.NOT_LOOKED]
    status = max(looked, default=Status.NOT_LOOKED)
    args: dict[str, Scalar] = {"open": sum(finding.status is Status.NOT_LOOKED for finding in advice_findings)}
    more = ""
    if saving and not saving.rule.startswith(ADVICE):
        more = "_beside" if saving.key == WAITING else "_of"
        args |= {"cause": describe_saving(profile, saving), "cause_ms": saving.args["gain_ms"]}
    if not changes:
        return Finding("PRF310", status, f"PRF310.no_advice{more}", args, weight=1000.0)
    if changes[0].args["gain_ms"] is None:
        counted: dict[str, Scalar] = {"count": len(changes), "topic": changes[0].args["topic"], "open": args["open"]}
        return Finding("PRF310", status, "PRF310.advice_counted", counted, weight=1000.0)
    args |= {"count": len(changes), **{name: changes[0].args[name] for name in ("topic", "gain_ms", "share")}}
    return Finding("PRF310", status, f"PRF310.advice{more}", args, weight=1000.0)
