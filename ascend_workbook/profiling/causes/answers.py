"""The causes as one report: a row a cause, the dearest first, and what each takes as a bar."""

from __future__ import annotations

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.counted import count_work, count_work_below
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import make_columns


def report_causes(profile: Profile, stage: str, findings: list[Finding]) -> Report:
    """Report a row a cause; as facts the same for other programs."""
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (
            Sentence(f"profiling.cause.{cause.kind}"),
            cause.where or None,
            cause.spent_ns / 1e6,
            100 * cause.share,
            cause.predicted.most_ns / 1e6 if cause.predicted else None,
            Sentence(f"profiling.{cause.confidence}"),
            cause.evidence,
            NextStep(cause.evidence.key, **cause.evidence.args),
        )
        for cause in profile.causes
    )
    texts = (Column("cause_told_by", wrap=48), Column("tuning_do", wrap=48))
    numbers = make_columns(profiling_time="ms", share="%", cause_saving="ms", cause_confidence="")
    columns = (Column("cause"), Column("cause_place", wrap=40), *numbers, *texts)
    chart = Chart("bars", "cause", ("profiling_time",), "ms") if rows else None
    facts: dict[str, object] = {"causes": [describe_cause(cause) for cause in profile.causes]}
    if profile.simulated:
        facts |= {"work": count_work(profile), "work_below": count_work_below(profile)}
    return Report(stage, "causes", tuple(findings), Table(columns, rows), chart, facts=facts, tier=profile.tier)


def describe_cause(cause: Cause) -> dict[str, object]:
    """Describe a cause for other programs."""
    saving = cause.predicted
    return {
        "kind": cause.kind,
        "where": cause.where,
        "spent_ns": cause.spent_ns,
        "share": cause.share,
        "confidence": cause.confidence,
        "predicted_saving_ns": [saving.least_ns, saving.most_ns] if saving else None,
        "evidence": cause.evidence,
    }
