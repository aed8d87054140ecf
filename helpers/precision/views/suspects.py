"""The suspicious operators as one table: rank, evidence, and in words why the others stand behind the first."""

from __future__ import annotations

import math

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.precision.divergence import ARGUMENT, STRUCTURE
from helpers.precision.divergence.candidates import FIRST, MAKER, WHYS, Candidate, candidates
from helpers.report import Column, Report, Table
from helpers.words import Scalar

CODE = "ACC236"
COLUMNS = ("candidate", "operator", "direction", "step", "rank", "error_in", "error_out", "own_error", "allowed",
           "times_allowed", "replay", "why_here")  # fmt: skip


def suspects(facts: Comparison) -> Report | None:
    """The table with its sentence; None where no operator parts the runs."""
    found, total = candidates(facts)
    if not found:
        return None
    rows = tuple((at, *_row(one, found[0], facts)) for at, one in enumerate(found, 1))
    args: dict[str, Scalar] = {"first": found[0].name, "step": found[0].step.step, "rank": found[0].step.rank,
                               "count": total, "shown": len(found), "kinds": _counted(found)}  # fmt: skip
    finding = Finding(CODE, Status.OK, "ACC236.ranked" if total > 1 else "ACC236.alone", args)
    columns = tuple(Column(name, wrap=44 if name in ("replay", "why_here") else 0) for name in COLUMNS)
    return Report("precision", "suspects", (finding,), Table(columns, rows))


def _row(one: Candidate, first: Candidate, facts: Comparison) -> tuple[Scalar, ...]:
    found = one.judged.agreement
    own = one.judged.own.worst if one.judged.own is not None else None
    why: Scalar = _gap(one, facts) or {"say": f"suspects.{one.why}", "args": {"first": first.name,
                                                                              "receiver": one.judged.name}}  # fmt: skip
    numbers = (found.error_in, found.error_out, own, None if one.times is None else one.judged.allowed, one.times)
    direction = one.name.rpartition(".")[2] if one.why == MAKER else found.pair.target.direction
    return (one.name, direction, one.step.step, one.step.rank, *map(_finite, numbers), _replay(one, facts), why)


def _gap(one: Candidate, facts: Comparison) -> Scalar:
    """Of the first, the steps just before its own that were not captured: it may have begun there."""
    step = one.step.step
    before = max((other.step for other in facts.steps if other.step < step), default=-1)
    if one.why != FIRST or before in (-1, step - 1):
        return None
    return {"say": "suspects.first_since", "args": {"before": before, "begin": before + 1, "end": step - 1}}


def _replay(one: Candidate, facts: Comparison) -> Scalar:
    """What running it again said: of the first on the devices too, where that was done."""
    again = facts.confirmation
    if one.why == FIRST and again is not None:
        return {"say": f"suspects.device_{again.verdict}", "args": {"own": one.error}}
    own = one.judged.own
    if own is None:
        if one.judged.outcome in (STRUCTURE, ARGUMENT):
            return None
        why: Scalar = {"say": f"precision.replay_{one.step.replays.why_not(one.judged.agreement.pair.target)}"}
        return {"say": "suspects.not_replayed", "args": {"why": why}}
    return {"say": "suspects.replayed", "args": {"target": own.target, "baseline": own.baseline}}


def _counted(found: list[Candidate]) -> list[Scalar]:
    """How many stand behind the first for which reason."""
    counts = {why: sum(one.why == why for one in found[1:]) for why in WHYS}
    return [{"say": f"suspects.count_{why}", "args": {"count": count}} for why, count in counts.items() if count]


def _finite(value: float | None) -> Scalar:
    """JSON has no infinity: it is kept as the word."""
    return value if value is None or math.isfinite(value) else str(value)
