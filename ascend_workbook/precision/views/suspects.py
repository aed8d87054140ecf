"""The suspicious operators as one table: rank, evidence, and in words why the others stand behind the first."""

from __future__ import annotations

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison
from ascend_workbook.precision.divergence import ARGUMENT, STRUCTURE
from ascend_workbook.precision.divergence.candidates import FIRST, MAKER, WHYS, Candidate, rank_candidates
from ascend_workbook.precision.views.questions import infinity_as_word

CODE = "ACC236"
# ruff: noqa: SIM905 - a column of names reads better without quotes
COLUMNS = """
candidate operator direction step rank error_in error_out own_error allowed times_allowed replay why_here
""".split()


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
    finding = Finding(CODE, Status.OK, "ACC236.ranked" if total > 1 else "ACC236.alone", args)
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
