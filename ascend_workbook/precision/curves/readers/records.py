"""Records of any JSON or table: the numbers of one step under the names that their writer chose."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ascend_workbook.precision.curves.names import STEPS, normalise_name


def parse_number(value: Any) -> float | None:
    """A number, or a string that holds one ("nan" too: JSON has none); None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float, str)):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return None
    return None


def step_in(record: Mapping[str, Any]) -> int | None:
    """The step that a record names, whatever its key is called; else its epoch."""
    lower = {str(key).strip().lower(): value for key, value in record.items()}
    for name in (*STEPS, "epoch"):
        value = parse_number(lower.get(name))
        if value is not None and math.isfinite(value) and (name != "epoch" or value == int(value)):
            return int(value)
    return None


def numbers_in(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """(name, number) of a record, one level of nesting joined by `/`; mmengine nests nothing, others `train: {loss}`.
    A list of one number, as several parameter groups with one rate, counts as that number."""
    for key, value in record.items():
        if isinstance(value, Mapping) and not prefix:
            yield from numbers_in(value, f"{key}/")
            continue
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        name, parsed_value = normalise_name(f"{prefix}{key}"), parse_number(value)
        if name and parsed_value is not None:
            yield name, parsed_value
