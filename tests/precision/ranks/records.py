"""Records of collectives as the plugin writes them, from tensors given by a test."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.precision.child import sketch
from ascend_workbook.precision.ranks.reading import Record, read_records

LINE = "/x/train.py:7"


def pack(values: Any, dtype: str = "float32") -> list[Any]:
    """A piece."""
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    numbers = np.concatenate([sketch.sketch(flat), sketch.sample(flat)]).astype("<f4")
    text = base64.b64encode(numbers.tobytes()).decode("ascii")
    return [dtype, list(np.shape(values)), f"{zlib.crc32(flat.tobytes()):08x}", float(np.linalg.norm(flat)), text]


def call(
    operation: str,
    given: list[Any],
    received: list[Any] | None,
    *,
    step: int = 0,
    group: tuple[int, ...] = (0, 1),
    reduce: str = "",
    names: tuple[str, ...] = (),
    dtype: str = "float32",
    **more: Any,
) -> dict[str, Any]:
    """A collective on one rank."""
    entry = {"op": operation, "step": step, "group": list(group), "reduce": reduce, "place": LINE, "names": list(names)}
    entry["in"] = [pack(piece, dtype) for piece in given]
    if received is not None:
        entry["out"] = [pack(piece, dtype) for piece in received]
    return {**entry, **more}


def write_ranks(folder: Path, calls: list[list[dict[str, Any]]], **more: Any) -> dict[int, Record]:
    """The records of all ranks, written and read again."""
    for rank, own in enumerate(calls):
        content = {
            "schema": "ascend-workbook/ranks/1",
            "error": "",
            "rank": rank,
            "world_size": len(calls),
            "groups": [{"ranks": list(range(len(calls)))}],
            "backend": "gloo",
            "wrapped": [],
            "left_out": 0,
            "calls": own,
            "local": [],
            **more,
        }
        (folder / f"ranks.rank{rank}.json").write_text(json.dumps(content), encoding="utf-8")
    return read_records(folder)
