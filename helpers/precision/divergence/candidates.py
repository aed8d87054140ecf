"""The operators under suspicion, ranked with what speaks against each: the first divergence on top, behind it what has
an error of its own, then what may be the first one's doing, and last what its inputs explain though its error is large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helpers.precision.divergence import ARGUMENT, EXPLAINED, JUMP, PARTING, STRUCTURE, Judgement

if TYPE_CHECKING:
    from helpers.precision.comparison import Comparison, StepComparison

#: Why a candidate stands where it does; from the gravest to the least.
FIRST, MAKER, KIND, OWN, AGAIN, HANDED, AMPLIFIED, CONSEQUENCE = WHYS = (
    "first", "maker", "kind", "own", "again", "handed", "amplified", "consequence",
)  # fmt: skip
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
        found = self.judged
        if found.own is not None:
            return found.own.worst
        return found.agreement.error_in if found.outcome == JUMP else found.agreement.error_out or 0.0

    @property
    def times(self) -> float | None:
        """How many times the allowed error; None where there is none to hold it against."""
        if self.judged.outcome in (STRUCTURE, ARGUMENT):
            return None
        return self.error / self.judged.allowed if self.judged.allowed else math.inf


def candidates(facts: Comparison) -> tuple[list[Candidate], int]:
    """Ranked, at most MOST, and how many there are in all; none where no operator parts the runs."""
    if facts.first is None:
        return [], 0
    step, guilty = facts.first
    top = [Candidate(name, step, guilty, FIRST if name == guilty.name else MAKER) for name in facts.named]
    parting = [(one, judged) for one in facts.steps for judged in one.judged
               if judged.outcome in PARTING and judged is not guilty]  # fmt: skip
    rest = [Candidate(judged.name, one, judged, _why(judged, guilty, facts.named)) for one, judged in parting]
    rest.sort(key=lambda one: (WHYS.index(one.why), one.step.step, one.judged.agreement.pair.order, one.step.rank))
    found = [*top, *rest, *_explained(facts.steps, step)]
    return found[:MOST], len(found)


def _why(judged: Judgement, guilty: Judgement, named: Sequence[str]) -> str:
    if judged.name == guilty.name or judged.name in named:
        return AGAIN
    if judged.outcome == JUMP:
        return HANDED
    if judged.own is None and judged.outcome not in (STRUCTURE, ARGUMENT):
        return AMPLIFIED
    mine, theirs = judged.agreement.pair.target, guilty.agreement.pair.target
    return KIND if (mine.head, mine.direction) == (theirs.head, theirs.direction) else OWN


def _explained(steps: Sequence[StepComparison], first: StepComparison) -> list[Candidate]:
    """Of the step that parts first those with the largest errors that their inputs explain."""
    here = [one for one in first.judged if one.outcome == EXPLAINED and math.isfinite(one.agreement.error_out or 0.0)]
    here.sort(key=lambda one: -(one.agreement.error_out or 0.0))
    return [Candidate(one.name, first, one, CONSEQUENCE) for one in here[:EXPLAINED_MOST]]
