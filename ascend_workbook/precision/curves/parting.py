"""Where two curves part: the first step beyond the tolerance that is more than one spike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascend_workbook.precision.curves.aligned import Aligned

#: Relative difference of losses. Before the first update only the forward pass stands behind it, and a difference
#: is an error; later, training amplifies honest rounding. Measured on CPU kernels, a small residual network: one
#: thread against two part by 2e-3 at step 8 and by 3e-2 at step 10, convolutions in HF32 by 3e-3 at step 3.
TOLERANCE = 1e-3
#: Of so many values in a row, the first included, so many must be beyond it.
WINDOW, ENOUGH = 5, 3
#: With no more values than these nothing tells a lone one from a beginning.
FEW = 10


def exceeds_tolerance(pair: Aligned, tolerance: float) -> NDArray[np.bool_]:
    """Return which values differ by more than the tolerance."""
    return pair.excess > tolerance


def first_place(pair: Aligned, tolerance: float, aside: NDArray[np.bool_] | None = None) -> int | None:
    """The place in `pair` from which the curves are apart; None where they are not. At the end of the log, where
    fewer values follow, half of them are enough: not looked is not clean. `aside`: values within spikes, which are
    told for themselves."""
    over = exceeds_tolerance(pair, tolerance)
    if aside is not None and len(over) > FEW:
        over &= ~aside
    places = np.flatnonzero(over)
    if len(over) <= FEW:
        return int(places[0]) if len(places) else None
    total = np.concatenate([[0], np.cumsum(over)])
    ends = np.minimum(places + WINDOW, len(over))
    need = np.minimum(ENOUGH, (ends - places + 1) // 2)
    lasting = places[total[ends] - total[places] >= need]
    return int(lasting[0]) if len(lasting) else None
