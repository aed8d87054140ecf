"""Where in a step two runs part first: each stage held against the other side's, and the side's own stage before.

The stages of a step, in order: what it starts with (weights, optimizer state, loss scale, random streams), gradients
after backward, after unscaling, after clipping, as the optimizer reads them, the hyperparameters in force, the rule of
the update, and what the step leaves (buffers, averages of the weights). A stage that parts explains those behind it;
what is judged by itself (a rule, a clipping, an unscaling, buffers) needs no other stage to be right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ascend_workbook.precision.state.buffers import judge_buffers, judge_copies
from ascend_workbook.precision.state.clipping import judge_clipping, judge_unscaling
from ascend_workbook.precision.state.gradients import judge_backward
from ascend_workbook.precision.state.judge import (
    BY_ITSELF,
    GRADIENT,
    KINDS,
    RANDOM,
    UPDATE,
    Conditions,
    Event,
    Judge,
    Judged,
)
from ascend_workbook.precision.state.reading import Step
from ascend_workbook.precision.state.start import judge_start, list_parted_streams
from ascend_workbook.precision.state.updates import judge_updates


def judge_rank(rank: int, baseline: Mapping[int, Step], target: Mapping[int, Step], known: Conditions) -> Judged:
    """Hold all common steps of one rank against each other."""
    judge = Judge(known)
    numbers = sorted(baseline.keys() & target.keys())
    for number in numbers:
        first_event = len(judge.events)
        _judge_step(judge, baseline[number], target[number])
        if number + 1 in baseline and number + 1 in target:
            _weigh_draws(
                judge, first_event, (baseline[number], target[number]), (baseline[number + 1], target[number + 1])
            )
            judge_copies(judge, baseline[number], target[number], baseline[number + 1], target[number + 1])
    # where a step has several updates, what an earlier one does is in the gradients of a later one
    several = {number for number in numbers if len(target[number].updates) > 1}
    late = KINDS.index(UPDATE)
    events = sorted(
        judge.events,
        key=lambda event: (
            event.step,
            late if event.kind == GRADIENT and event.step in several else KINDS.index(event.kind),
        ),
    )
    return Judged(rank, tuple(drop_consequences(events)), tuple(judge.rows))


def _weigh_draws(judge: Judge, first_event: int, now: tuple[Step, Step], later: tuple[Step, Step]) -> None:
    """Tell of random streams that part within a step in place of the gradients that part in it.

    Masks that are drawn otherwise (a compiled dropout draws other numbers than an eager one) part gradients too, and
    which of the two came first nothing tells."""
    kinds = [event.kind for event in judge.events[first_event:]]
    if not kinds or min(kinds, key=KINDS.index) != GRADIENT:
        return
    names = list_parted_streams(judge.known, now, later)
    if names and not any(now[0].random.get(name) != now[1].random.get(name) for name in names):
        del judge.events[first_event:]
        judge.tell(now[0].number, RANDOM, "within", names)


def drop_consequences(events: list[Event]) -> Iterator[Event]:
    """Keep the events of the earliest step; of those that another explains only the first."""
    first = events[0].step if events else 0
    explained = False
    for event in events:
        if event.step == first and (not explained or event.kind in BY_ITSELF):
            yield event
        explained = explained or event.kind not in (RANDOM,)


def _judge_step(judge: Judge, left: Step, right: Step) -> None:
    before = len(judge.events)
    judge_start(judge, left, right)
    judge_backward(judge, left, right)
    judge_unscaling(judge, left, right)
    judge_clipping(judge, left, right)
    judge_updates(judge, left, right)
    judge_buffers(judge, left, right)
    judge.left, judge.right = left, right
    judge.parted = judge.parted or len(judge.events) > before
