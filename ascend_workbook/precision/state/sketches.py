"""How far two values of a step are apart, and the factor that makes one of the other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ascend_workbook.precision.state.reading import Step, Tensor, Tensors


def is_empty(value: Any) -> bool:
    """Return whether a state was just made: absent, or zeros."""
    if isinstance(value, Tensor):
        return value.norm == 0.0
    return value is None or value == 0


def measure_apart(reference: Any, other: Any) -> float:
    if isinstance(reference, Tensor) and isinstance(other, Tensor):
        distance, size = reference.distance(other), max(reference.norm, other.norm)
        return distance / size if size and math.isfinite(size) else (0.0 if distance == 0 else math.inf)
    if isinstance(reference, (int, float)) and isinstance(other, (int, float)):
        return abs(reference - other) / max(abs(reference), abs(other)) if reference != other else 0.0
    return 0.0


def measure_relative(reference: Any, other: Any) -> float:
    size = float(np.linalg.norm(other))
    return float(np.linalg.norm(reference - other)) / size if size else math.inf


def find_factor(reference: Any, other: Any, tolerance: float) -> float | None:
    """The number that makes `other` of `one`, to within a tolerance; None where there is none."""
    size = float(reference @ reference)
    if not size or not math.isfinite(size):
        return None
    factor = float(reference @ other) / size
    rest = float(np.linalg.norm(other - factor * reference))
    return factor if rest <= tolerance * max(float(np.linalg.norm(other)), 1e-30) else None


def find_common_ratio(before: Tensors, after: Tensors) -> float | None:
    names = [name for name in before if name in after and before[name].finite and after[name].finite]
    if not names:
        return None
    reference, other = (np.concatenate([side[name].sketch for name in names]) for side in (before, after))
    return find_factor(reference, other, 0.02)


def is_same_value(reference: Any, other: Any) -> bool:
    if isinstance(reference, list) and isinstance(other, list):
        return len(reference) == len(other) and all(map(is_same_value, reference, other))
    numbers = isinstance(reference, (int, float)) and isinstance(other, (int, float))
    return math.isclose(reference, other, rel_tol=1e-6) if numbers else bool(reference == other)


def are_same_numbers(reference: Iterable[Any], other: Iterable[Any]) -> bool:
    return is_same_value([*reference], [*other])


def collect_gradients_read(step: Step) -> dict[str, Tensor]:
    used: dict[str, Tensor] = {}
    for update in step.updates:
        used.update(update.gradients)
    return used
