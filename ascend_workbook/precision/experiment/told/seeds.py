"""Seeds: those in force at the first forward, and those that the script set itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascend_workbook.precision.experiment.discrepancy import Discrepancy
from ascend_workbook.precision.experiment.told import experiment_part

#: Streams that do not tell their seed: only a hash of their state is known, which draws change too.
STATES = ("python", "numpy")


def compare_seeds(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    left_seeds, other = (experiment_part(side, "seeds") or {} for side in (left, right))
    if not (left_seeds and other):
        return
    if left_seeds.get("torch") != other.get("torch"):
        yield Discrepancy("seed", "torch.initial_seed()", left_seeds.get("torch"), other.get("torch"))
    calls, others = _seeds_by_call(left_seeds), _seeds_by_call(other)
    different = [name for name in calls if name in others and calls[name] != others[name]]
    for name in different:
        yield Discrepancy("seed", name, calls[name], others[name])
    for name in STATES:
        if name in left_seeds and name in other and left_seeds[name] != other[name] and not different:
            yield Discrepancy("random_state", name, left_seeds[name], other[name], decides=False)


def _seeds_by_call(seeds: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Seeds by the function that took them, in order."""
    by_function: dict[str, list[Any]] = {}
    for entry in seeds.get("calls", ()):
        by_function.setdefault(str(entry["call"]), []).append(entry["seed"])
    return by_function
