"""Why runs are red: those of one cause together, the cause of most first."""

from __future__ import annotations

from typing import Any

from ascend_workbook.batch.execute import STOPPED
from ascend_workbook.batch.results.rows import Row
from ascend_workbook.batch.results.summary import Results
from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.sentence import show

#: Causes shown open, and runs of one cause before the rest is folded.
CAUSES, RUNS = 12, 6


def describe_causes(results: Results, lang: str) -> list[dict[str, Any]]:
    """Describe each cause; none where nothing is red."""
    return [_describe_cause(rows, lang) for _, rows in results.groups]


def _describe_cause(rows: list[Row], lang: str) -> dict[str, Any]:
    stage = rows[0].red_stage
    # what ended a run from outside is its own to tell, not the stage's
    verdict = show(stage.verdict if stage and stage.state != STOPPED else rows[0].ended.verdict, lang)
    known_error = explain_text(stage.error) if stage and stage.error else None
    return {"rows": rows, "verdict": verdict, "fix": "" if known_error is None else show(known_error.fix, lang)}
