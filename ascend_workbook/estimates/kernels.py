"""How long CANN kernels would take, by a few numbers a family:
`launch + max(work / cubes, elements / vector cores, bytes / bandwidth)`.

No single shape is looked up: what is said, is said by the same formula for every size, and always as a range."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ascend_workbook.estimates.basis import Basis, FamilyTimes
from ascend_workbook.estimates.chips import Chip
from ascend_workbook.estimates.loads import Kernel, Load, Product, measure_kernel
from ascend_workbook.estimates.ranges import ZERO, Range, add_ranges

__all__ = ["Kernel", "Total", "estimate_kernel", "estimate_kernels", "predict_microseconds"]

MICRO = 1e6
#: Output tiles that a core makes at once, and which part of a cube's speed tiles of that size reach
TILES = ((128, 256, 1.0), (256, 128, 1.0), (128, 128, 0.85))
#: So deep are the panels that a core reads at once
PANEL = 256
#: What lies in the cache is faster by `cache_gain`; from this part of its size on the gain fades.
CACHE_PART = 0.45
#: So many caches full are shared by cores that read the same panels one after the other.
CACHES = 2.0


@dataclass(frozen=True)
class Total:
    """The time of kernels one after another, in microseconds, and of each family's."""

    range: Range
    by_family: Mapping[str, Range]


def estimate_kernel(kernel: Kernel, chip: Chip, basis: Basis) -> Range:
    """Return how long the kernel would take on the chip, in microseconds."""
    load = measure_kernel(kernel)
    times = basis.times_of(load.family)
    return Range.around(predict_microseconds(load, chip, times), math.hypot(times.family_spread, times.kernel_spread))


def estimate_kernels(kernels: Iterable[Kernel], chip: Chip, basis: Basis) -> Total:
    """Return how long the kernels would take one after another. Errors of one family go together, those of several in
    part."""
    counts: dict[Kernel, int] = {}
    for kernel in kernels:
        counts[kernel] = counts.get(kernel, 0) + 1
    middles: dict[str, list[float]] = {}
    for kernel, count in counts.items():
        load = measure_kernel(kernel)
        middles.setdefault(load.family, []).append(
            count * predict_microseconds(load, chip, basis.times_of(load.family))
        )
    by_family = {
        family: Range.around(math.fsum(values), _spread_of_sum(values, basis.times_of(family)))
        for family, values in sorted(middles.items())
    }
    return Total(add_ranges(by_family.values(), basis.together) if by_family else ZERO, by_family)


def _spread_of_sum(values: list[float], times: FamilyTimes) -> float:
    """Return the spread of a family's sum: what errs in the whole family stays, errors of single shapes cancel."""
    total = math.fsum(values)
    if not total:
        return times.family_spread
    shares = math.fsum((value / total) ** 2 for value in values)
    return math.hypot(times.family_spread, math.sqrt(shares) * times.kernel_spread)


def predict_microseconds(load: Load, chip: Chip, times: FamilyTimes) -> float:
    """Return the likeliest time. It grows with bytes and with work, never falls."""
    moved = load.bytes + _read_again(load, chip)
    fits = 1.0 / (1.0 + (load.bytes / (CACHE_PART * chip.cache_bytes)) ** 3)
    bandwidth = chip.bandwidth_bytes_s * times.memory * (1.0 + (times.cache_gain - 1.0) * fits)
    seconds = moved / bandwidth
    if times.cycles:
        seconds = max(seconds, load.elements * times.cycles / (chip.vector_cores * chip.clock_ghz * 1e9))
    if load.operations:
        part = times.cube * (times.turned if load.product and load.product.turned else 1.0)
        seconds = max(seconds, load.operations / (peak_operations(load, chip) * part * _tile_use(load.product, chip)))
    if load.product:
        seconds += _first_and_last(load.product, load.item_bytes) / (bandwidth / chip.cube_cores)
    if load.spilled:
        seconds += load.spilled / (chip.bandwidth_bytes_s * times.memory * times.cache_gain)
    return times.launch_us + seconds * MICRO


def _first_and_last(product: Product, item: float) -> float:
    """Return the bytes that a core moves while its cube waits: the first panels of its first tile, its last tile."""
    rows, columns = min(product.rows, TILES[0][0]), min(product.columns, TILES[0][1])
    return ((rows + columns) * min(product.depth, PANEL) + rows * columns) * item


def peak_operations(load: Load, chip: Chip) -> float:
    """Return the cubes' operations a second: in float32 a quarter of that in 16 bits, in 8 bits twice."""
    if load.bfloat16 and load.family != "attention":  # there the vector units' softmax sets the pace
        return chip.cube_flops * chip.bfloat16_part
    return chip.cube_flops * (0.25 if load.item_bytes >= 4 else 1.0 if load.item_bytes >= 2 else 2.0)


def _tile_use(product: Product | None, chip: Chip) -> float:
    """Return which part of the cubes is at work, for whole tiles over whole rounds of all cores."""
    if product is None:
        return 1.0
    best = 0.0
    for rows, columns, speed in TILES:
        down, across = math.ceil(product.rows / rows), math.ceil(product.columns / columns)
        tiles = product.batch * down * across
        rounds = math.ceil(tiles / chip.cube_cores) * chip.cube_cores
        filled = (product.rows / (down * rows)) * (product.columns / (across * columns))
        best = max(best, speed * filled * tiles / rounds)
    return best


def _read_again(load: Load, chip: Chip) -> float:
    """Return the bytes of a product's operands that the memory gives anew to each tile: what the cores read at once
    is far more than the cache holds where the products are very deep."""
    product = load.product
    if product is None:
        return 0.0
    rows, columns, _ = TILES[0]
    at_once = chip.cube_cores * (rows + columns) * product.depth * load.item_bytes
    missed = 1.0 - 1.0 / (1.0 + (at_once / (CACHES * chip.cache_bytes)) ** 3)
    tiles = product.batch * math.ceil(product.rows / rows) * math.ceil(product.columns / columns)
    return missed * tiles * (rows + columns) * product.depth * load.item_bytes
