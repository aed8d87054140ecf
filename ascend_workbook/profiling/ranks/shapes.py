"""Whether a rank's operators are given other shapes than its peers': it computes more for it is given more."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from ascend_workbook.profiling.facts import Profile

#: So many of a rank's operators with their shapes are kept, those with the most elements
KEPT = 200
#: Two ranks do the same: so much of their operators by name, and so many calls of these at most
SAME_NAMES, SAME_CALLS = 0.8, 1.1
#: Their shapes differ: in so much of the elements, and one has so many times the other's
OTHERS, MORE = 0.3, 1.25
#: Between an operator and its shapes
BETWEEN = " | "


def count_shapes(profile: Profile) -> dict[str, float]:
    """Count the calls a step of each operator with each of its shapes, of those with the most elements."""
    trace, steady = profile.trace, profile.breakdown.steady
    rows = np.flatnonzero(trace.where(("host_op",)) & trace.in_steps({step.number for step in steady}))
    filled = np.array([bool(shape) for shape in trace.shapes] or [False])
    rows = rows[filled[trace.shape[rows]]]
    alike, count = np.unique(
        trace.name[rows].astype(np.int64) * len(trace.shapes) + trace.shape[rows], return_counts=True
    )
    shapes: dict[str, float] = {}
    for number, calls in zip(alike.tolist(), count.tolist()):
        name, shape = divmod(number, len(trace.shapes))
        shapes[f"{trace.names[name]}{BETWEEN}{trace.shapes[shape]}"] = calls / max(1, len(steady))
    dearest = sorted(shapes, key=lambda text: -shapes[text] * count_elements(text))[:KEPT]
    return {text: shapes[text] for text in dearest}


def count_elements(text: str) -> int:
    """Return the elements of the largest tensor that an operator is given, `aten::mm | [64,16] [16,8]`."""
    tensors = text.partition(BETWEEN)[2].split(" ")
    return max((math.prod(int(size) for size in re.findall(r"\d+", tensor)) for tensor in tensors if tensor), default=0)


def are_given_more(mine: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Return whether a rank calls the same operators as another, as often, and is given larger tensors."""
    calls, names = _sum_by_name(mine), _sum_by_name(others)
    if not calls or not names or len(calls.keys() & names.keys()) < SAME_NAMES * len(calls.keys() | names.keys()):
        return False
    total, usual = sum(calls.values()), sum(names.values())
    if max(total, usual) > SAME_CALLS * min(total, usual):
        return False
    elements = {text: count * count_elements(text) for text, count in mine.items()}
    usual_elements = sum(count * count_elements(text) for text, count in others.items())
    own = sum(value for text, value in elements.items() if text not in others)
    return own >= OTHERS * sum(elements.values()) and sum(elements.values()) >= MORE * usual_elements


def _sum_by_name(shapes: Mapping[str, float]) -> dict[str, float]:
    calls: dict[str, float] = {}
    for text, count in shapes.items():
        name = text.partition(BETWEEN)[0]
        calls[name] = calls.get(name, 0.0) + count
    return calls
