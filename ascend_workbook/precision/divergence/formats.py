"""Reduced formats that no record tells of, seen in the numbers: every convolution, or every matrix product, is off by
what HF32 or TF32 makes of its inputs, and no more. One that stands alone is a fault and stays one.

Only plain dumps are looked at: a capture of ours tells what was in force, and then a format that was not is a fault."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ascend_workbook.precision.divergence.nonfinite import kind_of_record
from ascend_workbook.precision.pairing import Pair
from ascend_workbook.precision.record import FORWARD
from ascend_workbook.precision.tensors import tolerance

if TYPE_CHECKING:
    from ascend_workbook.precision.divergence.replay import Replay
    from ascend_workbook.precision.tensors.agreement import Agreement

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


def kind_of_api(api: str) -> str:
    return next((name for name, apis in KINDS.items() if api in apis), "")


def find_formats(
    pairs: Iterable[Pair], replays: Mapping[str, Replay], recorded_formats: Mapping[str, str]
) -> dict[str, str]:
    """Find kinds without a told format whose calls are off as in one: {"matmul": "hf32"}."""
    formats_by_kind: dict[str, str] = {}
    few: dict[str, list[float]] = {}
    calls = [pair for pair in pairs if pair.target.direction == FORWARD and pair.target.name in replays]
    for name, apis in KINDS.items():
        of_kind = [pair for pair in calls if pair.target.api in apis]
        known = (_error_ratio(pair, replays[pair.target.name]) for pair in of_kind)
        ratios = [ratio for ratio in known if ratio is not None]
        fewest = LEFT_BY_OVERFLOW if any(map(_has_overflow, of_kind)) else FEWEST
        form = "" if recorded_formats.get(name) else _format_of_ratios(ratios, fewest)
        few[name] = ratios if len(ratios) < FEWEST else []
        if form:
            formats_by_kind[name] = form
    for name, form in dict(formats_by_kind).items():  # a network's only linear layer, beside convolutions in HF32
        formats_by_kind.update(
            {other: form for other, ratios in few.items() if other != name and _format_of_ratios(ratios, 1) == form}
        )
    return formats_by_kind


def possible_kinds(
    agreements: Iterable[Agreement], recorded_formats: Mapping[str, str], *, recorded: bool
) -> frozenset[str]:
    """Kinds of which nobody can say whether a reduced format was in force: no record tells, and not several calls of
    the kind agree to rounding, as they could not under one."""
    if recorded:
        return frozenset()
    exact = Counter(
        kind_of_api(agreement.pair.target.api)
        for agreement in agreements
        if agreement.pair.target.direction == FORWARD
        and agreement.error_out is not None
        and agreement.error_out <= tolerance.rounding_floor(agreement.dtypes)
        and any(t.norm for t in agreement.pair.target.outputs)
    )
    return frozenset(name for name in KINDS if not recorded_formats.get(name) and exact[name] < REFUTING)


def _format_of_ratios(ratios: list[float], fewest: int) -> str:
    """By how many calls are off by a share of the format's rounding that random inputs give."""
    if len(ratios) < fewest:
        return ""
    for form in ("hf32", "tf32"):
        coarser = tolerance.reduced_unit(form) / tolerance.reduced_unit(MEASURED)
        if sum(0.1 <= ratio / coarser <= 1.0 for ratio in ratios) >= SHARE * len(ratios):
            return form
    return ""


def _has_overflow(pair: Pair) -> bool:
    """Then its replay agrees, NaN with NaN, or does not, and tells nothing of formats."""
    return any(kind_of_record(t) for t in pair.target.outputs)


def _error_ratio(pair: Pair, replay: Replay) -> float | None:
    """The worst output's error in what the measured format allows; None where it is only rounding."""
    floor = tolerance.rounding_floor([t.dtype for t in (*pair.target.outputs, *pair.baseline.outputs)])
    own = max(replay.outputs, key=lambda output: output.worst, default=None)
    if own is None or not own.reduced or not math.isfinite(own.worst) or _has_overflow(pair):
        return None
    return own.worst / own.reduced if own.worst > own.explained_limit(floor) else 0.0
