"""The report of a coverage run: a row per direction and data type, every entry below it, operators by state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar

if TYPE_CHECKING:
    from ascend_simulator.coverage.counting import Count
    from ascend_simulator.coverage.entries import Entry, State

STAGE = "environment"


def make_report(entries: list[Entry], states: Mapping[str, State], samples: int) -> Report:
    """Return the report of all entries, each with its outcome, and of the operators' states."""
    from ascend_simulator.coverage.counting import count_outcomes
    from ascend_simulator.coverage.entries import OUTCOMES

    counts = count_outcomes(entries)
    columns = ("direction", "dtype", *(f"outcome_{outcome}" for outcome in OUTCOMES))
    percents = ("coverage_percent", "coverage_percent_of_all", "coverage_bar")
    table = Table(
        (*map(Column, columns), *(Column(name, "%") for name in percents), Column("slice")),
        tuple(_row_of_count(count) for count in counts),
    )
    return Report(
        STAGE,
        "coverage",
        tuple(_make_findings(counts)),
        table,
        Chart("bars", "slice", percents[:2], "%"),
        tier="npu-simulated",
        parts=(_entries_part(entries, states), _operators_part(states)),
        facts={"samples": samples},
    )


def _row_of_count(count: Count) -> tuple[Scalar, ...]:
    from ascend_simulator.coverage.entries import OUTCOMES

    outcomes = (count.outcomes[outcome] for outcome in OUTCOMES)
    percents = (count.percent, count.percent_of_all, count.bar)
    return (count.direction, count.dtype, *outcomes, *percents, f"{count.direction} {count.dtype}")


def _make_findings(counts: list[Count]) -> list[Finding]:
    wrong = sum(count.silently_wrong for count in counts)
    total = sum(count.entries for count in counts)
    passed = sum(count.passed for count in counts)
    judged = sum(count.judged for count in counts)
    below = [f"{count.direction} {count.dtype}" for count in counts if not count.reaches_bar]
    args: dict[str, Scalar] = {"passed": passed, "judged": judged, "wrong": wrong, "total": total}
    if wrong:
        return [Finding("SIM002", Status.FAIL, "coverage.wrong", args)]
    if below:
        return [Finding("SIM002", Status.FAIL, "coverage.below", {**args, "slices": ", ".join(below)})]
    return [Finding("SIM002", Status.OK, "coverage.good", args)]


def _entries_part(entries: list[Entry], states: Mapping[str, State]) -> Report:
    """Return the part with every entry, the worst first."""
    from ascend_simulator.coverage.entries import OUTCOMES, UNKNOWN, dtype_support

    columns = ("operator", "dtype", "direction", "outcome", "dtype_support", "reason")
    ordered = sorted(entries, key=lambda entry: (-OUTCOMES.index(entry.outcome), entry.request.order))
    rows = tuple(
        (e.request.label, e.request.dtype, e.request.direction, e.outcome, dtype_support(e, states), e.reason)
        for e in ordered
    )
    support = Counter(dtype_support(entry, states) for entry in entries)
    args: dict[str, Scalar] = {"known": support["known"], "unknown": support[UNKNOWN]}
    finding = Finding("SIM003", Status.NOTE, "coverage.dtype_support", args)
    return Report(STAGE, "coverage_entries", (finding,), Table(tuple(map(Column, columns)), rows), tier="npu-simulated")


def _operators_part(states: Mapping[str, State]) -> Report:
    kinds = Counter((name.partition("::")[0], state.kind) for name, state in states.items())
    known = sum(1 for state in states.values() if state.kind == "simulated" and state.dtypes)
    rows = tuple((space, kind, number) for (space, kind), number in sorted(kinds.items()))
    simulated = sum(number for (_, kind), number in kinds.items() if kind == "simulated")
    fallbacks = sum(1 for state in states.values() if state.kind == "fallback")
    args: dict[str, Scalar] = {"total": len(states) - fallbacks, "known": known, "simulated": simulated}
    finding = Finding("SIM004", Status.NOTE, "coverage.operators", {**args, "fallbacks": fallbacks})
    columns = tuple(map(Column, ("namespace", "operator_state", "operators")))
    facts = {"operators": {name: [state.kind, state.dtypes] for name, state in states.items()}}
    return Report(STAGE, "coverage_operators", (finding,), Table(columns, rows), tier="npu-simulated", facts=facts)
