"""Entries of msprobe's dump.json: names, tensors and where they stand.

Keys of 26.x, of 8.x and of what came before it (`atat`, 2024) are read; they differ in the parameter gradients' call
number, in the backward's names and in the case of MindSpore's dtypes.
https://gitcode.com/Ascend/mstt/blob/master/debug/accuracy_tools/msprobe/docs/27.dump_json_instruction.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Place
from ascend_workbook.precision.divergence import arguments
from ascend_workbook.precision.record import BACKWARD, FORWARD, PARAMETERS, Operator, TensorRecord

#: Which part of an entry holds what. In backward, `input` is the gradient of the operator's output, which before 8.x
#: went by autograd's names: `grad_output` is handed in, `grad_input` comes out.
INPUTS = (
    ("input_args", "input"),
    ("input_kwargs", "input"),
    ("input", "input"),
    ("grad_output", "input"),
    ("parameters", "parameters"),
)
OUTPUTS = ("output", "grad_input")
#: With beta=0 their first input is ignored, NaN in it too, and often never written (torch.empty).
#: https://docs.pytorch.org/docs/stable/generated/torch.baddbmm.html
SCALED = ("addmm", "addmv", "addbmm", "baddbmm")


def read_operator(name: str, entry: Any, order: int, files: Path, places: dict[str, Place]) -> Operator:
    """Read one entry; the tensors' files lie in `files`. Raises ValueError, TypeError, KeyError or AttributeError where
    it is none."""
    head, direction, call = split_name(name)
    if direction == PARAMETERS:
        outputs = tuple(_find_tensors(entry, "output", files))
        return Operator(name, head, call, direction, order, (), outputs, places.get(name))
    inputs = tuple(t for part, slot in INPUTS for t in _find_tensors(entry.get(part), slot, files))
    outputs = tuple(t for part in OUTPUTS for t in _find_tensors(entry.get(part), "output", files))
    forward = name.replace(f".{BACKWARD}", f".{FORWARD}")
    plain = tuple(
        p for part in ("input_args", "input_kwargs") for p in arguments.plain_arguments(entry.get(part), "input")
    )
    if direction == FORWARD and head.rpartition(".")[2].rstrip("_") in SCALED and ("input.beta", 0) in plain:
        inputs = tuple(record for record in inputs if record.slot != "input.0")
    place = places.get(name, places.get(forward))
    return Operator(name, head, call, direction, order, inputs, outputs, place, plain)


def saved_operator(name: str, entry: Any, order: int, files: Path) -> Operator:
    """What a script saved under a name: `<name>.<call>.debug`, and `<name>_grad.<call>.debug` for its gradient. It has
    no inputs: nothing tells what it was made of. Raises as `read_operator` does."""
    head, call, kind = name.rsplit(".", 2)
    if kind != "debug":
        raise ValueError(f"{name}: expected <name>.<call>.debug")
    return Operator(name, head, int(call), FORWARD, order, (), tuple(_find_tensors(entry, "output", files)), None)


def split_name(name: str) -> tuple[str, str, int]:
    """Split a name as msprobe gives it into head, direction and call number.

    APIs end in `<call>.<direction>` (`Functional.conv2d.0.forward`), modules in `<direction>.<call>`; 8.x gave
    parameter gradients no number.
    """
    if name.endswith(f".{PARAMETERS}"):
        return name[: -len(PARAMETERS) - 1], PARAMETERS, 0
    head, first, second = name.rsplit(".", 2)
    if second in (FORWARD, BACKWARD):
        return head, second, int(first)
    if first in (FORWARD, BACKWARD, PARAMETERS):
        return head, first, int(second)
    raise ValueError(f"{name}: expected <name>.<call>.<direction> or <name>.<direction>.<call>")


def _find_tensors(part: Any, slot: str, files: Path) -> Iterator[TensorRecord]:
    """Yield every tensor of a part, wherever it nests; scalars and None are passed over."""
    if isinstance(part, list):
        for index, item in enumerate(part):
            yield from _find_tensors(item, f"{slot}.{index}", files)
    elif isinstance(part, dict) and "type" not in part:
        for key, item in part.items():
            yield from _find_tensors(item, f"{slot}.{key}", files)
    elif isinstance(part, dict) and "shape" in part and "dtype" in part:
        yield _read_tensor_record(part, slot, files)


def _read_tensor_record(item: dict[str, Any], slot: str, files: Path) -> TensorRecord:
    name = item.get("data_name")
    if name is not None and (Path(name).name != name or name in ("", ".", "..")):
        raise ValueError(f"data_name {name!r} leaves the folder")
    maximum, minimum, mean, norm = (read_statistic(item.get(key)) for key in ("Max", "Min", "Mean", "Norm"))
    dtype = str(item["dtype"]).rpartition(".")[2].lower()
    file = files / name if name else None
    checksum = str(item["md5"]) if item.get("md5") is not None else None
    return TensorRecord(slot, dtype, tuple(map(int, item["shape"])), maximum, minimum, mean, norm, file, checksum)


def read_statistic(value: Any) -> float | None:
    """Return a statistic as a number, or None where there is none."""
    return float(value) if isinstance(value, (int, float)) else None
