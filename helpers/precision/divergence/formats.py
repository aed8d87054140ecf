"""Reduced formats that no record tells of, seen in the numbers: every convolution, or every matrix product, is off by
what HF32 or TF32 makes of its inputs, and no more. One that stands alone is a fault and stays one.

Only plain dumps are looked at: a capture of ours tells what was in force, and then a format that was not is a fault.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from helpers.precision.divergence import nonfinite
from helpers.precision.pairing import Pair
from helpers.precision.record import FORWARD
from helpers.precision.tensors import tolerance

if TYPE_CHECKING:
    from helpers.precision.divergence.replay import Replay
    from helpers.precision.tensors.agreement import Agreement

KINDS = {"conv": tolerance.CONVOLUTIONS, "matmul": tolerance.MATMULS}
#: So many calls of a kind, and so large a share of them, make a format of what would be a fault in one. Where an
#: overflow has taken the others, one is enough: else there would be two faults, and the overflow alone explains all.
FEWEST, LEFT_BY_OVERFLOW, SHARE = 3, 1, 0.75
#: So many calls of a kind that agree to rounding say that no reduced format was in force.
REFUTING = 2
#: The coarsest format that a device may use unasked.
COARSEST = "tf32"
#: The format whose rounding replays measure; a coarser one scales it.
MEASURED = "hf32"


def kind(api: str) -> str:
    return next((name for name, apis in KINDS.items() if api in apis), "")


def seen(pairs: Iterable[Pair], replays: Mapping[str, Replay], told: Mapping[str, str]) -> dict[str, str]:
    """Kinds without a told format whose calls are off as in one: {"matmul": "hf32"}."""
    found: dict[str, str] = {}
    few: dict[str, list[float]] = {}
    calls = [pair for pair in pairs if pair.target.direction == FORWARD and pair.target.name in replays]
    for name, apis in KINDS.items():
        ratios = [ratio for pair in calls if pair.target.api in apis
                  if (ratio := _ratio(pair, replays[pair.target.name])) is not None]  # fmt: skip
        lost = any(_overflowed(pair) for pair in calls if pair.target.api in apis)
        form = "" if told.get(name) else _format(ratios, LEFT_BY_OVERFLOW if lost else FEWEST)
        few[name] = ratios if len(ratios) < FEWEST else []
        if form:
            found[name] = form
    for name, form in dict(found).items():  # a network's only linear layer, beside convolutions in HF32
        found.update({other: form for other, ratios in few.items() if other != name and _format(ratios, 1) == form})
    return found


def possible(found: Iterable[Agreement], told: Mapping[str, str], *, recorded: bool) -> frozenset[str]:
    """Kinds of which nobody can say whether a reduced format was in force: no record tells, and not several calls of
    the kind agree to rounding, as they could not under one."""
    if recorded:
        return frozenset()
    calls = [one for one in found if one.pair.target.direction == FORWARD and kind(one.pair.target.api)]
    exact = Counter(kind(one.pair.target.api) for one in calls if one.error_out is not None
                    and one.error_out <= tolerance.floor(one.dtypes) and any(t.norm for t in one.pair.target.outputs))
    return frozenset(name for name in KINDS if not told.get(name) and exact[name] < REFUTING)


def _format(ratios: list[float], fewest: int) -> str:
    """By how many calls are off by a share of the format's rounding that random inputs give."""
    if len(ratios) < fewest:
        return ""
    for form in ("hf32", "tf32"):
        coarser = tolerance.reduced_unit(form) / tolerance.reduced_unit(MEASURED)
        if sum(0.1 <= ratio / coarser <= 1.0 for ratio in ratios) >= SHARE * len(ratios):
            return form
    return ""


def _overflowed(pair: Pair) -> bool:
    """Then its replay agrees, NaN with NaN, or does not, and tells nothing of formats."""
    return any(nonfinite.kind(t) for t in pair.target.outputs)


def _ratio(pair: Pair, replay: Replay) -> float | None:
    """The worst output's error in what the measured format allows; None where it is only rounding."""
    floor = tolerance.floor([t.dtype for t in (*pair.target.outputs, *pair.baseline.outputs)])
    own = max(replay.outputs, key=lambda one: one.worst, default=None)
    if own is None or not own.reduced or not math.isfinite(own.worst) or _overflowed(pair):
        return None
    return own.worst / own.reduced if own.worst > own.limit(floor) else 0.0
