"""Between msprobe's API names and the dispatcher's operators: `Functional.conv2d` runs `aten::convolution`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from helpers.precision.record import BACKWARD, FORWARD, Operator

DATA = Path(__file__).parent / "data" / "operators.json"


@cache
def table() -> dict[str, dict[str, list[str]]]:
    """`forward` and `backward`: aten operator -> API names that call it there."""
    content: dict[str, dict[str, list[str]]] = json.loads(DATA.read_text(encoding="utf-8"))
    return {direction: content[direction] for direction in (FORWARD, BACKWARD)}


def kernels(operator: Operator) -> list[str]:
    """The aten operators that this call may have run, in the table's order; empty where it knows none."""
    api = operator.api.lower() if operator.is_module else operator.api
    return [name for name, apis in table().get(operator.direction, {}).items() if api in apis]


def apis(kernel: str) -> list[str]:
    """API names that run an aten operator; an overload name (`aten::add.Tensor`) may be left out."""
    found = [names for side in table().values() for name, names in side.items()
             if kernel in (name, name.partition(".")[0])]  # fmt: skip
    return sorted({name for names in found for name in names})
