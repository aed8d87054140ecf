"""How the tensors of several ranks make up one: side by side, copies, or partial sums, along each axis of ranks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = Mapping[int, Array]
COPY, SUM, MEAN, LAID = "copy", "sum", "mean", "laid"
#: Parts of a dimension that are divided each by itself: heads below a batch, query, key and value in one weight.
MOST_FOLDS = 4096


@dataclass(frozen=True)
class Axis:
    """Ranks in groups that divide tensors between them; `data` says that each of a group reads other data."""

    groups: tuple[tuple[int, ...], ...]
    data: bool

    @property
    def size(self) -> int:
        return len(self.groups[0])


@dataclass(frozen=True)
class Action:
    """What the ranks of an axis hold: copies, parts of a sum or a mean, or pieces of dimension `dim`, of which each of
    `folds` equal parts is divided by itself."""

    kind: str
    dim: int = 0
    folds: int = 1

    def __str__(self) -> str:
        return f"{self.kind} {self.dim}" if self.kind == LAID else self.kind


Actions = tuple[Action, ...]


def list_arrangements(
    shapes: Mapping[int, tuple[int, ...]], whole: tuple[int, ...], axes: Sequence[Axis]
) -> list[Actions]:
    """All ways in which tensors of these shapes make one of the shape `whole`, the plainest first."""
    local = next(iter(shapes.values()))
    if any(len(shape) != len(whole) for shape in shapes.values()):
        return []
    divided = [dim for dim, size in enumerate(whole) if any(shape[dim] != size for shape in shapes.values())]
    choices = [Action(COPY), Action(SUM), Action(MEAN), *(Action(LAID, dim) for dim in divided)]
    arrangements = []
    for actions in itertools.product(choices, repeat=len(axes)):
        laid = [action.dim for action in actions if action.kind == LAID]
        averaged = any(action.kind == MEAN and not axis.data for axis, action in zip(axes, actions))
        if set(laid) != set(divided) or averaged:  # only ranks that read other data have parts of a mean
            continue
        even = all(
            local[dim] * math.prod(axis.size for axis, a in zip(axes, actions) if a.kind == LAID and a.dim == dim)
            == whole[dim]
            for dim in divided
        )
        if even or (len(axes) == 1 and all(sum(s[dim] for s in shapes.values()) == whole[dim] for dim in divided)):
            arrangements.append(actions)
    return sorted(arrangements, key=lambda actions: [(COPY, LAID, MEAN, SUM).index(action.kind) for action in actions])


def join_arrays(arrays: Arrays, axes: Sequence[Axis], actions: Actions) -> Array:
    """The whole tensor."""
    left = dict(arrays)
    for axis, action in zip(axes, actions):
        for group in axis.groups:
            ranks = [rank for rank in group if rank in left]
            if not ranks:
                continue
            joined = _join_group([left.pop(rank) for rank in ranks], action)
            left[ranks[0]] = joined
    return left[min(left)]


def _join_group(arrays: list[Array], action: Action) -> Array:
    if action.kind == COPY:
        return arrays[0]
    if action.kind in (SUM, MEAN):
        total: Array = np.sum(np.stack([array.astype(np.float64) for array in arrays]), axis=0)
        return total / len(arrays) if action.kind == MEAN else total
    if action.folds == 1:
        return np.concatenate(arrays, axis=action.dim)
    return _unfold(np.concatenate([_fold(array, action) for array in arrays], axis=action.dim + 1), action.dim)


def _fold(array: Array, action: Action) -> Array:
    shape = array.shape
    dim = action.dim
    return array.reshape(*shape[:dim], action.folds, shape[dim] // action.folds, *shape[dim + 1 :])


def _unfold(array: Array, dim: int) -> Array:
    shape = array.shape
    return array.reshape(*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])


def cut_part(
    whole: Array, rank: int, shapes: Mapping[int, tuple[int, ...]], axes: Sequence[Axis], actions: Actions
) -> Array | None:
    """What a rank holds of the whole tensor; None of a part of a sum, which nothing tells."""
    part = whole
    for axis, action in reversed(list(zip(axes, actions))):
        group = next(group for group in axis.groups if rank in group)
        if action.kind in (SUM, MEAN):
            return None
        if action.kind == LAID:
            if action.folds == 1 and len(axes) == 1:
                start = sum(shapes[other][action.dim] for other in group[: group.index(rank)])
                part = np.take(part, range(start, start + shapes[rank][action.dim]), axis=action.dim)
            else:
                part = _unfold_part(part, action, group.index(rank), len(group))
    return part


def _unfold_part(part: Array, action: Action, place: int, size: int) -> Array:
    folded = _fold(part, Action(LAID, action.dim, action.folds))
    own = folded.shape[action.dim + 1] // size
    return _unfold(np.take(folded, range(place * own, (place + 1) * own), axis=action.dim + 1), action.dim)


def refold(actions: Actions, shapes: Mapping[int, tuple[int, ...]]) -> Iterator[Actions]:
    """The same arrangement with each divided dimension in several parts that are divided by themselves."""
    local = next(iter(shapes.values()))
    for at, action in enumerate(actions):
        if action.kind == LAID:
            size = local[action.dim]
            for folds in range(2, min(size, MOST_FOLDS) + 1):
                if all(shape[action.dim] % folds == 0 for shape in shapes.values()):
                    yield (*actions[:at], Action(LAID, action.dim, folds), *actions[at + 1 :])


def relative_error(mine: Array, reference: Array) -> float:
    """The relative L2 difference; infinite where the shapes or the places of what is not finite differ."""
    if mine.shape != reference.shape:
        return math.inf
    left, right = mine.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(right)
    if not finite.all():
        if not np.array_equal(np.isfinite(left), finite):
            return math.inf
        left, right = left[finite], right[finite]
    size = float(np.linalg.norm(right))
    apart = float(np.linalg.norm(left - right))
    return apart / size if size else (0.0 if apart == 0 else math.inf)
