"""Which CANN kernels an operator becomes: a dated table, for CANN decides this, not PyTorch.

`operators.json` has a row an operator: its kernels with their operands, conversions of layouts and fills among them,
and in how many public workloads they were seen."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from ascend_workbook.estimates.loads import Kernel, Shape, item_bytes

TABLE = Path(__file__).with_name("operators.json")
#: `Conv2D(in0,in1->out0;out0)`: the kernel, what it takes and gives, and what must be there for it to be launched
KERNEL = re.compile(r"(\w+)(?:\(([^)>]*)->([^);]*)(?:;([^)]*))?\))?")
#: A copy of one type of so many bytes travels without a kernel. Seen: 93 kB without, 1.2 MB with one.
LEAST_COPY = 128 * 1024
#: A product in float32 of more bytes is MatMulV3. Seen: 67 MB is V2, 151 MB is V3.
LARGEST_V2 = 128 * 1024 * 1024
#: In masks that CANN makes a bit stands for an element.
BIT = "UINT1"
FOREACH = "aten::_foreach_"
ABSENT = ("", "N/A", "DT_UNDEFINED", "UNDEFINED")


class Operand(NamedTuple):
    """A tensor that an operator takes or gives: its shape, and its type as CANN names it (`FLOAT`, `DT_BF16`)."""

    shape: Shape
    type: str


SCALAR = Operand((), "FLOAT")


@dataclass(frozen=True)
class Row:
    """What an operator becomes. `seen`: in how many public workloads of real NPUs it was found to; 0: it is taken from
    the names of torch_npu's own operators."""

    operator: str
    kernels: tuple[str, ...]
    seen: int = 0
    note: str = ""


def kernels_of(
    operator: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    attributes: Mapping[str, object] | None = None,
) -> tuple[Kernel, ...]:
    """Return the CANN kernels that an operator (`aten::mm`, `npu::npu_rms_norm`) becomes, none for one that starts
    none. One that the table lacks becomes a kernel of its own name."""
    operands = tuple(Operand(tuple(shape), kind) for shape, kind in inputs)
    gives = tuple(Operand(tuple(shape), kind) for shape, kind in outputs)
    return _kernels_of(operator, operands, gives)


@lru_cache(maxsize=2**14)
def _kernels_of(operator: str, inputs: tuple[Operand, ...], outputs: tuple[Operand, ...]) -> tuple[Kernel, ...]:
    name = operator if operator in read_table() else operator.split(".")[0]
    special = _special_kernels(name, inputs, outputs)
    if special is not None:
        return special
    row = read_table().get(name)
    specs = row.kernels if row else (_camel(name),)
    kernels = (_make_kernel(spec, inputs, outputs) for spec in specs)
    return tuple(kernel for kernel in kernels if kernel is not None)


def _special_kernels(name: str, inputs: tuple[Operand, ...], outputs: tuple[Operand, ...]) -> tuple[Kernel, ...] | None:
    """Return the kernels of an operator whose operands decide, None of the others."""
    if name == "aten::copy_" and len(inputs) > 1:
        return _copy(inputs[1], inputs[0])
    if name == "aten::mm" and len(inputs) > 1 and outputs and item_bytes(inputs[0].type) >= 4:
        if _bytes(outputs[0]) > LARGEST_V2:
            return (_kernel("MatMulV3", inputs[:2], outputs[:1]),)
        return _fill("MemSet", outputs[0]), _kernel("MatMulV2", inputs[:2], outputs[:1])
    if name == "aten::mul" and len(inputs) == 2 and inputs[1].type == "BOOL" and inputs[0].type != "BOOL":
        mask = Operand(inputs[1].shape, BIT)  # what dropout does is multiply by a mask
        return (_kernel("DropOutDoMask", (inputs[0], mask), outputs),)
    if name == "aten::mul_" and len(inputs) == 1:
        return ()  # dropout's factor, which its mask has already
    if name in ("aten::bernoulli_", "aten::bernoulli") and outputs:
        return (_fill("DSAGenBitMask", Operand(outputs[0].shape, BIT)),)
    if name.startswith(FOREACH):
        return _foreach(name, inputs, outputs)
    return None


def _copy(source: Operand, target: Operand) -> tuple[Kernel, ...]:
    if source.type != target.type:
        return (_kernel("Cast", (Operand(target.shape, source.type),), (target,)),)
    if _bytes(target) <= LEAST_COPY:
        return ()
    return (_kernel("TensorMove", (target,), (target,)),)


def _foreach(name: str, inputs: tuple[Operand, ...], outputs: tuple[Operand, ...]) -> tuple[Kernel, ...]:
    """Return the kernel over a list of tensors: beside another list half of its operands are results."""
    kind = name[len(FOREACH) :].strip("_")
    row = read_table().get(name)
    shapes = [operand.shape for operand in inputs]
    half = len(inputs) // 2
    paired = len(inputs) > 1 and len(inputs) % 2 == 0 and shapes[:half] == shapes[half:]
    gives = outputs or (inputs[:half] if paired else inputs)
    kinds = row.kernels if row else ("Foreach" + _camel(kind) + ("List" if paired else "Scalar"),)
    return tuple(_kernel(each, inputs, gives) for each in kinds)


def _make_kernel(spec: str, inputs: tuple[Operand, ...], outputs: tuple[Operand, ...]) -> Kernel | None:
    """Return the kernel of a row's text, None where an operand is absent without which it is not launched."""
    kind, takes, gives, needs = _read_spec(spec)
    if takes is None or gives is None:
        return _kernel(kind, inputs, outputs)
    chosen = [_choose(name, inputs, outputs) for name in takes]
    results = [_choose(name, inputs, outputs) for name in gives]
    needed = [_choose(name, inputs, outputs) for name in needs]
    if any(operand is None for operand in (*results, *needed)):
        return None
    kernel = _kernel(kind, tuple(filter(None, chosen)), tuple(filter(None, results)))
    if (
        kind == "TensorMove"
        and kernel.outputs
        and _bytes(Operand(kernel.outputs[0], kernel.output_types[0])) <= LEAST_COPY
    ):
        return None
    return kernel


@cache
def _read_spec(spec: str) -> tuple[str, tuple[str, ...] | None, tuple[str, ...] | None, tuple[str, ...]]:
    match = KERNEL.fullmatch(spec)
    if match is None:
        raise ValueError(f"{TABLE.name}: {spec!r} is no kernel")
    kind, takes, gives, needs = match.groups()
    if takes is None:
        return kind, None, None, ()
    return kind, _names(takes), _names(gives), _names(needs or "")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _choose(name: str, inputs: tuple[Operand, ...], outputs: tuple[Operand, ...]) -> Operand | None:
    """Return the operand called `in0` or `out1`, a scalar for `-`, None where it is absent."""
    if name == "-":
        return SCALAR
    side, at = (inputs, int(name[2:])) if name.startswith("in") else (outputs, int(name[3:]))
    return side[at] if at < len(side) and side[at].type not in ABSENT else None


def _kernel(kind: str, inputs: Sequence[Operand], outputs: Sequence[Operand]) -> Kernel:
    return Kernel(
        kind,
        tuple(operand.shape for operand in inputs),
        tuple(operand.type for operand in inputs),
        tuple(operand.shape for operand in outputs),
        tuple(operand.type for operand in outputs),
    )


def _fill(kind: str, operand: Operand) -> Kernel:
    return _kernel(kind, (), (operand,))


def _bytes(operand: Operand) -> float:
    return math.prod(operand.shape) * item_bytes(operand.type)


@cache
def read_table() -> dict[str, Row]:
    """Return the table by operator."""
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["operators"]
    return {
        name: Row(name, tuple(row["kernels"]), row.get("seen", 0), row.get("note", "")) for name, row in rows.items()
    }


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("::")[-1].strip("_").split("_"))
