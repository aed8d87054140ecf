"""ACC237: where in a step the runs first part besides its operators: gradients, clipping, optimizer, buffers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison
from ascend_workbook.precision.divergence import Judgement
from ascend_workbook.precision.record import BACKWARD
from ascend_workbook.precision.state.judge import GRADIENT, RANDOM, RECOMPUTE, UPDATE, Event, Judged
from ascend_workbook.precision.state.makers import OF_OPERATORS, find_maker

CODE, BASIS = "ACC237", "facts"
SHOWN = 3
#: Above an operator that parts later, below one that parts before.
ABOVE, BELOW = 350.0, 160.0


def check(facts: Comparison) -> Iterator[Finding]:
    for trouble in dict.fromkeys((*facts.baseline.states.troubles, *facts.target.states.troubles)):
        yield Finding(CODE, Status.NOT_LOOKED, "ACC237.trouble", {"error": trouble}, weight=20)
    sides = {"baseline": facts.baseline.states, "target": facts.target.states}
    recorded = [side for side, states in sides.items() if states]
    if len(recorded) == 1 and facts.baseline.about and facts.target.about:
        side = Sentence(f"precision.side_{recorded[0]}")
        yield Finding(CODE, Status.NOTE, "ACC237.one_side", {"side": side}, weight=15)
    firsts = sorted((rank for rank in facts.states if rank.events), key=lambda rank: rank.events[0].step)
    if firsts:
        rank = firsts[0]
        for at, event in enumerate(rank.events[:SHOWN]):
            yield make_finding(facts, rank, event, at)
    elif facts.states and not facts.stopped:
        yield from _report_same(facts)


def make_finding(facts: Comparison, rank: Judged, event: Event, at: int) -> Finding:
    """Say an event; it stands above an operator that parts only in a later step, or that reads what is told here."""
    before = facts.first is None or event.step < facts.first[0].step
    if event.kind == RECOMPUTE and facts.first is not None and facts.first[0].step == event.step:
        # what is computed again with another mask is what the backward reads
        before = facts.first[1].agreement.pair.target.direction == BACKWARD
    status = Status.LOOK if event.kind in (RANDOM, UPDATE) else Status.FIX
    args: dict[str, Scalar] = {**event.args, "step": event.step, "rank": rank.rank, "place": event.place or "-"}
    args["side"] = Sentence(f"precision.side_{event.side}")
    args["names"] = [*event.names[:SHOWN]]
    if "rule" in args:
        rules = args["rule"] if isinstance(args["rule"], list) else []
        args["rule"] = [Sentence(f"state.rule_{str(rule).replace(' ', '_')}") for rule in rules] or [
            Sentence("state.rule_own")
        ]
    key = f"ACC237.{event.kind}_{event.detail}" if event.detail else f"ACC237.{event.kind}"
    place = _find_place(facts, event.place)
    if event.kind == GRADIENT and event.detail in OF_OPERATORS:
        maker = _find_maker(facts, rank, event)
        args["made"] = Sentence("state.made_unknown")
        shown = facts.first is not None and facts.shows_gradients and facts.first[0].step == event.step
        if shown and facts.first is not None:
            before = maker is not None or facts.first[1].agreement.pair.target.direction != BACKWARD
        if maker is not None:
            operator = maker.agreement.pair.target
            name = f"{operator.name.rpartition('.')[0]}.backward"
            args.update(operators=[name], made=Sentence("state.made", operator=name))
            place = operator.place or place
    return Finding(CODE, status, key, args, place, weight=(ABOVE if before else BELOW) - at)


def _find_maker(facts: Comparison, rank: Judged, event: Event) -> Judgement | None:
    """Find the operator whose backward made the first wrong gradient, in the dump of the event's step."""
    steps = [states.ranks.get(rank.rank, {}).get(event.step) for states in (facts.baseline.states, facts.target.states)]
    judged = next((step.judged for step in facts.steps if (step.step, step.rank) == (event.step, rank.rank)), ())
    left, right = steps
    return find_maker(event, (left, right), judged) if left is not None and right is not None else None


def _find_place(facts: Comparison, text: str) -> Place | None:
    """The script's file below its folder, and the line."""
    path, _, line = text.rpartition(":")
    if not line.isdigit():
        return None
    root = facts.target.about.root if facts.target.about else None
    try:
        name = str(Path(path).relative_to(root)) if root else path
    except ValueError:
        name = path
    return Place(name, int(line))


def _report_same(facts: Comparison) -> Iterator[Finding]:
    rows = [row for rank in facts.states for row in rank.rows]
    gradients = [row for row in rows if row.stage == GRADIENT and row.count]
    if not gradients:
        return
    worst = max(gradients, key=lambda row: row.error)
    args: dict[str, Scalar] = {"steps": len({row.step for row in rows}), "count": sum(row.count for row in rows)}
    args.update(error=worst.error, worst=worst.worst, allowed=worst.allowed)
    yield Finding(CODE, Status.GOOD, "ACC237.same", args, weight=15)


RULES = {CODE: check}
