"""ACC230: which operator parts the runs first, on which step and rank. ACC230.none where none does."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision import divergence
from helpers.precision.capturing import recapture
from helpers.precision.comparison import Comparison, StepComparison
from helpers.precision.divergence import (
    AGREES,
    ALLOWED,
    ARGUMENT,
    DIVERGES,
    DRAWN,
    EXPLAINED,
    JUMP,
    NOT_COMPARED,
    POSSIBLE,
    STRUCTURE,
    Judgement,
    arguments,
    devices,
)
from helpers.precision.divergence.drawn import SOURCE, draws
from helpers.precision.operators import kernels
from helpers.precision.record import FORWARD
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC230"
SHOWN = 3


def check(facts: Comparison) -> Iterator[Finding]:
    if facts.stopped:
        raise CannotCheck("ACC230.other_experiment", what=list(dict.fromkeys(one.name for one in facts.differences)))
    if facts.bare:
        raise CannotCheck("ACC230.no_operators")
    if facts.first is None and facts.start:
        raise CannotCheck("ACC230.other_start")
    if facts.first is None:
        yield from _healthy(facts)
        return
    step, judged = facts.first
    args = _arguments(step, judged)
    key = _key(judged)
    if key == "unseen" and facts.missing and facts.named == facts.missing:
        key = "missing"
        args.update(operator=list(facts.named), receiver=judged.name)
    elif key == "unseen" and facts.named != [judged.name]:
        key = "handed"
        args.update(operator=list(facts.named), receiver=judged.name, kernels=_kernels(step, facts.named))
    elif key == "handed_back":
        args.update(operator=list(facts.named), kernels=_kernels(step, facts.named))
    if key == "amplified" and not (step.pairing.target.replayable or judged.agreement.inputs):
        key = "value"
    if key in ("replayed", "handed_back", "amplified"):
        args["next"] = _next(facts, step, judged)
    place = judged.agreement.pair.target.place
    yield Finding(CODE, Status.FAIL, f"ACC230.{key}", args, place, weight=300)


def _next(facts: Comparison, step: StepComparison, judged: Judgement) -> Scalar:
    """What to do that has not been done: run it alone, where its inputs lie there and it was not run already."""
    ran = facts.confirmation.verdict if facts.confirmation else devices.UNKNOWN
    if ran == devices.NOT_AGAIN:
        return _capture("returns", facts, judged.side, step.step)
    if ran != devices.UNKNOWN:
        return {"say": "ACC230.known_issues"}
    pair = judged.agreement.pair
    for side, operator in (("target", pair.target), ("baseline", pair.baseline)):
        if not all(tensor.file for tensor in operator.inputs):
            return _capture("save", facts, side, step.step)
    return {"say": "ACC230.run_backward" if judged.handed_by else "ACC230.run_alone"}


def _capture(why: str, facts: Comparison, side: str, step: int) -> Scalar:
    line = recapture.command(facts.target if side == "target" else facts.baseline, step)
    told: dict[str, Scalar] = {"step": step, "side": {"say": f"precision.side_{side}"}}
    return {"say": f"ACC230.{why}", "args": {**told, "command": line}} if line else {
        "say": f"ACC230.{why}_by_hand", "args": told}  # fmt: skip


def _kernels(step: StepComparison, names: list[str]) -> Scalar:
    found = [kernel for name in names if (op := step.pairing.target.by_name.get(name)) for kernel in kernels(op)]
    return list(dict.fromkeys(found)) or None


def _key(judged: Judgement) -> str:
    if judged.outcome == STRUCTURE:
        return "structure"
    if judged.outcome == ARGUMENT:
        return "argument"
    if judged.outcome == JUMP:
        return "unseen"
    if judged.handed_by:
        return "handed_back"
    return "replayed" if judged.own else "amplified"


def _arguments(step: StepComparison, judged: Judgement) -> dict[str, Scalar]:
    found = judged.agreement
    operator = found.pair.target
    args: dict[str, Scalar] = {
        "operator": operator.name,
        "kernels": list(kernels(operator)) or None,
        "place": str(operator.place) if operator.place else None,
        "step": step.step,
        "rank": step.rank,
        "error_in": found.error_in,
        "error_out": found.error_out,
        "allowed": judged.allowed,
    }
    if judged.outcome == STRUCTURE:
        args["detail"] = [f"{slot.slot} {slot.detail or slot.problem}" for slot in found.outputs if slot.problem]
    if judged.outcome == DIVERGES and not judged.own:
        args["why"] = {"say": f"precision.replay_{step.replays.why_not(operator)}"}
    if judged.outcome == ARGUMENT:
        args["detail"] = arguments.different(found, 0.0)
    if judged.outcome == JUMP:
        args["before"] = _before(step, judged)
    if judged.own and judged.side:
        args.update(side={"say": f"precision.side_{judged.side}"}, own=judged.own.worst)
    return args


def _before(step: StepComparison, judged: Judgement) -> Scalar:
    """What was not compared just before, and so may have made the wrong input."""
    at = step.judged.index(judged)
    skipped = [one.name for one in step.judged[:at] if one.outcome == divergence.NOT_COMPARED]
    left = [op.name for op in step.pairing.only_target if op.order < judged.agreement.pair.order]
    return list((skipped + left)[-SHOWN:]) or {"say": "ACC230.start"}


def _healthy(facts: Comparison) -> Iterator[Finding]:
    judged = [one for step in facts.steps for one in step.judged]
    if any(one.outcome == DRAWN for one in judged):
        yield _drawn(facts.steps)
        return
    compared = [one for one in judged if one.outcome in (AGREES, EXPLAINED, ALLOWED, POSSIBLE)]
    if not compared:
        yield Finding(CODE, Status.FAIL, "ACC230.nothing", {"count": len(judged)}, weight=100)
        return
    args: dict[str, Scalar] = {kind: sum(one.outcome == kind for one in compared) for kind in (AGREES, EXPLAINED)}
    args["left"] = sum(one.outcome == NOT_COMPARED for one in judged) + sum(
        len(step.pairing.only_target) + len(step.pairing.only_baseline) for step in facts.steps
    )
    reduced = [one for one in compared if one.outcome == ALLOWED]
    possible = [one for one in compared if one.outcome == POSSIBLE]
    if possible:
        worst = max(possible, key=lambda one: one.agreement.error_out or 0.0)
        args.update(count=len(possible), operators=[one.name for one in possible[:SHOWN]], allowed=worst.allowed,
                    own=worst.agreement.error_out)  # fmt: skip
        yield Finding(CODE, Status.SKIPPED, "ACC230.possible", args, weight=100)
    elif reduced:
        worst = _most(reduced)
        args.update(count=len(reduced), form=worst.form.upper(), operator=worst.name, own=worst.own_error,
                    allowed=worst.allowed)  # fmt: skip
        yield Finding(CODE, Status.OK, "ACC230.reduced", args, weight=100)
    elif not any(one.agreement.error_out for one in compared):
        args["count"] = len(compared)
        yield Finding(CODE, Status.OK, "ACC230.identical", args, weight=100)
    else:
        worst = _most(compared)
        args.update(count=len(compared), operator=worst.name, own=worst.own_error)
        yield Finding(CODE, Status.OK, "ACC230.none", args, weight=100)


def _drawn(steps: tuple[StepComparison, ...]) -> Finding:
    """Other random numbers: what ran from there on, in that step and in those after it, is no agreement. An operator
    that was run again from its own inputs is judged all the same."""
    where = min((step.step, at) for step in steps for at, one in enumerate(step.judged) if one.outcome == DRAWN)
    seen = [((step.step, at), one) for step in steps for at, one in enumerate(step.judged)
            if one.outcome in (AGREES, EXPLAINED, ALLOWED, POSSIBLE, DRAWN)]  # fmt: skip
    told = [one for at, one in seen if at >= where]
    first = next(one for one in told if one.outcome == DRAWN).agreement.pair.target
    drawing = [one for one in told if draws(one.agreement.pair.target)
               and one.agreement.pair.target.direction == FORWARD]  # fmt: skip
    again = [one for one in told if one.own is not None]
    args: dict[str, Scalar] = {
        "place": str(first.place) if first.place else None, "operator": first.name, "step": where[0],
        "api": list(dict.fromkeys(one.agreement.pair.target.api for one in drawing)), "count": len(drawing),
        "before": len(seen) - len(told), "behind": len(told),
        "replayed": len(again), "own": max((one.own_error for one in again), default=None),
        "error": max(one.agreement.error_out or 0.0 for one in told), "source": SOURCE,
    }  # fmt: skip
    return Finding(CODE, Status.WARN, "ACC230.drawn", args, first.place, weight=300)


def _most(judged: list[Judgement]) -> Judgement:
    """The one that adds the most. Forward first: a gradient that cancels to nothing has any relative error."""
    forward = [one for one in judged if one.agreement.pair.target.direction == FORWARD]
    return max(forward or judged, key=lambda one: one.own_error)
