"""Between msprobe's API names and the dispatcher's operators: `Functional.conv2d` runs `aten::convolution`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from ascend_workbook.precision.record import BACKWARD, FORWARD, Operator

DATA = Path(__file__).parent / "data" / "operators.json"


@cache
def load_operator_table() -> dict[str, dict[str, list[str]]]:
    """Load, for `forward` and `backward`, the map from an aten operator to the API names that call it there."""
    content: dict[str, dict[str, list[str]]] = json.loads(DATA.read_text(encoding="utf-8"))
    return {direction: content[direction] for direction in (FORWARD, BACKWARD)}


def kernels_of_operator(operator: Operator) -> list[str]:
    """Return the aten operators that this call may have run, in the table's order; empty where it knows none."""
    api = operator.api.lower() if operator.is_module else operator.api
    return [name for name, apis in load_operator_table().get(operator.direction, {}).items() if api in apis]


def apis_of_kernel(kernel: str) -> list[str]:
    """Return the API names that run an aten operator; an overload name (`aten::add.Tensor`) may be left out."""
    names = [
        names
        for side in load_operator_table().values()
        for name, names in side.items()
        if kernel in (name, name.partition(".")[0])
    ]
    return sorted({name for names in names for name in names})
