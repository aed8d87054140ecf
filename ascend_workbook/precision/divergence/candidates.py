"""The operators under suspicion, ranked with what speaks against each: the first divergence on top, behind it what has
an error of its own, then what may be the first one's doing, and last what its inputs explain though its error is large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_workbook.precision.divergence import ARGUMENT, EXPLAINED, JUMP, PARTING, STRUCTURE, Judgement

if TYPE_CHECKING:
    from ascend_workbook.precision.comparison import Comparison, StepComparison

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: Why a candidate stands where it does; from the gravest to the least.
FIRST, MAKER, KIND, OWN, AGAIN, HANDED, AMPLIFIED, CONSEQUENCE = WHYS = """
first maker kind own again handed amplified consequence
""".split()
#: So many are told; of those that their inputs explain only the worst few.
MOST, EXPLAINED_MOST = 20, 3


@dataclass(frozen=True)
class Candidate:
    """One suspicious operator on one step and rank: `why` it stands here, a word of WHYS. `name` is the operator that
    may be to blame, which is not the judged one where that was only handed what is wrong."""

    name: str
    step: StepComparison
    judged: Judgement
    why: str

    @property
    def error(self) -> float:
        """What is held against `allowed`: by replay the worse side's own error, else the output's."""
        judgement = self.judged
        if judgement.own is not None:
            return judgement.own.worst
        return judgement.agreement.error_in if judgement.outcome == JUMP else judgement.agreement.error_out or 0.0

    @property
    def times(self) -> float | None:
        """How many times the allowed error; None where there is none to hold it against."""
        if self.judged.outcome in (STRUCTURE, ARGUMENT):
            return None
        return self.error / self.judged.allowed if self.judged.allowed else math.inf


def rank_candidates(facts: Comparison) -> tuple[list[Candidate], int]:
    """Rank the suspicious operators, at most MOST, and count them all; none where no operator parts the runs."""
    if facts.first is None:
        return [], 0
    first, guilty = facts.first
    top = [Candidate(name, first, guilty, FIRST if name == guilty.name else MAKER) for name in facts.named]
    rest = [
        Candidate(judged.name, step, judged, _choose_reason(judged, guilty, facts.named))
        for step in facts.steps
        for judged in step.judged
        if judged.outcome in PARTING and judged is not guilty
    ]
    rest.sort(key=lambda of: (WHYS.index(of.why), of.step.step, of.judged.agreement.pair.order, of.step.rank))
    errors = [
        (-(judged.agreement.error_out or 0.0), at)
        for at, judged in enumerate(first.judged)
        if judged.outcome == EXPLAINED and math.isfinite(judged.agreement.error_out or 0.0)
    ]
    worst = [first.judged[at] for _, at in sorted(errors)[:EXPLAINED_MOST]]
    ranked = [*top, *rest, *(Candidate(judged.name, first, judged, CONSEQUENCE) for judged in worst)]
    return ranked[:MOST], len(ranked)


def _choose_reason(judged: Judgement, guilty: Judgement, named: Sequence[str]) -> str:
    if judged.name == guilty.name or judged.name in named:
        return AGAIN
    if judged.outcome == JUMP:
        return HANDED
    if judged.own is None and judged.outcome not in (STRUCTURE, ARGUMENT):
        return AMPLIFIED
    mine, guilty_operator = judged.agreement.pair.target, guilty.agreement.pair.target
    return KIND if (mine.head, mine.direction) == (guilty_operator.head, guilty_operator.direction) else OWN
