"""Between msprobe's API names and the dispatcher's operators: `Functional.conv2d` runs `aten::convolution`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from helpers.precision.record import BACKWARD, Operator

DATA = Path(__file__).parent / "data" / "operators.json"


@cache
def table() -> dict[str, list[str]]:
    """aten operator -> API names that call it."""
    content: dict[str, list[str]] = json.loads(DATA.read_text(encoding="utf-8"))["operators"]
    return content


def kernels(operator: Operator) -> list[str]:
    """The aten operators that this call may have run, in the table's order; empty where it knows none."""
    api = operator.api.lower() if operator.is_module else operator.api
    backward = operator.direction == BACKWARD
    return [name for name, apis in table().items() if api in apis and name.endswith("_backward") == backward]


def apis(kernel: str) -> list[str]:
    """API names that run an aten operator; an overload name (`aten::add.Tensor`) may be left out."""
    return next((names for name, names in table().items() if kernel in (name, name.partition(".")[0])), [])
