"""A tensor in 32 numbers whose differences have the size of the tensors' difference. Loaded by path.

Element i counts into number i modulo 32, with a sign that is drawn once for all tensors (a count sketch).
Two tensors' sketches are then, on the average, as far apart as the tensors (standard deviation 12 % of the distance);
one of at most 32 elements is kept exactly, but for its signs. Sketches are linear: that of a sum is their sum."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

SIZE = 32
#: Of a larger tensor evenly spaced elements are read, at most so many.
MOST = 1 << 20
SEED = 20240229


@cache
def signs() -> Any:
    """The sign of each place; of a generator of its own, so that no stream of the script's moves on."""
    return (np.random.Generator(np.random.PCG64(SEED)).integers(0, 2, MOST, dtype=np.int8) * 2 - 1).astype(np.float64)


def stride_of(size: int) -> int:
    """Which elements of a tensor of this size are read: every so many."""
    return -(-size // MOST) if size > MOST else 1


def sketch(values: Any) -> Any:
    """The sketch of a flat array of at most MOST float64 numbers."""
    signed = values * signs()[: len(values)]
    rest = -len(signed) % SIZE
    if rest:
        signed = np.concatenate([signed, np.zeros(rest)])
    with np.errstate(all="ignore"):
        return signed.reshape(-1, SIZE).sum(0)


def sample(values: Any) -> Any:
    """At most SIZE evenly spaced elements."""
    return values[:: max(1, len(values) // SIZE)][:SIZE]
