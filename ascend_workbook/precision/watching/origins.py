"""Where a step that went wrong goes wrong first, told from that step's own operators and the step before: an operator
that makes NaN of finite numbers, or whose output leaps while its inputs do not; else the batch, a weight, or what is
done with the gradients after backward."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_workbook.precision.divergence.nonfinite import NAN, kind_of_record
from ascend_workbook.precision.pairing import pair_runs
from ascend_workbook.precision.record import FORWARD, Operator, Run, TensorRecord
from ascend_workbook.precision.state.reading import Step, Tensor

#: Made by the operator; grown over several; came with data or a weight; written between backward and the update;
#: nowhere to be seen.
MADE, GROWN, DATA, WEIGHT, WRITTEN, NOWHERE = "made", "grown", "data", "weight", "written", "nowhere"
#: A tensor's size beside the step before that counts as a leap; of an input, what is still usual; of a weight.
LEAP, USUAL, MOVED = 8.0, 3.0, 1.5
#: A gradient is gone below this share of the step before.
GONE = 1e-3
#: Weights that are named.
SHOWN = 4
#: Stages of a gradient in order.
STAGES = ("backward", "unscaled", "clipped", "update")


@dataclass(frozen=True)
class Origin:
    """`operator` makes it, or is the first that reads it; `names` are weights; `between` two stages of a gradient;
    `place` a line of the script; `size` and `usual` of the first tensor that is odd."""

    kind: str
    operator: Operator | None = None
    names: tuple[str, ...] = ()
    between: tuple[str, str] | None = None
    place: str = ""
    size: float | None = None
    usual: float | None = None


def find_origin(
    key: str, names: Sequence[str], runs: Mapping[int, Run], states: Mapping[int, Step], attempt: int
) -> Origin:
    """Find where the alarm of kind `key` begins in iteration `attempt`, for the parameters `names`."""
    run, before = runs.get(attempt), runs.get(attempt - 1)
    step, step_before = states.get(attempt), states.get(attempt - 1)
    if run is not None and key in ("nonfinite", "scale"):
        origin = _find_nonfinite(run, step)
        if origin is not None:
            return origin
    if run is not None and before is not None and key in ("spike", "gone", "update"):
        origin = _find_moved_weights(step, step_before) or _find_leap(run, before, key == "gone")
        if origin is not None:
            return origin
    if step is not None:
        origin = _find_written(step, step_before, names, key)
        if origin is not None:
            return _add_odd_call(origin, run, before)
    return Origin(NOWHERE)


def _find_nonfinite(run: Run, step: Step | None) -> Origin | None:
    """The first operator that shows a NaN or an infinity; what a mask writes on purpose is none."""
    for operator in run.operators:
        came = [record for record in operator.inputs if kind_of_record(record) and not _is_mask(record)]
        written = [record for record in operator.outputs if kind_of_record(record) and not _is_mask(record)]
        if not came and written and _is_filled_on_purpose(operator, written):
            continue
        if came:
            odd = tuple(sorted(name for name, weight in _weights_of(step).items() if not weight.finite))
            return Origin(WEIGHT if odd else DATA, operator, odd)
        if written:
            return Origin(MADE, operator, size=_size_of(written[0]))
    return None


def _is_mask(record: TensorRecord) -> bool:
    """Return whether a tensor holds minus infinity beside finite numbers, as scores with a mask do."""
    return record.minimum == -math.inf and record.maximum is not None and math.isfinite(record.maximum)


def _is_filled_on_purpose(operator: Operator, records: Iterable[TensorRecord]) -> bool:
    fills = ("full", "full_like", "fill_", "new_full", "masked_fill", "masked_fill_", "tensor", "triu", "where")
    return operator.api in fills and all(kind_of_record(record) != NAN for record in records)


def _weights_of(step: Step | None) -> dict[str, Tensor]:
    return {name: weight for update in step.updates for name, weight in update.weights.items()} if step else {}


def _find_moved_weights(step: Step | None, before: Step | None) -> Origin | None:
    """Weights that the update before moved far: what they make is odd, whatever operator shows it."""
    known = _weights_of(before)
    moved = [
        (weight.norm / known[name].norm, name, weight.norm, known[name].norm)
        for name, weight in _weights_of(step).items()
        if name in known and weight.size > 1 and known[name].norm > 0 and weight.norm > MOVED * known[name].norm
    ]
    if not moved:
        return None
    ranked = sorted(moved, reverse=True)
    _, _, size, usual = ranked[0]
    return Origin(WEIGHT, None, tuple(name for _, name, _, _ in ranked[:SHOWN]), size=size, usual=usual)


def _find_leap(run: Run, before: Run, gone: bool) -> Origin | None:
    """The first operator whose output is far from that of the step before while its inputs are not.

    What an operator that the step before did not run hands to it, that operator makes."""
    limit = 1 / GONE if gone else LEAP
    others = {pair.target.name: pair.baseline for pair in pair_runs(run, before).pairs}
    makers: dict[tuple[object, ...], Operator] = {}
    for operator in _until_backward_ends(run):
        other = others.get(operator.name)
        if other is not None and not operator.is_module:
            read, written = _ratios(operator.inputs, other.inputs, gone), _ratios(operator.outputs, other.outputs, gone)
            if written and max(written)[0] >= limit:
                _, size, usual, _ = max(written)
                odd = [slot for ratio, _, _, slot in read if ratio >= USUAL]
                came = [makers.get(_fingerprint(record)) for record in operator.inputs if record.slot in odd]
                new = next((maker for maker in came if maker is not None and maker.name not in others), None)
                if new is not None:
                    return Origin(MADE, new, size=max(read)[1], usual=max(read)[2])
                kind = MADE if not came else GROWN if operator.direction != FORWARD or any(came) else DATA
                return Origin(kind, operator, size=size, usual=usual)
        makers.update({_fingerprint(record): operator for record in operator.outputs})
    return None


def _until_backward_ends(run: Run) -> Sequence[Operator]:
    """What is done with gradients behind the last backward is none of the step's operators."""
    last = max((operator.order for operator in run.operators if operator.direction != FORWARD), default=None)
    return run.operators if last is None else [operator for operator in run.operators if operator.order <= last]


def _fingerprint(record: TensorRecord) -> tuple[object, ...]:
    return math.prod(record.shape), record.dtype, record.maximum, record.minimum


def _add_odd_call(origin: Origin, run: Run | None, before: Run | None) -> Origin:
    """Add the line of a call behind backward that the step before did not make."""
    if run is None or before is None or origin.kind != WRITTEN:
        return origin
    others = {pair.target.name for pair in pair_runs(run, before).pairs}
    behind = run.operators[len(_until_backward_ends(run)) :]
    calls = [operator for operator in behind if operator.name not in others]
    return replace(origin, place=str(calls[0].place)) if calls and calls[0].place else origin


def _ratios(
    records: Sequence[TensorRecord], others: Sequence[TensorRecord], gone: bool
) -> list[tuple[float, float, float, str]]:
    """(how many times as large as before, or as small, its size, the size before, slot) of each floating tensor."""
    known = {record.slot: record for record in others}
    result = []
    for record in records:
        other = known.get(record.slot)
        if other is None or not record.is_floating:
            continue
        size, usual = _size_of(record), _size_of(other)
        if size is None or usual is None or not math.isfinite(size + usual) or usual == 0:
            continue
        result.append(((math.inf if size == 0 else usual / size) if gone else size / usual, size, usual, record.slot))
    return result


def _size_of(record: TensorRecord) -> float | None:
    """The root mean square where the norm is known, so that a smaller batch counts the same; else the largest."""
    if record.norm is not None and record.shape:
        return record.norm / math.sqrt(max(1, math.prod(record.shape)))
    extremes = [abs(value) for value in (record.maximum, record.minimum) if value is not None]
    return max(extremes) if extremes else record.norm


def _find_written(step: Step, before: Step | None, names: Sequence[str], key: str) -> Origin | None:
    """The two stages between which a gradient becomes odd: after backward, unscaled, clipped, read by the update."""
    stages = _list_stages(step)
    usual = _list_stages(before) if before is not None else []
    for name in names:
        last = ""
        for stage, gradients, place in stages:
            if name not in gradients and not (key == "gone" and last):
                continue
            reference = next((known[name].norm for kind, known, _ in usual if kind == stage and name in known), None)
            size = gradients[name].norm if name in gradients else 0.0
            if not _is_odd(size, reference, key):
                last = stage
                continue
            if not last:
                break
            return Origin(WRITTEN, None, (name,), (last, stage), place, size, reference)
    return None


def _list_stages(step: Step) -> list[tuple[str, Mapping[str, Tensor], str]]:
    stages: list[tuple[str, Mapping[str, Tensor], str]] = [(STAGES[0], step.gradients, "")]
    if step.unscaled:
        stages.append((STAGES[1], step.unscaled, ""))
    stages += [(STAGES[2], clip.before, clip.place) for clip in step.clips]
    read = {name: gradient for update in step.updates for name, gradient in update.gradients.items()}
    return [*stages, (STAGES[3], read, step.updates[0].place if step.updates else "")]


def _is_odd(size: float, usual: float | None, key: str) -> bool:
    if key in ("nonfinite", "scale"):
        return not math.isfinite(size)
    if usual is None or usual <= 0 or not math.isfinite(usual):
        return False
    return size < GONE * usual if key == "gone" else size > LEAP * usual
