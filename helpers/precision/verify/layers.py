"""One input on both sides: each module's outputs held against the other side's, structure first, numbers after.

A module may be off by what its dtype's rounding explains, and by what it was handed: AMPLIFICATION times the error of
its inputs, and of the modules inside it. All limits come from tolerance.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from helpers.precision.tensors import tolerance
from helpers.precision.tensors.metrics import Array, Metrics, measure
from helpers.precision.verify.taken import Call, Taken, Tensor

ONLY_A, ONLY_B, SHAPE, NONFINITE, STRUCTURE, NOTHING = (
    "only_a", "only_b", "shape", "nonfinite", "structure", "nothing")  # fmt: skip
#: Of these modules nothing was compared.
UNCOMPARED = (ONLY_A, ONLY_B, NOTHING)
#: torch.nn's modules of several operators: they may hold as many roundings as a module of the user's own.
COMPOSITE = ("RNN", "LSTM", "GRU", "MultiheadAttention", "Transformer")
#: One side is nearer to float64 than the other only where it is by more than this.
NEARER = 4.0


@dataclass(frozen=True)
class Layer:
    """One call compared. `error` is the relative L2 error of its worst output (of integers the share that differs),
    infinite where NaN or infinities stand in other places, None where nothing could be compared, and `problem` then
    says why; `allowed` what rounding and inputs explain. `truth` are both sides' own errors against float64, baseline
    first, where a reference ran; `nans` places at which both sides hold NaN."""

    call: Call
    order: int
    dtypes: tuple[str, ...]
    shape: tuple[int, ...] = ()
    error: float | None = None
    allowed: float = 0.0
    max_absolute: float | None = None
    cosine: float | None = None
    ulp: int | None = None
    problem: str = ""
    detail: str = ""
    truth: tuple[float, float] | None = None
    nans: int = 0

    @property
    def ratio(self) -> float:
        """Error in what is allowed; above 1 it does not pass, infinite where its structure is another, below 0 where
        it gives nothing to compare."""
        if self.problem == NOTHING:
            return -1.0
        return math.inf if self.error is None else _ratio(self.error, self.allowed)

    @property
    def passed(self) -> bool:
        return 0.0 <= self.ratio <= 1.0


class Comparing:
    """Both sides' calls on one input. `tolerance` is a limit of the relative L2 error for every module, or None."""

    def __init__(self, limit: float | None, formats: Mapping[str, str]) -> None:
        self.limit, self.formats = limit, dict(formats)
        self.measured: dict[tuple[int, int], Metrics] = {}

    def layers(self, baseline: Taken, target: Taken, truth: Taken | None = None) -> list[Layer]:
        """In the target's order of execution; what only the baseline has comes last."""
        self.measured.clear()  # arrays are told apart by their id, which holds for one input
        theirs = {call.key: call for call in baseline.calls}
        true = {call.key: call for call in truth.calls} if truth else {}
        found: list[Layer] = []
        for order, call in enumerate(target.calls):
            other = theirs.pop(call.key, None)
            if other is None:
                found.append(Layer(call, order, _dtypes(call), problem=ONLY_B))
            else:
                inside = found[order - call.inside : order]
                found.append(self._compare(call, other, order, inside, true.get(call.key)))
        alone = (call for call in baseline.calls if call.key in theirs)
        return found + [Layer(call, len(found) + n, _dtypes(call), problem=ONLY_A) for n, call in enumerate(alone)]

    def _compare(self, mine: Call, theirs: Call, order: int, inside: list[Layer], true: Call | None) -> Layer:
        dtypes = tuple(dict.fromkeys((*_dtypes(theirs), *_dtypes(mine))))
        slots = [[tensor.slot for tensor in call.outputs] for call in (mine, theirs)]
        if slots[0] != slots[1]:
            return Layer(mine, order, dtypes, problem=STRUCTURE, detail=f"{slots[1]} / {slots[0]}"[:200])
        for one, other in zip(mine.outputs, theirs.outputs):
            if one.shape != other.shape:
                detail = f"{one.slot} {list(other.shape)} / {list(one.shape)}"
                return Layer(mine, order, dtypes, one.shape, problem=SHAPE, detail=detail)
        if not mine.outputs:
            return Layer(mine, order, dtypes, problem=NOTHING)
        inherited = self._inherited(mine, theirs, inside)
        allowed = self._allowed(mine, dtypes, inherited, order, inside)
        own = self._truth(theirs, mine, true)
        if own is not None and self.limit is None:  # a module whose data cost digits loses them on both sides
            allowed = max(allowed, NEARER * min(own))
        return self._numbers(Layer(mine, order, dtypes, truth=own), theirs, allowed, inherited > 0)

    def _numbers(self, layer: Layer, theirs: Call, allowed: float, tips: bool) -> Layer:
        """The layer with the numbers of its worst output."""
        pairs = list(zip(layer.call.outputs, theirs.outputs))
        found = [self._metrics(one, other) for one, other in pairs]
        judged = [_judged(one, metrics, allowed, tips) for (one, _), metrics in zip(pairs, found)]
        worst = max(range(len(pairs)), key=lambda at: _ratio(*judged[at]))
        error, limit = judged[worst]
        odd = found[worst].nonfinite_places > 0
        return replace(
            layer,
            shape=pairs[worst][0].shape,
            error=error,
            allowed=limit,
            max_absolute=max(one.max_absolute for one in found),
            cosine=min((one.cosine for one in found if one.cosine is not None), default=None),
            ulp=max((one.max_ulp for one in found if one.max_ulp is not None), default=None),
            problem=NONFINITE if odd else "",
            detail=place(*pairs[worst]) if odd else "",
            nans=sum(_nans(*pair) for pair, one in zip(pairs, found) if one.nonfinite),
        )

    def _metrics(self, mine: Tensor, theirs: Tensor) -> Metrics:
        key = id(mine.values), id(theirs.values)
        if key not in self.measured:
            narrow = mine.dtype == theirs.dtype == "bfloat16"
            found = measure(mine.values, theirs.values, bfloat16=narrow)
            self.measured[key] = found if mine.dtype == theirs.dtype else replace(found, max_ulp=None)
        return self.measured[key]

    def _inherited(self, mine: Call, theirs: Call, inside: list[Layer]) -> float:
        """The largest error among its inputs and the modules it called."""
        partners = {tensor.slot: tensor for tensor in theirs.inputs}
        found = [layer.error for layer in inside if layer.error is not None]
        for tensor in mine.inputs:
            other = partners.get(tensor.slot)
            if other is not None and other.shape == tensor.shape:
                metrics = self._metrics(tensor, other)
                found.append(math.inf if metrics.nonfinite_places else metrics.relative_l2)
        return max(found, default=0.0)

    def _allowed(self, call: Call, dtypes: tuple[str, ...], inherited: float, order: int,
                 inside: list[Layer]) -> float:  # fmt: skip
        if self.limit is not None:
            return self.limit
        several = call.inside > 0 or not call.known or any(word in call.kind for word in COMPOSITE)
        roundings = tolerance.AMPLIFICATION if several else 1.0
        own = max(roundings * tolerance.floor(dtypes), self._reduced(call, several))
        allowed = max(own, tolerance.AMPLIFICATION * inherited)
        if not call.path:  # the model's own answer: errors add up like a walk, not as the product of all limits
            coarse = max(tolerance.floor(dtypes), *map(tolerance.reduced_floor, self._forms(call, inside)))
            allowed = min(allowed, tolerance.AMPLIFICATION * coarse * math.sqrt(order + 1))
        return allowed

    def _reduced(self, call: Call, several: bool) -> float:
        """What a reduced format in force explains; of a module of several operators any of them may use it."""
        if several and not call.inside:
            return max(map(tolerance.reduced_floor, self.formats.values()), default=0.0)
        return tolerance.reduced_floor(tolerance.reduced(call.kind, self.formats))

    def _forms(self, call: Call, inside: list[Layer]) -> list[str]:
        """The reduced formats that its modules may use; where all are torch.nn's, those of their kinds alone."""
        calls = [call, *(layer.call for layer in inside)]
        if all(one.known and not any(word in one.kind for word in COMPOSITE) for one in calls):
            return [tolerance.reduced(one.kind, self.formats) for one in calls]
        return ["", *self.formats.values()]

    def _truth(self, theirs: Call, mine: Call, true: Call | None) -> tuple[float, float] | None:
        if true is None or not mine.outputs or [t.shape for t in true.outputs] != [t.shape for t in mine.outputs]:
            return None
        pairs = [[self._metrics(one, exact).relative_l2 for one, exact in zip(side.outputs, true.outputs)]
                 for side in (theirs, mine)]  # fmt: skip
        return max(pairs[0]), max(pairs[1])


def _ratio(error: float, allowed: float) -> float:
    if math.isinf(error):
        return math.inf
    return error / allowed if allowed else (math.inf if error else 0.0)


def _judged(tensor: Tensor, metrics: Metrics, allowed: float, tips: bool) -> tuple[float, float]:
    """(error, allowed) of one output. Of integers, such as an argmax, the error is the share that differs: rounding may
    tip one of them over, or as many as lie that near the edge. A single one only where there was rounding before it
    (`tips`): else nothing would be left that does not pass."""
    if metrics.nonfinite_places:
        return math.inf, allowed
    if tolerance.unit(tensor.dtype):
        return metrics.relative_l2, allowed
    share = metrics.unequal / max(metrics.size, 1)
    one = 1 / max(metrics.size, 1) if tips or metrics.size > 1 else 0.0
    return share, max(tolerance.AMPLIFICATION * math.sqrt(allowed), one) if allowed else 0.0


def _dtypes(call: Call) -> tuple[str, ...]:
    """Of its outputs and its floating inputs; the first is its first output's."""
    floating = (tensor.dtype for tensor in call.inputs if "float" in tensor.dtype)
    return tuple(dict.fromkeys((*(tensor.dtype for tensor in call.outputs), *floating)))


def _nans(mine: Tensor, theirs: Tensor) -> int:
    """Places at which both hold NaN."""
    return int(np.count_nonzero(np.isnan(mine.values) & np.isnan(theirs.values)))


def place(mine: Tensor, theirs: Tensor) -> str:
    """Where NaN or infinity stands on one side only: how many places, and the first one's index."""
    left, right = (np.asarray(tensor.values) for tensor in (mine, theirs))
    finite = np.isfinite(left) & np.isfinite(right)
    odd = np.flatnonzero(~finite & ~_same(left, right))
    first = [int(at) for at in np.unravel_index(int(odd[0]), mine.shape)] if mine.shape else []
    return f"{len(odd)} / {left.size}: {mine.slot}{first} {right[odd[0]]} / {left[odd[0]]}"


def _same(left: Array, right: Array) -> Array:
    same: Array = (left == right) | (np.isnan(left) & np.isnan(right))
    return same
