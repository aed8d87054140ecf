"""What the page of a timeline is given: a description of each side, and for an offline page its columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.families import FAMILIES
from ascend_workbook.profiling.timeline.index import Index
from ascend_workbook.profiling.timeline.modules import list_modules
from ascend_workbook.profiling.timeline.tiles import summarise_lanes
from ascend_workbook.profiling.trace import KINDS

#: Names that a page is given at once; those of a profile with more it asks for when it draws them
NAMES = 20_000
#: Marks of steps, and points of a curve, that a page holds
STEPS, POINTS = 5_000, 20_000


def describe_side(index: Index, label: str, *, columns: int = 600) -> dict[str, Any]:
    """Describe one side: its lanes, steps, names, curves and how busy it is."""
    few = len(index.names) <= NAMES
    return {
        "label": label,
        "source": index.source,
        "simulated": index.simulated,
        "events": len(index),
        "length_ns": index.span_ns - 2,
        "kinds": list(KINDS),
        "families": [*FAMILIES, "other", ""],
        "lanes": [[lane.rank, lane.group, lane.name, lane.row, lane.levels] for lane in index.lanes],
        "steps": [[step.rank, step.number, step.begin_ns, step.end_ns] for step in index.steps[:STEPS]],
        "names": list(index.names) if few else None,
        "busy": [list(row) for row in summarise_lanes(index, columns)],
        "curves": [[curve.name, curve.unit, float(curve.value.max(initial=0))] for curve in index.curves],
        "shifted": {str(rank): by for rank, by in index.shifted.items()},
    }


def pack_side(index: Index, label: str, *, columns: int = 600, letters: int = 0) -> dict[str, Any]:
    """Pack one side whole, for a page that asks nobody: columns of whole numbers as texts with blanks, `begin` as
    differences in each row. `letters`: cut the names, and the shapes, so that all of them have no more."""
    described = describe_side(index, label, columns=columns)
    begin = index.begin_of(slice(None))
    difference = np.diff(begin, prepend=0)
    heads = index.bounds[:-1][np.diff(index.bounds) > 0]
    difference[heads] = begin[heads]
    return {
        **described,
        "names": cut_texts(index.names, letters),
        "shapes": cut_texts(index.shapes, letters),
        "name_families": column_text(index.family_of_name),
        "rows": column_text(np.diff(index.bounds)),
        "boxes": {
            "begin": column_text(difference),
            "length": column_text(index.length_ns),
            "name": column_text(index.name),
            "kind": column_text(index.kind),
            "shape": column_text(index.shape),
            "by": column_text(np.where(index.by >= 0, index.by - np.arange(len(index)), 0)),
        },
        "points": [_thin_curve(curve.at_ns, curve.value) for curve in index.curves],
        "modules": list_modules(index),
    }


def _thin_curve(at_ns: npt.NDArray[np.int64], value: npt.NDArray[np.float64]) -> list[str]:
    """Return the curve as two texts: moments as differences, and values; of many points the highest of each few."""
    few = max(1, math.ceil(at_ns.size / POINTS))
    if few > 1:
        starts = np.arange(0, at_ns.size, few)
        at_ns, value = at_ns[starts], np.maximum.reduceat(value, starts)
    return [column_text(np.diff(at_ns, prepend=0)), " ".join(f"{point:.6g}" for point in value.tolist())]


def cut_texts(texts: Sequence[str], letters: int) -> list[str]:
    """Return the texts, each cut so that all have at most so many letters; 0: as they are."""
    room = max(16, letters // max(1, len(texts)))
    return [text if not letters or len(text) <= room else f"{text[: room - 1]}…" for text in texts]


def column_text(values: npt.NDArray[np.integer] | Sequence[int]) -> str:
    return " ".join(map(str, np.asarray(values).tolist()))
