"""The suspicious operators as one table: rank, evidence, and in words why the others stand behind the first: behind it
stands what has an error of its own, then what may be the first one's doing, last what its inputs explain though its
error is large."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison, StepComparison
from ascend_workbook.precision.divergence import ARGUMENT, EXPLAINED, JUMP, PARTING, STRUCTURE, Judgement
from ascend_workbook.precision.views.questions import infinity_as_word

CODE = "ACC236"
# ruff: noqa: SIM905 - a column of names reads better without quotes
COLUMNS = """
candidate operator direction step rank error_in error_out own_error allowed times_allowed replay why_here
""".split()
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


def rank_suspects(facts: Comparison) -> Report | None:
    """Rank the suspicious operators in a table with its sentence; None where no operator parts the runs."""
    candidates, total = rank_candidates(facts)
    if not candidates:
        return None
    rows = tuple(
        (at, *_make_candidate_row(candidate, candidates[0], facts)) for at, candidate in enumerate(candidates, 1)
    )
    counts = {why: sum(candidate.why == why for candidate in candidates[1:]) for why in WHYS}
    kinds: list[Scalar] = [Sentence(f"suspects.count_{why}", count=count) for why, count in counts.items() if count]
    step = candidates[0].step
    args: dict[str, Scalar] = {"first": candidates[0].name, "step": step.step, "rank": step.rank}
    args.update(count=total, shown=len(candidates), kinds=kinds)
    finding = Finding(CODE, Status.GOOD, "ACC236.ranked" if total > 1 else "ACC236.alone", args)
    columns = tuple(Column(name, wrap=44 if name in ("replay", "why_here") else 0) for name in COLUMNS)
    return Report("precision", "suspects", (finding,), Table(columns, rows))


def _make_candidate_row(candidate: Candidate, first: Candidate, facts: Comparison) -> tuple[Scalar, ...]:
    agreement = candidate.judged.agreement
    own = candidate.judged.own.worst if candidate.judged.own is not None else None
    why: Scalar = _describe_gap(candidate, facts) or Sentence(
        f"suspects.{candidate.why}", first=first.name, receiver=candidate.judged.name
    )
    allowed = None if candidate.times is None else candidate.judged.allowed
    numbers = (agreement.error_in, agreement.error_out, own, allowed, candidate.times)
    direction = candidate.name.rpartition(".")[2] if candidate.why == MAKER else agreement.pair.target.direction
    who = (candidate.name, direction, candidate.step.step, candidate.step.rank)
    return (*who, *map(infinity_as_word, numbers), _describe_replay(candidate, facts), why)


def _describe_gap(candidate: Candidate, facts: Comparison) -> Scalar:
    """Describe the steps before the first candidate's own that were not captured: it may have begun there."""
    step = candidate.step.step
    before = max((other.step for other in facts.steps if other.step < step), default=-1)
    if candidate.why != FIRST or before in (-1, step - 1):
        return None
    return Sentence("suspects.first_since", before=before, begin=before + 1, end=step - 1)


def _describe_replay(candidate: Candidate, facts: Comparison) -> Scalar:
    """Describe what running it again said: of the first on the devices too, where that was done."""
    again = facts.confirmation
    if candidate.why == FIRST and again is not None:
        return Sentence(f"suspects.device_{again.verdict}", own=candidate.error)
    own = candidate.judged.own
    if own is None:
        if candidate.judged.outcome in (STRUCTURE, ARGUMENT):
            return None
        reason = candidate.step.replays.why_not(candidate.judged.agreement.pair.target)
        return Sentence("suspects.not_replayed", why=Sentence(f"precision.replay_{reason}"))
    return Sentence("suspects.replayed", target=own.target, baseline=own.baseline)
