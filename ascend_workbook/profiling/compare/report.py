"""`analyse TARGET --baseline BASELINE`: are they comparable, and the difference by kind, operator and module."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table, join_reports
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.breakdown import PARTS
from ascend_workbook.profiling.compare import rules
from ascend_workbook.profiling.compare.costs import HIDDEN, REST
from ascend_workbook.profiling.compare.facts import Comparison, Row
from ascend_workbook.profiling.compare.rules.differences import describe_recording, display_name
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Trace

STAGE = "profiling"
#: Which rules each part tells
COMPARABLE, CAUSES = ("PRF381", "PRF382", "PRF383", "PRF388"), ("PRF384", "PRF385", "PRF386")
#: Of the baseline's step: a difference below is none
WORTH = 0.03
#: Of the difference: a row that makes less of it is no cause of it
CAUSE = 0.02


def compare_profiles(baseline: Profile, target: Profile, *, top: int = 15) -> Report:
    """Compare two profiles in the parts `comparable`, `compare_kinds`, `compare_operators`, `compare_modules`; in each
    table of times the differences add up to that of the mean steps."""
    comparison = Comparison.from_profiles(baseline, target)
    findings = judge_facts(comparison, rules_of(rules))
    verdict = summarise_comparison(comparison, findings)
    parts = [
        _report_comparable(comparison, [finding for finding in findings if finding.rule in COMPARABLE]),
        _report_kinds(comparison, [verdict]),
        _report_operators(comparison, [finding for finding in findings if finding.rule in CAUSES], top),
        _report_modules(comparison, top),
    ]
    return join_reports(STAGE, "compare_profiles", parts, tier=_choose_tier(comparison))


def summarise_comparison(comparison: Comparison, findings: Sequence[Finding]) -> Finding:
    """Say in one sentence how much slower or faster, and the three rows that make most of it, where any stands out."""
    blind = [
        entry.profile.trace.source for entry in (comparison.baseline, comparison.target) if not entry.profile.conclusive
    ]
    if blind:
        return Finding("PRF380", Status.NOT_LOOKED, "PRF380.blind", {"path": blind[0]}, weight=2000.0)
    difference = comparison.difference_ns
    rows = [
        row
        for row in comparison.operators
        if row.name != REST and row.difference_ns * difference > CAUSE * difference**2
    ]
    causes: Scalar = [
        Sentence(
            "compare.cause",
            name=_OVERLAP if row.name == HIDDEN else display_name(row),
            ms=f"{row.difference_ns / 1e6:+.4g}",
        )
        for row in rows[:3]
    ]
    share = difference / comparison.baseline.step_ns
    args: dict[str, Scalar] = {"baseline_ms": comparison.baseline.step_ns / 1e6}
    args |= {"target_ms": comparison.target.step_ns / 1e6, "causes": causes}
    args |= {"ms": abs(difference) / 1e6, "share": abs(100 * share)}
    unlike = any(entry.rule == "PRF381" and entry.status is Status.LOOK for entry in findings)
    word = "alike" if abs(share) < WORTH else "slower" if difference > 0 else "faster"
    spread = "" if rows or word == "alike" else "_spread"
    status = max(Status.LOOK if word == "slower" else Status.GOOD, *(entry.status for entry in findings))
    if comparison.simulated:
        status = max(Status.NOT_LOOKED, *(entry.status for entry in findings))
        return Finding("PRF380", status, f"PRF380.simulated_{word}{spread}", args, weight=2000.0)
    return Finding("PRF380", status, f"PRF380.{'unlike_' if unlike else ''}{word}{spread}", args, weight=2000.0)


def _report_comparable(comparison: Comparison, findings: list[Finding]) -> Report:
    """Report what was recorded on each side."""
    left, right = (describe_recording(side.profile) for side in (comparison.baseline, comparison.target))
    names = (Path(side.profile.trace.source).name for side in (comparison.baseline, comparison.target))
    rows: list[tuple[Scalar, ...]] = [(Sentence("compare.recorded.file"), *names)]
    rows += [(Sentence(f"compare.recorded.{name}"), _show_value(left[name]), _show_value(right[name])) for name in left]
    steps_read = (_describe_steps(side.profile.trace) for side in (comparison.baseline, comparison.target))
    rows.insert(2, (Sentence("compare.recorded.looked"), *steps_read))
    columns = (Column("compare_what"), Column("compare_baseline"), Column("compare_target"))
    return Report(STAGE, "comparable", tuple(findings), Table(columns, tuple(rows)), tier=_choose_tier(comparison))


def _describe_steps(trace: Trace) -> Scalar:
    """Say which steps were looked at, of how many."""
    if looked := trace.looked:
        return Sentence("profiling.steps_of", first=looked.first, last=looked.last, steps=looked.steps)
    return Sentence("profiling.all_steps", steps=trace.recorded_steps)


def _show_value(value: str | int | bool) -> Scalar:
    """Return a value as the table shows it: a boolean as yes or no."""
    return value if isinstance(value, bool) else value or None


def _report_kinds(comparison: Comparison, findings: list[Finding]) -> Report:
    """Report the difference by kind of time."""
    sides = comparison.baseline.parts, comparison.target.parts
    rows = tuple(
        _make_times(Sentence(f"name.profiling_{part}"), sides[0][part], sides[1][part], comparison) for part in PARTS
    )
    table, facts = Table((Column("kind"), *_TIMES), rows), _collect_facts(comparison)
    chart, tier = _make_chart("kind"), _choose_tier(comparison)
    return Report(STAGE, "compare_kinds", tuple(findings), table, chart, facts=facts, tier=tier)


def _report_operators(comparison: Comparison, findings: list[Finding], top: int) -> Report:
    """Report the difference by operator, the rows below the first ones together."""
    rows = tuple(
        (
            *_make_times(display_name(row), row.baseline.ns, row.target.ns, comparison),
            row.baseline.calls or None,
            row.target.calls or None,
            Sentence(f"compare.pairing.{row.pairing}"),
        )
        for row in comparison.operators[:top]
    )
    others = _sum_others(comparison.operators[top:], comparison)
    rows += ((*others, None, None, None),) if others else ()
    calls = (Column("calls_baseline"), Column("calls_target"), Column("pairing"))
    table = Table((Column("operator", wrap=48), *_TIMES, *calls), rows)
    return Report(
        STAGE, "compare_operators", tuple(findings), table, _make_chart("operator"), tier=_choose_tier(comparison)
    )


def _report_modules(comparison: Comparison, top: int) -> Report:
    """Report the difference by module, where both sides recorded the same kind of it."""
    if not comparison.modules:
        kinds: list[Scalar] = [
            Sentence(f"compare.modules.{side.module_kind or 'none'}")
            for side in (comparison.baseline, comparison.target)
        ]
        finding = Finding("PRF387", Status.NOT_LOOKED, "PRF387.unseen", {"baseline": kinds[0], "target": kinds[1]})
        return Report(STAGE, "compare_modules", (finding,), tier=_choose_tier(comparison))
    labels = {"": Sentence("compare.row.outside")}
    rows = tuple(
        _make_times(labels.get(row.name) or display_name(row), row.baseline.ns, row.target.ns, comparison)
        for row in comparison.modules[:top]
    )
    others = _sum_others(comparison.modules[top:], comparison)
    table = Table((Column("module", wrap=48), *_TIMES), rows + ((others,) if others else ()))
    kind: Scalar = Sentence(f"compare.modules.{comparison.baseline.module_kind}")
    finding = Finding("PRF387", Status.GOOD, "PRF387.seen", {"kind": kind, "modules": len(comparison.modules)})
    return Report(STAGE, "compare_modules", (finding,), table, _make_chart("module"), tier=_choose_tier(comparison))


_OVERLAP: Scalar = Sentence("compare.cause_overlap")  # a step gains what is hidden less
_TIMES = (
    *(Column(name, "ms") for name in ("baseline_time", "target_time", "difference")),
    Column("share_of_difference", "%"),
)


def _make_times(name: Scalar, baseline_ns: float, target_ns: float, comparison: Comparison) -> tuple[Scalar, ...]:
    """Return a row's times in milliseconds, and its share of the whole difference, where there is one."""
    difference, whole = target_ns - baseline_ns, comparison.difference_ns
    share = round(100 * difference / whole, 6) + 0.0 if whole else None
    return name, _round_ms(baseline_ns), _round_ms(target_ns), _round_ms(difference), share


def _round_ms(nanoseconds: float) -> float:
    """Convert nanoseconds to milliseconds, to the nanosecond; minus zero is zero."""
    return round(nanoseconds / 1e6, 6) + 0.0


def _sum_others(rows: Sequence[Row], comparison: Comparison) -> tuple[Scalar, ...]:
    """Sum what the table does not show in one row, so that its differences add up."""
    if not rows:
        return ()
    name: Scalar = Sentence("compare.row.others", count=len(rows))
    return _make_times(name, sum(row.baseline.ns for row in rows), sum(row.target.ns for row in rows), comparison)


def _make_chart(x: str) -> Chart:
    return Chart("bars", x, ("baseline_time", "target_time"), "ms")


def _collect_facts(comparison: Comparison) -> dict[str, object]:
    """Collect the numbers of both sides that the report gives beside its tables."""
    sides = {"baseline": comparison.baseline, "target": comparison.target}
    facts: dict[str, object] = {"difference_ns": comparison.difference_ns}
    for name, side in sides.items():
        about = {"source": side.profile.trace.source, "tier": side.profile.tier, "step_ns": side.step_ns}
        facts[name] = {**about, **side.profile.step_facts(), "parts_ns": side.parts}
    return facts


def _choose_tier(comparison: Comparison) -> str:
    """Return the target's tier, but a simulated one wherever one side is: no verdict is drawn from it."""
    simulated = [side.profile.tier for side in (comparison.baseline, comparison.target) if side.profile.simulated]
    return (simulated or [comparison.target.profile.tier])[0]
