"""What two training processes told of their experiment, held against each other: one file per kind of fact.

Each has `look(left, right)` on two sides of one rank, as a manifest's `sides` hold them, and yields a Discrepancy for
each fact that differs. What a side did not tell is not compared; experiment.unlooked says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

#: Numbers that went through float32 on one side.
RELATIVE = 1e-6


def experiment_part(side: Mapping[str, Any], name: str) -> Any:
    """A part of what a side told of its experiment; None where it told nothing."""
    experiment = side.get("experiment")
    return experiment.get(name) if isinstance(experiment, Mapping) else None


def same_values(left: Any, right: Any) -> bool:
    """Equality of values as JSON has them; numbers to RELATIVE."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same_values(item, other) for item, other in zip(left, right))
    numbers = (int, float)
    if isinstance(left, numbers) and isinstance(right, numbers) and not isinstance(left, bool):
        return math.isclose(left, right, rel_tol=RELATIVE)
    return bool(left == right)
