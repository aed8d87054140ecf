"""The step beside its operators as a table: each stage of each step, the worst tensor, what was allowed."""

from __future__ import annotations

from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison
from ascend_workbook.precision.rules.state import check, make_finding
from ascend_workbook.precision.views.questions import infinity_as_word

COLUMNS = ("step", "rank", "step_stage", "compared", "worst", "state_error", "allowed", "judgement")


def tabulate_states(facts: Comparison) -> Report | None:
    """Lay out what was compared beside the operators; None where nothing was recorded on both sides."""
    rows: list[tuple[Scalar, ...]] = []
    for rank in facts.states:
        for row in rank.rows:
            judgement = Sentence(f"state.{'within' if row.error <= row.allowed else 'beyond'}")
            stage = Sentence(f"state.stage_{row.stage}")
            numbers = (infinity_as_word(row.error), infinity_as_word(row.allowed))
            rows.append((row.step, rank.rank, stage, row.count, row.worst, *numbers, judgement))
    if not rows:
        return None
    findings = [make_finding(facts, rank, event, at) for rank in facts.states for at, event in enumerate(rank.events)]
    return Report(
        "precision", "state", tuple(findings or check(facts)), Table(tuple(map(Column, COLUMNS)), tuple(rows))
    )
