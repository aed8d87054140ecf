"""Which CANN kernels an operator becomes: a dated table, for CANN decides this, not PyTorch.

`operators.json` has a row an operator: the kernels, and in how many profiles of real NPUs they were seen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ascend_workbook.estimates.loads import Kernel, Shape

TABLE = Path(__file__).with_name("operators.json")


class Operand(NamedTuple):
    """A tensor that an operator takes or gives: its shape, and its type as CANN names it (`FLOAT`, `DT_BF16`)."""

    shape: Shape
    type: str


@dataclass(frozen=True)
class Row:
    """What an operator becomes. `seen`: the number of profiles of real NPUs in which it was found to; 0: it is taken
    from the names of torch_npu's own operators."""

    operator: str
    kernels: tuple[str, ...]
    seen: int = 0


def kernels_of(
    operator: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    attributes: Mapping[str, object] | None = None,
) -> tuple[Kernel, ...]:
    """Return the CANN kernels that an operator (`aten::mm`, `npu::npu_rms_norm`) becomes, none for one that starts
    none. One that the table lacks becomes a kernel of its own name."""
    name = operator.split(".")[0]
    row = read_table().get(name)
    kinds = row.kernels if row else (_camel(name),)
    return tuple(
        Kernel(
            kind,
            tuple(operand.shape for operand in inputs),
            tuple(operand.type for operand in inputs),
            tuple(operand.shape for operand in outputs),
            tuple(operand.type for operand in outputs),
        )
        for kind in kinds
    )


@cache
def read_table() -> dict[str, Row]:
    """Return the table by operator."""
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["operators"]
    return {name: Row(name, tuple(row["kernels"]), row.get("seen", 0)) for name, row in rows.items()}


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("::")[-1].strip("_").split("_"))
