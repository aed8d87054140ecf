"""Which operator parts two runs first: the first whose outputs differ by more than its inputs and its dtype explain.

Two ways of judging an operator, the better one where it is possible:
- replayed: its recorded inputs were run again in float64; each side is held against that truth, so that errors
  it inherited do not count, and rounding is measured on this operator and this data (replay.py);
- by amplification: its output error against its input error, with a floor for the dtype.
Where an input error appears that no recorded operator made, what lies between is named instead.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from helpers.precision.divergence import arguments, drawn, formats, held
from helpers.precision.divergence.replay import Own, Replay
from helpers.precision.record import BACKWARD, FORWARD, PARAMETERS, Operator, TensorRecord
from helpers.precision.tensors import tolerance
from helpers.precision.tensors.agreement import (
    CHECKSUM,
    DTYPE,
    NONFINITE,
    ONLY_BASELINE,
    ONLY_TARGET,
    SHAPE,
    UNREADABLE,
    Agreement,
    TensorAgreement,
)

AGREES, EXPLAINED, ALLOWED, POSSIBLE, DIVERGES, STRUCTURE, ARGUMENT, JUMP, NOT_COMPARED, CONTAINER, DRAWN = (
    "agrees", "explained", "allowed", "possible", "diverges", "structure", "argument", "jump", "not_compared",
    "container", "drawn",
)  # fmt: skip
#: From good to bad.
SEVERITY = (AGREES, EXPLAINED, ALLOWED, POSSIBLE, DIVERGES)
#: Outcomes that part the runs.
PARTING = (DIVERGES, STRUCTURE, ARGUMENT, JUMP)
#: What clips or checks gradients: it reads those of the parameters, which level L1 records nowhere else.
READS_GRADIENTS = ("norm", "vector_norm", "clip_grad_norm_", "isfinite", "isnan", "isinf")
#: An input error this many times above everything seen before was made by something that was not recorded.
UNSEEN = 30.0


@dataclass(frozen=True)
class Judgement:
    """One operator judged; DRAWN where it gave other random numbers. `allowed` is the error that rounding and inputs
    explain; `form` a reduced format that explains it; `own` the replayed output that is furthest off, `side` whose
    arithmetic made it so. `handed_by`: the wrong values are a gradient that one of these hands back."""

    agreement: Agreement
    outcome: str
    allowed: float
    form: str = ""
    own: Own | None = None
    side: str = ""
    handed_by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.agreement.pair.target.name

    @property
    def own_error(self) -> float:
        """What the operator itself adds: by replay the worse side's error, else its output error beyond its input's."""
        if self.own is not None:
            return self.own.worst
        error_in, error_out = self.agreement.error_in, self.agreement.error_out or 0.0
        return max(0.0, error_out - error_in) if math.isfinite(error_in) else 0.0


def judge(
    agreements: Iterable[Agreement],
    replays: Mapping[str, Replay],
    numerics: Mapping[str, str],
    containers: frozenset[str] = frozenset(),
    reached: float = 0.0,
    possible: frozenset[str] = frozenset(),
) -> list[Judgement]:
    """Judges operators in the order of execution. `reached` is the largest error that this step may begin with:
    0 in the first step, infinite where earlier updates have parted the weights. `possible` are kinds of operators that
    may have computed in a reduced format of which no record tells (formats.py)."""
    judged = []
    forward: dict[tuple[str, int], float] = {}
    drew: set[tuple[str, int]] = set()
    returned: dict[str, tuple[TensorRecord, ...]] = defaultdict(tuple)
    turned, largest, seen = False, 0.0, math.isfinite(reached)
    for found in agreements:
        operator = found.pair.target
        call = (operator.head, operator.call)
        saved = 0.0 if operator.direction == FORWARD else forward.get(call, 0.0)
        if operator.direction == PARAMETERS:  # recorded without inputs: whatever came before may stand behind it
            saved = reached if math.isfinite(reached) else largest
        inherited = _inherited(found, saved)
        if not _whole(found):  # of statistics an input's error may be small by luck
            inherited = max(inherited, largest)
        theirs = found.pair.baseline
        if theirs.direction == BACKWARD:
            returned[theirs.head] += theirs.inputs
        summed = theirs.inputs if theirs.direction == BACKWARD else returned[theirs.head]
        one = _one(found, replays.get(operator.name), dict(numerics), inherited, formats.kind(operator.api) in possible,
                   summed)  # fmt: skip
        if _drew(one) or (call in drew and one.outcome == DIVERGES and one.own is None):
            one = replace(one, outcome=DRAWN)
            drew.add(call)
        if operator.direction == PARAMETERS and not seen and one.outcome != AGREES:
            one = replace(one, outcome=NOT_COMPARED)
        elif operator.name in containers and one.outcome in (DIVERGES, EXPLAINED, ALLOWED, DRAWN):
            one = replace(one, outcome=CONTAINER)
        elif one.outcome != STRUCTURE and not (turned and _reads_gradients(operator)) and _unseen(found, reached):
            one = replace(one, outcome=JUMP, allowed=reached)
        elif one.outcome not in (STRUCTURE, CONTAINER) and arguments.different(found, reached):
            one = replace(one, outcome=ARGUMENT)
        if operator.direction != PARAMETERS:  # nothing is computed from them within the step
            largest = max(largest, found.error_in, found.error_out or 0.0)
            seen = seen or found.error_out is not None
            reached = max(reached, largest)
        turned = turned or operator.direction == BACKWARD
        if operator.direction == FORWARD:
            forward[call] = max(found.error_in, found.error_out or 0.0)
        judged.append(one)
    return judged


def _drew(one: Judgement) -> bool:
    """Whether a forward call gave other numbers because it drew others. With a replay, which takes the mask from the
    record, its arithmetic is judged apart; without one what it draws cannot be told from what it computes."""
    found = one.agreement
    if found.pair.target.direction != FORWARD or not drawn.draws(found.pair.target):
        return False
    if one.own is None:
        return one.outcome == DIVERGES or one.outcome == EXPLAINED and drawn.other_numbers(found)
    return one.outcome in (EXPLAINED, ALLOWED) and drawn.other_numbers(found)


def _reads_gradients(operator: Operator) -> bool:
    named = operator.api in READS_GRADIENTS or operator.api.startswith("_foreach_")
    return operator.direction == FORWARD and named


def _inherited(found: Agreement, saved: float) -> float:
    """The error an operator begins with: of its inputs and, in backward, of what its forward saved."""
    kinked = found.pair.target.api in tolerance.KINKED and math.isfinite(saved)
    return max(found.error_in, math.sqrt(saved) if kinked else saved)


def first(judged: Iterable[Judgement]) -> Judgement | None:
    """The first operator that parts the runs, or None."""
    return next((one for one in judged if one.outcome in PARTING), None)


def _one(
    found: Agreement, replay: Replay | None, numerics: dict[str, str], inherited: float, possible: bool,
    summed: Sequence[TensorRecord],
) -> Judgement:  # fmt: skip
    rounding, form = tolerance.floor(found.dtypes), tolerance.reduced(found.pair.target.api, numerics)
    handed = replay.wrongly_handed(rounding) if replay is not None else None
    if replay is not None and handed is not None:
        side = "target" if handed.target >= handed.baseline else "baseline"
        makers = (found.pair.target.name, *replay.others)
        return Judgement(found, DIVERGES, handed.wide(rounding), form, handed, side, makers)
    structural = _structure(found)
    if structural:
        return Judgement(found, structural, 0.0)
    error = found.error_out
    if error is None:
        return Judgement(found, NOT_COMPARED, 0.0)
    own = replay.worst(rounding) if replay is not None and replay.tells(rounding) else None
    if error <= rounding:
        return Judgement(found, AGREES, rounding, own=own)
    if own is not None:
        return _by_replay(found, own, rounding, form)
    return _by_amplification(found, max(inherited, rounding), rounding, form, possible, summed)


def _structure(found: Agreement) -> str:
    """`structure` where a forward output differs in shape; a backward entry shows the last autograd node only,
    which may be another one on another device, so that another shape there is not comparable, not wrong. The slots
    that both sides of a backward have are judged, whatever one side lacks, unless they are of another dtype too: a cast
    on one side, the operator's own node on the other."""
    problems = {slot.problem for slot in found.outputs}
    if found.pair.target.direction == FORWARD and problems & {SHAPE, ONLY_TARGET, ONLY_BASELINE}:
        return STRUCTURE
    other_node = DTYPE in problems and problems & {ONLY_TARGET, ONLY_BASELINE}
    return NOT_COMPARED if other_node or problems & {SHAPE, UNREADABLE, CHECKSUM} else ""


def _by_replay(found: Agreement, own: Own, rounding: float, form: str) -> Judgement:
    limit, wide = own.limit(rounding), own.wide(rounding)
    if own.worst <= limit:
        return Judgement(found, EXPLAINED, limit, own=own)
    if own.worst <= wide:
        return Judgement(found, ALLOWED, wide, form, own)
    return Judgement(found, DIVERGES, wide, form, own, "target" if own.target >= own.baseline else "baseline")


def _by_amplification(
    found: Agreement, inherited: float, rounding: float, form: str, possible: bool, summed: Sequence[TensorRecord]
) -> Judgement:  # fmt: skip
    """Every output may have ten times the inherited error, more where it is a sum that nearly cancels."""
    outcome, allowed = AGREES, rounding
    for slot in found.outputs:
        if slot.error is None or slot.error <= rounding:
            continue
        relief = cancellation(found, slot, summed)
        limit = _amplification(found) * inherited * relief
        wide = max(limit, tolerance.reduced_floor(form) * relief)
        kind = EXPLAINED if slot.error <= limit else ALLOWED if slot.error <= wide else DIVERGES
        untold = max(wide, tolerance.reduced_floor(formats.COARSEST) * relief)
        if possible and kind == DIVERGES and slot.error <= untold:
            kind, wide = POSSIBLE, untold
        if SEVERITY.index(kind) > SEVERITY.index(outcome):
            outcome, allowed = kind, limit if kind == EXPLAINED else wide
    return Judgement(found, outcome, allowed, form)


def _amplification(found: Agreement) -> float:
    """Statistics compare extremes, which move more than a norm does."""
    if _whole(found) or found.pair.target.direction == FORWARD:
        return tolerance.AMPLIFICATION
    return tolerance.AMPLIFICATION_OF_STATISTICS


def _whole(found: Agreement) -> bool:
    """Whether values were compared, and not statistics alone."""
    return all(t.file for side in (found.pair.target, found.pair.baseline) for t in side.outputs)


def cancellation(found: Agreement, slot: TensorAgreement, summed: Sequence[TensorRecord]) -> float:
    """How much a reduction in backward may lose: the size of what is `summed` (a backward's incoming gradients; of a
    module's bias those of its backward) over its result's. The gradient of a bias that a normalisation follows is zero
    but for rounding: any relative error of it is honest. At least 1."""
    operator = found.pair.baseline
    result = next((t for t in operator.outputs if t.slot == slot.slot), None)
    reduces = operator.direction == BACKWARD or operator.direction == PARAMETERS and len(slot.shape) == 1
    if not reduces or result is None or not result.norm:
        return 1.0
    terms, size = math.prod(result.shape), max((t.norm or 0.0 for t in summed), default=0.0)
    incoming = max((math.prod(t.shape) for t in summed), default=0)
    if terms == 0 or incoming <= terms or not math.isfinite(size / result.norm):
        return 1.0
    return max(1.0, math.sqrt(incoming / terms) * size / result.norm)


def _unseen(found: Agreement, reached: float) -> bool:
    """An input error far above all errors so far: its maker was not recorded, or the runs began differently."""
    if any(slot.problem == NONFINITE for slot in found.inputs) and math.isfinite(reached):
        return True
    return found.error_in > UNSEEN * max(reached, tolerance.floor(held.dtypes(found)))


def makers(judged: Sequence[Judgement], at: Judgement) -> list[str]:
    """For a backward operator whose incoming gradient is off: the operators whose backward made it, that is those
    which took its forward output as input (found by equal statistics in the baseline). One whose own entry shows
    a gradient of that shape in good order is left out; msprobe records an API's last autograd node only."""
    operator = at.agreement.pair.baseline
    by_name = {one.agreement.pair.baseline.name: one for one in judged}
    forward = by_name.get(_turned(operator.name, FORWARD))
    if operator.direction != BACKWARD or forward is None or judged[0] is at:
        return []
    made = {_print(record) for record in forward.agreement.pair.baseline.outputs if record.norm}
    later = [one.agreement.pair for one in judged if one.agreement.pair.baseline.order > forward.agreement.pair.order]
    took = [pair for pair in later if pair.baseline.direction == FORWARD
            and any(_print(record) in made for record in pair.baseline.inputs)]  # fmt: skip
    shapes = {record.shape for record in operator.inputs}
    doubtful = [pair for pair in took if not _clears(by_name.get(_turned(pair.baseline.name, BACKWARD)), shapes)]
    if took:
        return [_turned(pair.target.name, BACKWARD) for pair in doubtful or took]
    # views between the two hide who took it: the entry just before, if it could not be compared
    before = judged[judged.index(at) - 1]
    return [before.name] if before.outcome == NOT_COMPARED else []


def _turned(name: str, direction: str) -> str:
    """The same call's entry of the other direction."""
    return f"{name.rpartition('.')[0]}.{direction}"


def _clears(backward: Judgement | None, shapes: set[tuple[int, ...]]) -> bool:
    """Whether this backward entry was compared and shows a gradient of one of the shapes."""
    if backward is None or backward.outcome in (NOT_COMPARED, *PARTING):
        return False
    return any(slot.shape in shapes for slot in backward.agreement.outputs)


def _print(record: TensorRecord) -> tuple[object, ...]:
    return record.shape, record.norm, record.maximum, record.minimum, record.mean
