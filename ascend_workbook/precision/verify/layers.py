"""One input on both sides: each module's outputs held against the other side's, structure first, numbers after.

A module may be off by what its dtype's rounding explains, and by what it was handed: AMPLIFICATION times the error of
its inputs, and of the modules inside it. All limits come from tolerance.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.tensors.metrics import Metrics, measure_arrays
from ascend_workbook.precision.verify.sides import Call, Taken, Tensor

#: Of a 95 % interval.
Z = 1.959963984540054
#: Inputs that failed are kept by number up to so many; all of them are counted.
KEPT = 100


@dataclass
class Row:
    """One module's call over all inputs; `worst` is the input of the largest ratio of error and allowed, whose numbers
    the row shows. `passed` of `seen` inputs; where it was not compared none passed, and where it gave nothing on both
    sides it was not seen. `nans` is the most places at which both sides held NaN."""

    layer: Layer
    worst: int
    seen: int = 0
    passed: int = 0
    max_absolute: float | None = None
    cosine: float | None = None
    ulp: float | None = None
    nans: int = 0
    sides: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def is_uncompared(self) -> bool:
        return self.layer.problem in UNCOMPARED

    def add_layer(self, index: int, layer: Layer) -> None:
        self.seen += layer.problem != NOTHING
        self.nans = max(self.nans, layer.nans)
        self.passed += layer.has_passed
        if layer.ratio > self.layer.ratio:
            self.layer, self.worst = layer, index
        self.max_absolute = _larger_known(self.max_absolute, layer.max_absolute)
        self.ulp = _larger_known(self.ulp, layer.ulp)
        if layer.cosine is not None:
            self.cosine = layer.cosine if self.cosine is None else min(self.cosine, layer.cosine)
        if layer.truth and not layer.has_passed:
            for side, (own, other) in enumerate((layer.truth, layer.truth[::-1])):
                self.sides[side] += own > NEARER * other


@dataclass
class Tally:
    """`failed` holds the first inputs that did not pass; `errors` those whose model raised: (input, side, module,
    error); `other` those that were not the same on both sides, `blind` those on which neither model gave anything that
    could be compared."""

    rows: dict[tuple[str, int], Row] = field(default_factory=dict)
    inputs: int = 0
    passed: int = 0
    failed: list[int] = field(default_factory=list)
    errors: list[tuple[int, str, str, str]] = field(default_factory=list)
    other: list[int] = field(default_factory=list)
    blind: list[int] = field(default_factory=list)
    drew: list[int] = field(default_factory=list)
    casts: set[tuple[str, str]] = field(default_factory=set)
    reference: int = 0
    no_reference: str = ""

    def add_input(self, index: int, layers: list[Layer], sound: bool) -> None:
        """Add one input; `sound` is false where a model raised or the inputs were not the same. It passes where all
        that was compared does, the models' own outputs among it."""
        self.inputs += 1
        compared = [layer for layer in layers if layer.problem not in UNCOMPARED]
        own = any(not layer.call.path for layer in compared)
        passed = sound and own and all(layer.has_passed for layer in compared)
        if any(layer.problem == NOTHING and not layer.call.path for layer in layers):
            self.blind.append(index)
        self.passed += passed
        if not passed and len(self.failed) < KEPT:
            self.failed.append(index)
        for layer in layers:
            self.rows.setdefault(layer.call.key, Row(layer, index)).add_layer(index, layer)

    @property
    def compared_rows(self) -> list[Row]:
        return [row for row in self.rows.values() if not row.is_uncompared]

    @property
    def worst(self) -> Row | None:
        """Return the module whose error exceeds what is allowed by most; of those whose structure differs the first."""
        return max(self.compared_rows, key=lambda row: row.layer.ratio, default=None)

    @property
    def first(self) -> Row | None:
        """Return the first module in execution that did not always pass: what comes after may have inherited."""
        failed = (row for row in self.compared_rows if row.passed < row.seen)
        return min(failed, key=lambda row: row.layer.order, default=None)


def wilson_interval(passed: int, inputs: int) -> tuple[float, float]:
    """Return the 95 % interval of a pass rate by Wilson's score (https://doi.org/10.1080/01621459.1927.10502953): it
    stays inside [0, 1] and does not shrink to a point where all or none pass. Without inputs nothing is known: (0, 1).
    """
    if not inputs:
        return 0.0, 1.0
    share, square = passed / inputs, Z * Z
    middle = (share + square / (2 * inputs)) / (1 + square / inputs)
    half = Z / (1 + square / inputs) * math.sqrt(share * (1 - share) / inputs + square / (4 * inputs * inputs))
    return max(0.0, middle - half), min(1.0, middle + half)


def _larger_known(old: float | None, new: float | None) -> float | None:
    return new if old is None else old if new is None else max(old, new)


# ruff: noqa: SIM905 - a column of names reads better without quotes
ONLY_A, ONLY_B, SHAPE, NONFINITE, STRUCTURE, NOTHING = """
only_a only_b shape nonfinite structure nothing
""".split()
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
        """Return the error in what is allowed; above 1 it does not pass, infinite where its structure is another, below
        0 where it gives nothing to compare."""
        if self.problem == NOTHING:
            return -1.0
        return math.inf if self.error is None else _error_ratio(self.error, self.allowed)

    @property
    def has_passed(self) -> bool:
        return 0.0 <= self.ratio <= 1.0


class Comparing:
    """Both sides' calls on one input. `tolerance` is a limit of the relative L2 error for every module, or None."""

    def __init__(self, limit: float | None, formats: Mapping[str, str]) -> None:
        self.limit, self.formats = limit, dict(formats)
        self.measured: dict[tuple[int, int], Metrics] = {}

    def compare_layers(self, baseline: Taken, target: Taken, truth: Taken | None = None) -> list[Layer]:
        """Compare all calls in the target's order of execution; what only the baseline has comes last."""
        self.measured.clear()  # arrays are told apart by their id, which holds for one input
        baseline_calls = {call.key: call for call in baseline.calls}
        true = {call.key: call for call in truth.calls} if truth else {}
        layers: list[Layer] = []
        for order, call in enumerate(target.calls):
            other, inside = baseline_calls.pop(call.key, None), layers[order - call.inside : order]
            if other is None:
                layers.append(Layer(call, order, _list_dtypes(call), problem=ONLY_B))
            else:
                layers.append(self._compare_call(call, other, order, inside, true.get(call.key)))
        alone = [call for call in baseline.calls if call.key in baseline_calls]
        return layers + [Layer(c, len(layers) + n, _list_dtypes(c), problem=ONLY_A) for n, c in enumerate(alone)]

    def _compare_call(
        self, target_call: Call, baseline_call: Call, order: int, inside: list[Layer], true: Call | None
    ) -> Layer:
        dtypes = tuple(dict.fromkeys((*_list_dtypes(baseline_call), *_list_dtypes(target_call))))
        slots = [[tensor.slot for tensor in call.outputs] for call in (target_call, baseline_call)]
        if slots[0] != slots[1]:
            return Layer(target_call, order, dtypes, problem=STRUCTURE, detail=f"{slots[1]} / {slots[0]}"[:200])
        for left, right in zip(target_call.outputs, baseline_call.outputs):
            if left.shape != right.shape:
                detail = f"{left.slot} {list(right.shape)} / {list(left.shape)}"
                return Layer(target_call, order, dtypes, left.shape, problem=SHAPE, detail=detail)
        if not target_call.outputs:
            return Layer(target_call, order, dtypes, problem=NOTHING)
        inherited = self._inherited_error(target_call, baseline_call, inside)
        allowed = self._allowed_error(target_call, dtypes, inherited, order, inside)
        own = self._errors_against_truth(baseline_call, target_call, true)
        if own is not None and self.limit is None:  # a module whose data cost digits loses them on both sides
            allowed = max(allowed, NEARER * min(own))
        return self._add_numbers(Layer(target_call, order, dtypes, truth=own), baseline_call, allowed, inherited > 0)

    def _add_numbers(self, layer: Layer, baseline_call: Call, allowed: float, tips: bool) -> Layer:
        """Return the layer with the numbers of its worst output."""
        pairs = list(zip(layer.call.outputs, baseline_call.outputs))
        metrics = [self._measure_tensors(left, right) for left, right in pairs]
        judged = [_judge_output(left, metrics, allowed, tips) for (left, _), metrics in zip(pairs, metrics)]
        worst = max(range(len(pairs)), key=lambda at: _error_ratio(*judged[at]))
        error, limit = judged[worst]
        odd = metrics[worst].nonfinite_places > 0
        return replace(
            layer,
            shape=pairs[worst][0].shape,
            error=error,
            allowed=limit,
            max_absolute=max(left.max_absolute for left in metrics),
            cosine=min((left.cosine for left in metrics if left.cosine is not None), default=None),
            ulp=max((left.max_ulp for left in metrics if left.max_ulp is not None), default=None),
            problem=NONFINITE if odd else "",
            detail=describe_odd_place(*pairs[worst]) if odd else "",
            nans=sum(
                int(np.count_nonzero(np.isnan(left.values) & np.isnan(right.values)))
                for (left, right), measured in zip(pairs, metrics)
                if measured.nonfinite
            ),
        )

    def _measure_tensors(self, target: Tensor, baseline: Tensor) -> Metrics:
        key = id(target.values), id(baseline.values)
        if key not in self.measured:
            narrow = target.dtype == baseline.dtype == "bfloat16"
            metrics = measure_arrays(target.values, baseline.values, bfloat16=narrow)
            self.measured[key] = metrics if target.dtype == baseline.dtype else replace(metrics, max_ulp=None)
        return self.measured[key]

    def _inherited_error(self, mine: Call, theirs: Call, inside: list[Layer]) -> float:
        """The largest error among its inputs and the modules it called."""
        partners = {tensor.slot: tensor for tensor in theirs.inputs}
        errors = [layer.error for layer in inside if layer.error is not None]
        for tensor in mine.inputs:
            other = partners.get(tensor.slot)
            if other is not None and other.shape == tensor.shape:
                metrics = self._measure_tensors(tensor, other)
                errors.append(math.inf if metrics.nonfinite_places else metrics.relative_l2)
        return max(errors, default=0.0)

    def _allowed_error(
        self, call: Call, dtypes: tuple[str, ...], inherited: float, order: int, inside: list[Layer]
    ) -> float:
        if self.limit is not None:
            return self.limit
        several = call.inside > 0 or not call.known or any(word in call.kind for word in COMPOSITE)
        roundings = tolerance.AMPLIFICATION if several else 1.0
        own = max(roundings * tolerance.rounding_floor(dtypes), self._reduced_error(call, several))
        allowed = max(own, tolerance.AMPLIFICATION * inherited)
        if not call.path:  # the model's own answer: errors add up like a walk, not as the product of all limits
            floors = map(tolerance.reduced_floor, self._list_formats(call, inside))
            coarse = max(tolerance.rounding_floor(dtypes), *floors)
            allowed = min(allowed, tolerance.AMPLIFICATION * coarse * math.sqrt(order + 1))
        return allowed

    def _reduced_error(self, call: Call, several: bool) -> float:
        """What a reduced format in force explains; of a module of several operators any of them may use it."""
        if several and not call.inside:
            return max(map(tolerance.reduced_floor, self.formats.values()), default=0.0)
        return tolerance.reduced_floor(tolerance.reduced_format(call.kind, self.formats))

    def _list_formats(self, call: Call, inside: list[Layer]) -> list[str]:
        """List the reduced formats that its modules may use; where all are torch.nn's, those of their kinds alone."""
        calls = [call, *(layer.call for layer in inside)]
        if all(module_call.known and not any(word in module_call.kind for word in COMPOSITE) for module_call in calls):
            return [tolerance.reduced_format(module_call.kind, self.formats) for module_call in calls]
        return ["", *self.formats.values()]

    def _errors_against_truth(self, baseline: Call, target: Call, true: Call | None) -> tuple[float, float] | None:
        shapes = [t.shape for t in target.outputs]
        if true is None or not shapes or [t.shape for t in true.outputs] != shapes:
            return None
        left, right = (
            max(self._measure_tensors(output, exact).relative_l2 for output, exact in zip(side.outputs, true.outputs))
            for side in (baseline, target)
        )
        return left, right


def _error_ratio(error: float, allowed: float) -> float:
    if math.isinf(error):
        return math.inf
    return error / allowed if allowed else (math.inf if error else 0.0)


def _judge_output(tensor: Tensor, metrics: Metrics, allowed: float, tips: bool) -> tuple[float, float]:
    """(error, allowed) of one output. Of integers, such as an argmax, the error is the share that differs: rounding may
    tip one of them over, or as many as lie that near the edge. A single one only where there was rounding before it
    (`tips`): else nothing would be left that does not pass."""
    if metrics.nonfinite_places:
        return math.inf, allowed
    if tolerance.unit_roundoff(tensor.dtype):
        return metrics.relative_l2, allowed
    share = metrics.unequal / max(metrics.size, 1)
    single = 1 / max(metrics.size, 1) if tips or metrics.size > 1 else 0.0
    return share, max(tolerance.AMPLIFICATION * math.sqrt(allowed), single) if allowed else 0.0


def _list_dtypes(call: Call) -> tuple[str, ...]:
    """List the dtypes of a call's outputs and its floating inputs; the first is its first output's."""
    floating = (tensor.dtype for tensor in call.inputs if "float" in tensor.dtype)
    return tuple(dict.fromkeys((*(tensor.dtype for tensor in call.outputs), *floating)))


def describe_odd_place(target: Tensor, baseline: Tensor) -> str:
    """Describe where NaN or infinity stands on one side only: how many places, and the first one's index."""
    left, right = (np.asarray(tensor.values) for tensor in (target, baseline))
    finite = np.isfinite(left) & np.isfinite(right)
    odd = np.flatnonzero(~finite & (left != right) & ~(np.isnan(left) & np.isnan(right)))
    first = [int(at) for at in np.unravel_index(int(odd[0]), target.shape)] if target.shape else []
    return f"{len(odd)} / {left.size}: {target.slot}{first} {right[odd[0]]} / {left[odd[0]]}"
