"""ranks.rank<R>.json of a capture of several ranks: process groups, and every collective's pieces as sketches."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.capturing.manifest import RANKS
from ascend_workbook.precision.state.reading import SKETCH, Floats

SCHEMA = "ascend-workbook/ranks/1"


@dataclass(frozen=True)
class Piece:
    """One tensor that a rank gave to a collective, or received; `checksum` is of its values widened to float64."""

    dtype: str
    shape: tuple[int, ...]
    checksum: str
    norm: float
    sketch: Floats
    sample: Floats

    @classmethod
    def of_packed(cls, packed: list[Any]) -> Piece:
        """Read one of what the plugin packed."""
        dtype, shape, checksum, norm, text = packed
        numbers = np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64)
        size = math.nan if norm is None else float(norm)
        return cls(str(dtype), tuple(shape), str(checksum), size, numbers[:SKETCH], numbers[SKETCH:])


@dataclass(frozen=True)
class Call:
    """One collective on one rank. `order` counts the calls of its group on this rank within one step; `step` is -1
    before the first. `received` is None where the output was never waited for."""

    rank: int
    step: int
    order: int
    operation: str
    group: tuple[int, ...]
    reduction: str
    place: str
    names: tuple[str, ...]
    given: tuple[Piece, ...]
    received: tuple[Piece, ...] | None
    peer: int | None

    @property
    def kind(self) -> tuple[str, ...]:
        """What all ranks of a group must agree on: operation, reduction and dtype."""
        pieces = self.given or self.received or ()
        return (self.operation, self.reduction, pieces[0].dtype if pieces else "")

    @property
    def sort(self) -> tuple[int, str, tuple[int, ...], str, tuple[str, ...]]:
        """What two runs of the same script have alike of it."""
        return (self.step, self.operation, self.group, self.reduction, self.names)


@dataclass(frozen=True)
class Local:
    """A parameter's own gradient on one rank, before it is averaged over the ranks."""

    dtype: str
    clean: bool
    sketch: Floats


@dataclass(frozen=True)
class Record:
    """What one rank recorded."""

    rank: int
    world_size: int
    backend: str
    groups: tuple[tuple[int, ...], ...]
    copied: tuple[tuple[int, ...], ...]
    calls: tuple[Call, ...]
    local: Mapping[int, Mapping[str, Local]] = field(default_factory=dict)
    left_out: int = 0
    error: str = ""


def read_records(folder: Path) -> dict[int, Record]:
    """Read the records in a capture's folder, by rank; empty where there are none. Raises WorkbookError where one is
    broken."""
    records: dict[int, Record] = {}
    for path in sorted(folder.glob(RANKS)):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["schema"] != SCHEMA:
                raise ValueError(f"schema {content['schema']!r}, expected {SCHEMA!r}")
            record = _read_record(content)
        except (OSError, ValueError, KeyError, TypeError, IndexError) as cause:
            raise WorkbookError("precision.json_unreadable", path=str(path), error=str(cause)) from cause
        records[record.rank] = record
    return records


def _read_record(content: Mapping[str, Any]) -> Record:
    rank = int(content["rank"])
    orders: dict[tuple[int, tuple[int, ...]], int] = {}
    calls = []
    for entry in content["calls"]:
        key = int(entry["step"]), tuple(entry["group"])
        calls.append(_read_call(rank, orders.get(key, 0), entry))
        orders[key] = orders.get(key, 0) + 1
    local = {
        int(part["step"]): {
            name: Local(str(dtype), bool(clean), np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64))
            for name, (dtype, _, clean, text) in part["gradients"].items()
        }
        for part in content["local"]
    }
    groups = tuple(tuple(group["ranks"]) for group in content["groups"])
    copied = tuple(tuple(part["ranks"]) for part in content["wrapped"] if part["kind"] == "ddp")
    numbers = int(content["world_size"]), str(content["backend"])
    left_out, error = int(content["left_out"]), str(content["error"])
    return Record(rank, *numbers, groups, copied, tuple(calls), local, left_out, error)


def _read_call(rank: int, order: int, entry: Mapping[str, Any]) -> Call:
    received = entry.get("out")
    return Call(
        rank,
        int(entry["step"]),
        order,
        str(entry["op"]),
        tuple(entry["group"]),
        str(entry["reduce"]),
        str(entry["place"]),
        tuple(entry["names"]),
        tuple(map(Piece.of_packed, entry["in"])),
        None if received is None else tuple(map(Piece.of_packed, received)),
        None if entry.get("peer") is None else int(entry["peer"]),
    )
