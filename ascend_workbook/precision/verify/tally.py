"""Many inputs added up, one at a time: what every module came to, and how many inputs passed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ascend_workbook.precision.verify.layers import NEARER, NOTHING, UNCOMPARED, Layer

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
        """Return the first module in execution that did not pass on every input: what comes after may have
        inherited.
        """
        return next(
            (row for row in sorted(self.compared_rows, key=lambda row: row.layer.order) if row.passed < row.seen), None
        )


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
