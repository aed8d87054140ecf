"""The table of a plan's page: a row per run, red first, to be sorted and filtered."""

from __future__ import annotations

from typing import Any

from ascend_workbook.batch.campaign.ended import EXPECTED, GOOD, LEFT_OUT, NOT_RUN
from ascend_workbook.batch.results.expected import has_ended
from ascend_workbook.batch.results.rows import NEWLY_RED, Row
from ascend_workbook.batch.results.summary import Results
from ascend_workbook.findings.sentence import say, show, title

#: Letters of a verdict in a row; the whole stands in the cell's title and on the run's page.
SHORT = 160
#: Files of a run that its line links to.
FILES = ("log.txt", "acceptance.html", "reference.html")


def stages_of(results: Results) -> tuple[str, ...]:
    """Return the stages that have a column."""
    return tuple(dict.fromkeys(stage.stage for row in results.rows for stage in row.stages))


def table_heads(results: Results, lang: str) -> list[str]:
    """Return the headings. The plan's order is the column `#`."""
    change = ["change"] if results.changes is not None else []
    names = ("planned_run", "run_result", *change, *stages_of(results), "seconds", "tries", "tier", "tags", "verdict")
    return ["#", *(title(name, lang) for name in names)]


def table_lines(results: Results, lang: str) -> list[dict[str, Any]]:
    """Describe each run's line, the most urgent first."""
    stages = stages_of(results)
    return [_describe_line(row, stages, lang) for row in sorted(results.rows, key=_urgency_of)]


def _urgency_of(row: Row) -> tuple[int, bool, int]:
    """Return a sorting key: red, then what did not run or was expected, then warnings, then good, then left out."""
    order = {NOT_RUN: 1, EXPECTED: 2, LEFT_OUT: 5}
    doubt = 3 if row.status in ("WARN", "SKIPPED") else 4
    return (0 if row.red else order.get(row.state, doubt), row.change != NEWLY_RED, row.number)


def _describe_line(row: Row, stages: tuple[str, ...], lang: str) -> dict[str, Any]:
    by_name = {stage.stage: stage for stage in row.stages}
    verdict = show(row.ended.verdict, lang)
    return {
        "row": row,
        "files": [(name, f"plan.link.{name.partition('.')[0]}") for name in FILES if name in row.files],
        "state": say(f"plan.state.{row.state}", lang),
        "status": {GOOD: row.status, NOT_RUN: "SKIPPED", LEFT_OUT: "SKIPPED", EXPECTED: "NOTE"}.get(row.state, "FAIL"),
        "change": say(f"plan.change.{row.change}", lang) if row.change else "",
        "stages": [by_name.get(name) for name in stages],
        "value": str(row.ended.seconds) if has_ended(row) else "",
        "seconds": _format_seconds(row),
        "attempts": say("plan.reused", lang) if row.ended.reused else str(row.ended.attempts or ""),
        "tier": _format_tier(row, lang),
        "verdict": verdict,
        "short": verdict if len(verdict) <= SHORT else f"{verdict[: SHORT - 1]}…",
    }


def _format_seconds(row: Row) -> str:
    if not has_ended(row):
        return ""
    before = f" ({row.before_s:g} s)" if row.change == "slower" and row.before_s is not None else ""
    return f"{row.ended.seconds:g} s{before}"


def _format_tier(row: Row, lang: str) -> str:
    tier = row.ended.tier
    return f"{tier} ({say('plan.simulated', lang)})" if row.ended.simulated and "simulated" not in tier else tier
