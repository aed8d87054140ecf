"""Which operator parts two runs first: the first whose outputs differ by more than its inputs and its dtype explain.

Two ways of judging an operator, the better one where it is possible:
- replayed: its recorded inputs were run again in float64; each side is held against that truth, so that errors
  it inherited do not count, and rounding is measured on this operator and this data (replay.py);
- by amplification: its output error against its input error, with a floor for the dtype.
Where an input error appears that no recorded operator made, what lies between is named instead."""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_workbook.precision.divergence import formats
from ascend_workbook.precision.divergence.arguments import different_arguments, error_read
from ascend_workbook.precision.divergence.carrying import find_carried, selects_a_part
from ascend_workbook.precision.divergence.drawn import draws_numbers, other_numbers
from ascend_workbook.precision.divergence.replay import Own, Replay
from ascend_workbook.precision.record import BACKWARD, FORWARD, PARAMETERS, TensorRecord
from ascend_workbook.precision.tensors import agreement as tensor_agreement
from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.tensors.agreement import ONLY_BASELINE, ONLY_TARGET, SHAPE, Agreement, TensorAgreement

# ruff: noqa: SIM905 - a column of names reads better without quotes
AGREES, EXPLAINED, ALLOWED, POSSIBLE, DIVERGES, STRUCTURE, ARGUMENT, JUMP, NOT_COMPARED, CONTAINER, DRAWN = """
agrees explained allowed possible diverges structure argument jump not_compared container drawn
""".split()
#: From good to bad.
SEVERITY = (AGREES, EXPLAINED, ALLOWED, POSSIBLE, DIVERGES)
#: Outcomes that part the runs.
PARTING = (DIVERGES, STRUCTURE, ARGUMENT, JUMP)
#: What clips or checks gradients: it reads those of the parameters, which level L1 records nowhere else.
READS_GRADIENTS = ("norm", "vector_norm", "clip_grad_norm_", "isfinite", "isnan", "isinf")
#: An input error this many times above everything seen before was made by something that was not recorded.
UNSEEN = 30.0
#: A float32 tensor may hold numbers of these: under autocast a gradient is often a float16 one, widened by a cast that
#: no dump records; its rounding is the coarse one's. Told by all extremes on both sides: of float32 numbers one in some
#: thousands is a coarse one by chance, and four of them never are.
COARSE = ("float16", "bfloat16")
#: So many extremes that are no powers of two make a case.
FEWEST = 2


@dataclass(frozen=True)
class Judgement:
    """One operator judged; DRAWN where it gave other random numbers. `allowed` is the error that rounding and inputs
    explain; `form` a reduced format that explains it; `because` the input that explains most of it; `own` the replayed
    output that is furthest off, `side` whose arithmetic made it so. `handed_by`: the wrong values are a gradient that
    one of these hands back."""

    agreement: Agreement
    outcome: str
    allowed: float
    form: str = ""
    own: Own | None = None
    side: str = ""
    handed_by: tuple[str, ...] = ()
    because: str = ""

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


def judge_operators(
    agreements: Iterable[Agreement],
    replays: Mapping[str, Replay],
    numerics: Mapping[str, str],
    containers: frozenset[str] = frozenset(),
    reached: float = 0.0,
    possible: frozenset[str] = frozenset(),
    drawn_alike: bool = False,
    later: bool = False,
    gradients: bool = False,
) -> list[Judgement]:
    """Judges operators in the order of execution. `reached` is the largest error that this step may begin with:
    0 in the first step, infinite where earlier updates have parted the weights. `possible` are kinds of operators that
    may have computed in a reduced format of which no record tells (formats.py). `drawn_alike`: both sides drew the same
    random numbers, which then excuse nothing. `later`: a whole step that begins with weights which are a little apart:
    its backward begins with what its forward came to. `gradients`: those of the parameters are judged by themselves
    (state/), so that a finite one which is off, behind the last backward, is not told here."""
    judged: list[Judgement] = []
    forward: dict[tuple[str, int], float] = {}
    drew: set[tuple[str, int]] = set()
    returned: dict[str, tuple[TensorRecord, ...]] = defaultdict(tuple)
    turned, largest, any_compared = False, 0.0, math.isfinite(reached)
    agreements = list(agreements)
    turns = [at for at, agreement in enumerate(agreements) if agreement.pair.target.direction == BACKWARD]
    for at, agreement in enumerate(agreements):
        operator = agreement.pair.target
        call = (operator.head, operator.call)
        if later and operator.direction == BACKWARD and any(judgement.outcome in SEVERITY for judgement in judged):
            reached = largest
        elif later:  # what reads gradients behind the backward: one that cancels to nothing is off by any error
            reached = math.inf
        saved = 0.0 if operator.direction == FORWARD else forward.get(call, 0.0)
        if operator.direction == PARAMETERS:  # recorded without inputs: whatever came before may stand behind it
            saved = reached if math.isfinite(reached) else largest
        inherited = _inherited_error(agreement, saved)
        if not _values_compared(agreement):  # of statistics an input's error may be small by luck
            inherited = max(inherited, largest)
        baseline = agreement.pair.baseline
        if baseline.direction == BACKWARD:
            returned[baseline.head] += baseline.inputs
        summed = baseline.inputs if baseline.direction == BACKWARD else returned[baseline.head]
        untold = formats.kind_of_api(operator.api) in possible
        judgement = _judge_operator(agreement, replays.get(operator.name), dict(numerics), inherited, untold, summed)
        drawn = not drawn_alike and _drew_numbers(judgement)
        if drawn or (call in drew and judgement.outcome == DIVERGES and judgement.own is None):
            judgement = replace(judgement, outcome=DRAWN)
            drew.add(call)
        left = gradients and bool(turns) and at > turns[-1]
        named = operator.api in READS_GRADIENTS or operator.api.startswith("_foreach_")
        reads_gradients = operator.direction == FORWARD and named
        if operator.direction == PARAMETERS and not any_compared and judgement.outcome != AGREES:
            judgement = replace(judgement, outcome=NOT_COMPARED)
        elif operator.name in containers and judgement.outcome in (DIVERGES, EXPLAINED, ALLOWED, DRAWN):
            judgement = replace(judgement, outcome=CONTAINER)
        elif not (turned and reads_gradients) and _unseen_maker(judgement, reached, left):
            judgement = replace(judgement, outcome=JUMP, allowed=reached)
        elif judgement.outcome not in (STRUCTURE, CONTAINER) and different_arguments(agreement, reached):
            judgement = replace(judgement, outcome=ARGUMENT)
        if operator.direction != PARAMETERS:  # nothing is computed from them within the step
            largest = max(largest, error_read(agreement), agreement.error_out or 0.0)
            any_compared = any_compared or agreement.error_out is not None
            reached = max(reached, largest)
        turned = turned or operator.direction == BACKWARD
        if operator.direction == FORWARD:
            forward[call] = max(error_read(agreement), agreement.error_out or 0.0)
        judged.append(judgement)
    return judged


def _drew_numbers(judgement: Judgement) -> bool:
    """Whether a forward call gave other numbers because it drew others. With a replay, which takes the mask from the
    record, its arithmetic is judged apart; without one what it draws cannot be told from what it computes."""
    operator, outcome = judgement.agreement.pair.target, judgement.outcome
    if operator.direction != FORWARD or not draws_numbers(operator):
        return False
    if judgement.own is None and outcome == DIVERGES:
        return True
    return outcome in (EXPLAINED, ALLOWED)[: 2 if judgement.own else 1] and other_numbers(judgement.agreement)


def _inherited_error(agreement: Agreement, saved: float) -> float:
    """The error an operator begins with: of its inputs and, in backward, of what its forward saved."""
    kinked = agreement.pair.target.api in tolerance.KINKED and math.isfinite(saved)
    return max(error_read(agreement), math.sqrt(saved) if kinked else saved)


def first_parting(judged: Iterable[Judgement]) -> Judgement | None:
    """The first operator that parts the runs, or None."""
    return next((judgement for judgement in judged if judgement.outcome in PARTING), None)


def _judge_operator(
    agreement: Agreement,
    replay: Replay | None,
    numerics: dict[str, str],
    inherited: float,
    possible: bool,
    summed: Sequence[TensorRecord],
) -> Judgement:
    rounding = tolerance.rounding_floor(agreement.dtypes)
    form = tolerance.reduced_format(agreement.pair.target.api, numerics)
    handed = replay.wrongly_handed(rounding) if replay is not None else None
    if replay is not None and handed is not None:
        side = "target" if handed.target >= handed.baseline else "baseline"
        makers = (agreement.pair.target.name, *replay.others)
        return Judgement(agreement, DIVERGES, handed.widest_limit(rounding), form, handed, side, makers)
    error, structural = agreement.error_out, _structural_outcome(agreement)
    if structural or error is None:
        return Judgement(agreement, structural or NOT_COMPARED, 0.0)
    if replay is not None:
        replay = _allow_cancelled(agreement, replay, rounding, summed)
    own = replay.worst_output(rounding) if replay is not None and replay.is_conclusive(rounding) else None
    if error <= rounding:
        return Judgement(agreement, AGREES, rounding, own=own)
    if own is None:
        return _judge_by_amplification(agreement, max(inherited, rounding), rounding, form, possible, summed)
    limit, wide = own.explained_limit(rounding), own.widest_limit(rounding)
    if own.worst <= limit:
        return Judgement(agreement, EXPLAINED, limit, own=own)
    if own.worst <= wide:
        return Judgement(agreement, ALLOWED, wide, form, own)
    return Judgement(agreement, DIVERGES, wide, form, own, "target" if own.target >= own.baseline else "baseline")


def _allow_cancelled(agreement: Agreement, replay: Replay, rounding: float, summed: Sequence[TensorRecord]) -> Replay:
    """Let a sum of a backward's incoming gradients be off by what rounding its terms may make of it: of one that
    cancels to nothing the replay, which shakes its inputs once, may happen to make less."""
    records = [record for record in agreement.pair.baseline.outputs if record.is_floating]
    slots = {slot.slot: slot for slot in agreement.outputs}
    if agreement.pair.baseline.direction != BACKWARD or len(records) != len(replay.outputs):
        return replay
    outputs = []
    for record, own in zip(records, replay.outputs):
        if len(record.shape) == 1 and record.slot in slots and math.isfinite(own.baseline):
            # the truth is smaller than what the baseline recorded by no more than that is off
            relief = cancellation_factor(agreement, slots[record.slot], summed) * (1 + own.baseline)
            own = replace(own, rounding=max(own.rounding, rounding * relief))
        outputs.append(own)
    return replace(replay, outputs=tuple(outputs))


def _structural_outcome(agreement: Agreement) -> str:
    """`structure` where a forward output differs in shape; a backward entry shows the last autograd node only,
    which may be another one on another device, so that another shape there is not comparable, not wrong. The slots
    that both sides of a backward have are judged, whatever one side lacks, unless they are of another dtype too: a cast
    on one side, the operator's own node on the other."""
    problems = {slot.problem for slot in agreement.outputs}
    if agreement.pair.target.direction == FORWARD and problems & {SHAPE, ONLY_TARGET, ONLY_BASELINE}:
        return STRUCTURE
    other_node = tensor_agreement.DTYPE in problems and problems & {ONLY_TARGET, ONLY_BASELINE}
    uncompared = {SHAPE, tensor_agreement.UNREADABLE, tensor_agreement.CHECKSUM}
    return NOT_COMPARED if other_node or problems & uncompared else ""


def _judge_by_amplification(
    agreement: Agreement, inherited: float, rounding: float, form: str, possible: bool, summed: Sequence[TensorRecord]
) -> Judgement:
    """Every output may have ten times the inherited error, more where it is a sum that nearly cancels; no more than the
    errors of its inputs make of it, where that is known."""
    outcome, allowed, because = AGREES, rounding, ""
    values = _values_compared(agreement)
    # and those of the whole may hide what a part is off by
    operator = agreement.pair.target
    extremes = not values and (operator.direction != FORWARD or selects_a_part(operator.api))
    # statistics compare extremes, which move more than a norm does
    times = tolerance.AMPLIFICATION_OF_STATISTICS if extremes else tolerance.AMPLIFICATION
    for slot in agreement.outputs:
        if slot.error is None or slot.error <= rounding:
            continue
        relief = cancellation_factor(agreement, slot, summed)
        # where whole tensors were compared, twice the output's own size is what even another output would be off by
        bounded = values and math.isfinite(inherited)
        limit = (min(times * inherited, tolerance.UNRELATED) if bounded else times * inherited) * relief
        carried = find_carried(agreement, slot.slot) if bounded else None
        if carried is not None:
            limit = min(limit, carried.allowed + times * rounding)
        wide = max(limit, tolerance.reduced_floor(form) * relief)
        kind = EXPLAINED if slot.error <= limit else ALLOWED if slot.error <= wide else DIVERGES
        untold = max(wide, tolerance.reduced_floor(formats.COARSEST) * relief)
        if possible and kind == DIVERGES and slot.error <= untold:
            kind, wide = POSSIBLE, untold
        if SEVERITY.index(kind) > SEVERITY.index(outcome):
            outcome, allowed = kind, limit if kind == EXPLAINED else wide
            because = carried.slot if carried is not None else ""
    return Judgement(agreement, outcome, allowed, form, because=because)


def _values_compared(agreement: Agreement) -> bool:
    """Whether values were compared, and not statistics alone."""
    return all(t.file for side in (agreement.pair.target, agreement.pair.baseline) for t in side.outputs)


def cancellation_factor(agreement: Agreement, slot: TensorAgreement, summed: Sequence[TensorRecord]) -> float:
    """How much a reduction in backward may lose: the size of what is `summed` (a backward's incoming gradients; of a
    module's bias those of its backward) over its result's. The gradient of a bias that a normalisation follows is zero
    but for rounding: any relative error of it is honest. At least 1."""
    operator = agreement.pair.baseline
    result = next((t for t in operator.outputs if t.slot == slot.slot), None)
    reduces = operator.direction == BACKWARD or operator.direction == PARAMETERS and len(slot.shape) == 1
    if not reduces or result is None or not result.norm:
        return 1.0
    terms, size = math.prod(result.shape), max((t.norm or 0.0 for t in summed), default=0.0)
    incoming = max((math.prod(t.shape) for t in summed), default=0)
    if terms == 0 or incoming <= terms or not math.isfinite(size / result.norm):
        return 1.0
    return max(1.0, math.sqrt(incoming / terms) * size / result.norm)


def _unseen_maker(judgement: Judgement, reached: float, gradients: bool) -> bool:
    """An input error far above all errors so far: its maker was not recorded, or the runs began differently. Of
    `gradients` only what is not finite."""
    agreement = judgement.agreement
    if judgement.outcome == STRUCTURE:
        return False
    if any(slot.problem == tensor_agreement.NONFINITE for slot in agreement.inputs) and math.isfinite(reached):
        return True
    if gradients:
        return False
    return agreement.error_in > UNSEEN * max(reached, tolerance.rounding_floor(effective_dtypes(agreement)))


def find_makers(judged: Sequence[Judgement], at: Judgement) -> list[str]:
    """For a backward operator whose incoming gradient is off: the operators whose backward made it, that is those
    which took its forward output as input (found by equal statistics in the baseline). One whose own entry shows
    a gradient of that shape in good order is left out; msprobe records an API's last autograd node only."""
    operator = at.agreement.pair.baseline
    by_name = {judgement.agreement.pair.baseline.name: judgement for judgement in judged}
    forward = by_name.get(_entry_name(operator.name, FORWARD))
    if operator.direction != BACKWARD or forward is None or judged[0] is at:
        return []
    output_prints = {_fingerprint_record(record) for record in forward.agreement.pair.baseline.outputs if record.norm}
    took = [
        pair
        for pair in (judgement.agreement.pair for judgement in judged)
        if pair.baseline.order > forward.agreement.pair.order
        and pair.baseline.direction == FORWARD
        and any(_fingerprint_record(record) in output_prints for record in pair.baseline.inputs)
    ]
    shapes, doubtful = {record.shape for record in operator.inputs}, []
    for pair in took:  # a backward entry shows it where it was compared and has a gradient of one of the shapes
        back = by_name.get(_entry_name(pair.baseline.name, BACKWARD))
        compared = back is not None and back.outcome not in (NOT_COMPARED, *PARTING)
        if back is None or not compared or not any(slot.shape in shapes for slot in back.agreement.outputs):
            doubtful.append(pair)
    if took:
        return [_entry_name(pair.target.name, BACKWARD) for pair in doubtful or took]
    # views between the two hide who took it: the entry just before, if it could not be compared
    before = judged[judged.index(at) - 1]
    return [before.name] if before.outcome == NOT_COMPARED else []


def _entry_name(name: str, direction: str) -> str:
    """The same call's entry of the other direction."""
    return f"{name.rpartition('.')[0]}.{direction}"


def _fingerprint_record(record: TensorRecord) -> tuple[object, ...]:
    return record.shape, record.norm, record.maximum, record.minimum, record.mean


def effective_dtypes(agreement: Agreement) -> tuple[str, ...]:
    """The operator's floating dtypes, and the coarse ones that its inputs' numbers are of."""
    pair = agreement.pair
    baseline_inputs = {record.slot: record for record in pair.baseline.inputs}
    pairs = [(t, baseline_inputs[t.slot]) for t in pair.target.inputs if t.slot in baseline_inputs]
    return (*agreement.dtypes, *sorted({_held_dtype(records) for records in pairs} - {""}))


def _held_dtype(records: Iterable[TensorRecord]) -> str:
    extremes = [value for t in records if t.dtype == "float32" for value in (t.maximum, t.minimum)]
    values = [value for value in extremes if value is not None and math.isfinite(value)]
    if sum(math.frexp(value)[0] not in (0.0, 0.5, -0.5) for value in values) < FEWEST:
        return ""
    return next((dtype for dtype in COARSE if all(_dtype_holds(dtype, value) for value in values)), "")


def _dtype_holds(dtype: str, value: float) -> bool:
    if dtype == "bfloat16":
        return struct.pack(">f", value)[2:] == bytes(2)
    try:
        return bool(struct.unpack("e", struct.pack("e", value))[0] == value)
    except OverflowError:
        return False
