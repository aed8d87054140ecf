"""What was not measured is told as a range: of ten such, eight hold what is measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

#: How far the errors of two terms go together where nobody measured it: 1 = both too high or both too low, 0 = apart.
TOGETHER = 0.5
#: An 80 % interval of a normal distribution reaches so many standard deviations to either side.
EIGHTY = 1.2816


@dataclass(frozen=True)
class Range:
    """A figure that was not measured: `low` to `high` is an 80 % interval, `middle` the likeliest."""

    low: float
    middle: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.middle <= self.high:
            raise ValueError(f"a range runs from low to high, not {self.low}, {self.middle}, {self.high}")

    @classmethod
    def around(cls, middle: float, spread: float) -> Range:
        """Return the range whose logarithm has this standard deviation: middle ÷ and × the same factor."""
        factor = math.exp(EIGHTY * spread)
        return cls(middle / factor, middle, middle * factor)

    @classmethod
    def exactly(cls, value: float) -> Range:
        """Return the range of what is known."""
        return cls(value, value, value)

    def times(self, factor: float) -> Range:
        """Return the range of so many times this: what errs, errs each time alike."""
        if factor < 0:
            raise ValueError(f"a range is scaled by a factor of at least 0, not {factor}")
        return Range(self.low * factor, self.middle * factor, self.high * factor)

    def plus(self, other: Range) -> Range:
        """Return the sum of two that err as one: the ends add up."""
        return Range(self.low + other.low, self.middle + other.middle, self.high + other.high)


ZERO = Range(0.0, 0.0, 0.0)


def add_ranges(ranges: Iterable[Range], together: float = TOGETHER) -> Range:
    """Return the sum of ranges whose errors go `together` (0 to 1). 1 adds up the ends; 0 lets errors cancel, as those
    of independent measurements do."""
    terms = list(ranges)
    middle = math.fsum(term.middle for term in terms)
    below = _combine([term.middle - term.low for term in terms], together)
    above = _combine([term.high - term.middle for term in terms], together)
    return Range(middle - below, middle, middle + above)


def _combine(deviations: list[float], together: float = TOGETHER) -> float:
    alone = math.fsum(deviation * deviation for deviation in deviations)
    return math.sqrt((1 - together) * alone + together * math.fsum(deviations) ** 2)
