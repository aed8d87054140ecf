"""Numbers of families from measured kernels: the fit, and how far it is off on what it never saw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from ascend_workbook.estimates.basis import Basis, FamilyTimes
from ascend_workbook.estimates.chips import Chip
from ascend_workbook.estimates.kernels import predict_microseconds
from ascend_workbook.estimates.loads import CUBE_FAMILIES, ELEMENTWISE, PARENTS, Kernel, Load, measure_kernel
from ascend_workbook.estimates.ranges import EIGHTY

GRIDS: dict[str, tuple[float, ...]] = {
    "launch_us": (1.0, 1.3, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 17.0),
    "cycles": (0.0, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0),
    "cube": (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.1),
    "turned": (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0),
    "cache_gain": (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0),
    "memory": (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0),
}
ROUNDS = 4
#: What a number has to win before it leaves that of the family it descends from: error, per unit of its logarithm. All
#: families stream over one memory.
RELUCTANCE = {"launch_us": 0.01, "memory": 0.1, "cache_gain": 0.01, "cycles": 0.01, "cube": 0.01, "turned": 0.01}
#: A workload of so many shapes counts half
FEW = 10.0
#: A spread of few is drawn towards that of all as by so many workloads
DRAWN = 2.0
#: No spread is told smaller: clocks and other work on the card alone differ by as much.
LEAST_SPREAD = 0.05
#: Nor are errors of families told to go together less than this: a clock slows them all.
LEAST_TOGETHER = 0.1
#: A range of more than one to thirteen tells nothing that a wider one would not.
LARGEST_SPREAD = 1.0
#: The spread where nothing was left out to measure it on
UNKNOWN = 0.5

#: What public descriptions of the chips let one expect of any family, before a kernel was measured
START = FamilyTimes(2.0, 0.75, 2.0, 0.0, 0.7, UNKNOWN, UNKNOWN)


@dataclass(frozen=True)
class Measured:
    """A kernel of one shape as a workload has it: the median of its times, in microseconds, and how many there were."""

    kernel: Kernel
    chip: Chip
    microseconds: float
    count: int = 1

    @property
    def total(self) -> float:
        return self.microseconds * self.count


#: Families whose kernels move all the bytes of their operands, each once
STREAMS = (ELEMENTWISE, "fill", "optimizer")
#: No stream far larger than the cache is faster than the memory by so much.
IMPOSSIBLE = 1.5
FAR_LARGER = 4.0


def is_possible(load: Load, chip: Chip, microseconds: float) -> bool:
    """Return whether the chip can be as fast as that. Shared profiles have rows whose shapes were changed."""
    if load.family not in STREAMS or load.bytes < FAR_LARGER * chip.cache_bytes:
        return True
    return load.bytes / chip.bandwidth_bytes_s * 1e6 < IMPOSSIBLE * microseconds


def group_kernels(timed: Iterable[tuple[Kernel, float]], chip: Chip) -> list[Measured]:
    """Return the kernels of one workload, each shape once, without those that cannot be."""
    times: dict[Kernel, list[float]] = {}
    for kernel, microseconds in timed:
        if is_possible(measure_kernel(kernel), chip, microseconds):
            times.setdefault(kernel, []).append(microseconds)
    return [Measured(kernel, chip, median(values), len(values)) for kernel, values in times.items()]


@dataclass(frozen=True)
class _Case:
    load: Load
    chip: Chip
    microseconds: float
    weight: float


def fit_families(workloads: Mapping[str, Sequence[Measured]]) -> dict[str, FamilyTimes]:
    """Return the numbers that fit the workloads best, each workload counting alike; spreads are not yet known."""
    cases: dict[str, list[_Case]] = {}
    seen: dict[str, set[str]] = {}
    for name, kernels in workloads.items():
        whole = math.fsum(math.sqrt(kernel.total) for kernel in kernels) * (1.0 + FEW / len(kernels))
        for kernel in kernels:
            load = measure_kernel(kernel.kernel)
            weight = math.sqrt(kernel.total) / whole
            cases.setdefault(load.family, []).append(_Case(load, kernel.chip, kernel.microseconds, weight))
            seen.setdefault(load.family, set()).add(name)
    fitted: dict[str, FamilyTimes] = {}
    for family in sorted(cases, key=_depth):
        start = _start_of(family, fitted)
        times = _fit(cases[family], start, family in CUBE_FAMILIES)
        fitted[family] = replace(times, shapes=len(cases[family]), workloads=len(seen[family]))
    fitted.setdefault(ELEMENTWISE, START)
    return fitted


def _depth(family: str) -> tuple[int, str]:
    """Return how many families it descends from: those come first."""
    depth, at = 0, family
    while at in PARENTS:
        depth, at = depth + 1, PARENTS[at]
    return (0 if family == ELEMENTWISE else depth + 1), family


def _start_of(family: str, fitted: Mapping[str, FamilyTimes]) -> FamilyTimes:
    at = family
    while at in PARENTS:
        at = PARENTS[at]
        if at in fitted:
            return fitted[at]
    return fitted.get(ELEMENTWISE, START)


def _fit(cases: Sequence[_Case], start: FamilyTimes, cube: bool) -> FamilyTimes:
    """Return the numbers with the least mean error, one number at a time."""
    whole = math.fsum(case.weight for case in cases)
    left = ("cycles",) if cube else ("cube", "turned")
    numbers = [name for name in GRIDS if name not in left]

    def loss(times: FamilyTimes) -> float:
        wrong = math.fsum(
            case.weight * abs(math.log(case.microseconds / predict_microseconds(case.load, case.chip, times)))
            for case in cases
        )
        moved = math.fsum(
            RELUCTANCE[name] * abs(math.log((getattr(times, name) + 0.05) / (getattr(start, name) + 0.05)))
            for name in numbers
        )
        return wrong / whole + moved

    best, least = start, loss(start)
    for _ in range(ROUNDS):
        before = least
        for name in numbers:
            for value in GRIDS[name]:
                tried = _with_number(best, name, value)
                error = loss(tried)
                if error < least:
                    best, least = tried, error
        if least == before:
            break
    return best


def _with_number(times: FamilyTimes, name: str, value: float) -> FamilyTimes:
    numbers: dict[str, Any] = {name: value}
    return replace(times, **numbers)


@dataclass(frozen=True)
class LeftOut:
    """How far a family of a workload was off that the fit had not seen: `family_error`, the logarithm of measured over
    said for the sum, `kernel_errors` for each shape beside that, `shares` the sum of the squares of what each shape
    takes of the sum; `weight` grows with what the family takes of the workload; `known`: others had the family."""

    workload: str
    family: str
    family_error: float
    kernel_errors: tuple[float, ...]
    shares: float
    weight: float
    known: bool


def leave_out(workloads: Mapping[str, Sequence[Measured]]) -> list[LeftOut]:
    """Return the errors of each workload with numbers that were fitted on the others alone."""
    errors: list[LeftOut] = []
    for name, kernels in workloads.items():
        others = fit_families({other: cases for other, cases in workloads.items() if other != name})
        errors += measure_errors(name, kernels, others)
    return errors


def measure_errors(name: str, kernels: Sequence[Measured], fitted: Mapping[str, FamilyTimes]) -> Iterator[LeftOut]:
    """Yield how far each family of a workload is off with numbers that were fitted on others."""
    basis = Basis("", "", fitted, 0.0, 0.0)
    whole = math.fsum(case.total for case in kernels)
    families: dict[str, list[tuple[Measured, float]]] = {}
    for case in kernels:
        load = measure_kernel(case.kernel)
        predicted = predict_microseconds(load, case.chip, basis.times_of(load.family))
        families.setdefault(load.family, []).append((case, predicted))
    for family, cases in families.items():
        real = math.fsum(case.total for case, _ in cases)
        together = math.log(real / math.fsum(predicted * case.count for case, predicted in cases))
        single = tuple(math.log(case.microseconds / predicted) - together for case, predicted in cases)
        shares = math.fsum((case.total / real) ** 2 for case, _ in cases)
        known = family in fitted and fitted[family].workloads > 0
        yield LeftOut(name, family, together, single, shares, math.sqrt(real / whole), known)


def make_basis(
    workloads: Mapping[str, Sequence[Measured]],
    name: str,
    date: str,
    held: Mapping[str, Sequence[Measured]] | None = None,
) -> Basis:
    """Return the basis fitted on all workloads, with the spreads that it had on those left out, and on the ones that
    were `held` back from the fit altogether."""
    fitted = fit_families(workloads)
    if len(workloads) < 2:
        return Basis(name, date, fitted, UNKNOWN, UNKNOWN, tuple(workloads))
    errors = leave_out(workloads)
    for other, kernels in (held or {}).items():
        errors += measure_errors(other, kernels, fitted)
    known = [error for error in errors if error.known]
    unknown = [error for error in errors if not error.known]
    single = _spread_of([value for error in known for value in error.kernel_errors if error.shares < 1.0])
    every = _spread_of_families(known)
    unseen = min(LARGEST_SPREAD, max(every, _spread_of_families(unknown)))
    families = {}
    for family, times in fitted.items():
        own = [error for error in errors if error.family == family and error.known]
        values = [value for error in own for value in error.kernel_errors if error.shares < 1.0]
        many = min(1.0, len(values) / 8)
        mixed = many * _spread_of(values) + (1 - many) * single if values else single
        pulled = (len(own) * _family_spread(own, mixed) ** 2 + DRAWN * every**2) / (len(own) + DRAWN)
        families[family] = replace(
            times,
            family_spread=max(LEAST_SPREAD, math.sqrt(pulled) if own else unseen),
            kernel_spread=max(LEAST_SPREAD, mixed),
        )
    return Basis(name, date, families, unseen, _measure_together(errors), tuple(workloads))


def _family_spread(errors: Sequence[LeftOut], single: float) -> float:
    """Return what families err as a whole, beyond what the errors of their few shapes make of a sum."""
    if not errors:
        return UNKNOWN
    beyond = [error.weight * max(0.0, error.family_error**2 - error.shares * single**2) for error in errors]
    return math.sqrt(math.fsum(beyond) / math.fsum(error.weight for error in errors))


def _spread_of_families(errors: Sequence[LeftOut]) -> float:
    """Return the spread whose 80 % interval holds 80 % of the families' errors, each with its weight."""
    reached, whole = 0.0, math.fsum(error.weight for error in errors)
    for error in sorted(errors, key=lambda error: abs(error.family_error)):
        reached += error.weight
        if reached >= 0.8 * whole:
            return abs(error.family_error) / EIGHTY
    return UNKNOWN


def _measure_together(errors: Sequence[LeftOut]) -> float:
    """Return how far the errors of two families of one workload went together: 1, all too high or all too low."""
    agreed, most = [], []
    for workload in {error.workload for error in errors}:
        wrong = [error.weight**2 * error.family_error for error in errors if error.workload == workload]
        alone = math.fsum(value * value for value in wrong)
        agreed.append(math.fsum(wrong) ** 2 - alone)
        most.append(math.fsum(map(abs, wrong)) ** 2 - alone)
    return min(1.0, max(LEAST_TOGETHER, math.fsum(agreed) / (math.fsum(most) or 1.0)))


def _spread_of(values: Sequence[float]) -> float:
    """Return the spread whose 80 % interval holds 80 % of the values."""
    if not values:
        return UNKNOWN
    ordered = sorted(map(abs, values))
    return ordered[min(len(ordered) - 1, math.ceil(0.8 * len(ordered)) - 1)] / EIGHTY


#: Into so many parts the kernels of one workload are divided; each is estimated from the others.
PARTS = 5


def refit_family(kernels: Sequence[Measured], start: FamilyTimes) -> FamilyTimes:
    """Return the numbers of one family fitted on kernels of one workload, beginning at those it had. The spreads are
    those of the kernels that a fit on the others had not seen; no other workload was seen, so a family is still told
    to err as much as before where it errs less here."""
    cases = [
        _Case(measure_kernel(case.kernel), case.chip, case.microseconds, math.sqrt(case.total)) for case in kernels
    ]
    order = sorted(range(len(cases)), key=lambda at: (cases[at].load.bytes, cases[at].microseconds))
    cube = cases[0].load.family in CUBE_FAMILIES
    single, together = [], []
    for part in range(PARTS):
        left = [kernels[at] for at in order[part::PARTS]]
        others = [cases[at] for place, at in enumerate(order) if place % PARTS != part]
        if left and others:
            times = _fit(others, start, cube)
            predicted = [predict_microseconds(measure_kernel(case.kernel), case.chip, times) for case in left]
            real = math.fsum(case.total for case in left)
            together.append(math.log(real / math.fsum(value * case.count for value, case in zip(predicted, left))))
            single += [math.log(case.microseconds / value) for value, case in zip(predicted, left)]
    spread = math.sqrt(math.fsum(error * error for error in together) / len(together))
    return replace(
        _fit(cases, start, cube),
        kernel_spread=max(LEAST_SPREAD, _spread_of(single)),
        family_spread=max(LEAST_SPREAD, spread),
        shapes=len(kernels),
        workloads=1,
    )
