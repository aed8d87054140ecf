"""The two 16-bit formats, in powers of two: what lies below the smallest number becomes 0, beyond the largest infinite.

IEEE 754 binary16 has 5 bits of exponent and 10 of mantissa; bfloat16 has float32's 8 and 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LOST, SUBNORMAL, NORMAL, OVERFLOW = "lost", "subnormal", "normal", "overflow"


@dataclass(frozen=True)
class Half:
    """`normal` is the exponent of the smallest number with a full mantissa, `top` that of the largest numbers."""

    name: str
    mantissa: int
    normal: int
    top: int

    @property
    def smallest(self) -> int:
        """Exponent of the smallest number that is not 0."""
        return self.normal - self.mantissa

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return float((2.0 - 2.0**-self.mantissa) * 2.0**self.top)

    @property
    def infinite(self) -> float:
        """Return the value from which on numbers are rounded to infinity: half a step beyond the largest."""
        return float((2.0 - 2.0 ** -(self.mantissa + 1)) * 2.0**self.top)

    def fate_of_exponent(self, exponent: int) -> str:
        """Return what becomes of values from 2**exponent to below 2**(exponent + 1): nearest rounding keeps those above
        half of the smallest number."""
        if exponent < self.smallest - 1:
            return LOST
        if exponent < self.normal:
            return SUBNORMAL
        return NORMAL if exponent <= self.top else OVERFLOW


FLOAT16 = Half("float16", 10, -14, 15)
BFLOAT16 = Half("bfloat16", 7, -126, 127)


def format_scale(scale: float) -> str:
    """A scale as readers know it: 65536 as it is, larger powers of two as 2**34."""
    exponent = math.log2(scale)
    return f"2**{exponent:.0f}" if exponent.is_integer() and abs(exponent) > 16 else f"{scale:.6g}"
