"""Seeds: those in force at the first forward, and those that the script set itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from helpers.precision.experiment.discrepancy import Discrepancy
from helpers.precision.experiment.told import part

#: Streams that do not tell their seed: only a hash of their state is known, which draws change too.
STATES = ("python", "numpy")


def look(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    one, other = (part(side, "seeds") or {} for side in (left, right))
    if not (one and other):
        return
    if one.get("torch") != other.get("torch"):
        yield Discrepancy("seed", "torch.initial_seed()", one.get("torch"), other.get("torch"))
    calls, others = _calls(one), _calls(other)
    different = [name for name in calls if name in others and calls[name] != others[name]]
    for name in different:
        yield Discrepancy("seed", name, calls[name], others[name])
    for name in STATES:
        if name in one and name in other and one[name] != other[name] and not different:
            yield Discrepancy("random_state", name, one[name], other[name], decides=False)


def _calls(told: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Seeds by the function that took them, in order."""
    found: dict[str, list[Any]] = {}
    for entry in told.get("calls", ()):
        found.setdefault(str(entry["call"]), []).append(entry["seed"])
    return found
