"""Entries of msprobe's dump.json: names, tensors and where they stand.

Keys of 26.x, of 8.x and of what came before it (`atat`, 2024) are read; they differ in the parameter gradients' call
number, in the backward's names and in the case of MindSpore's dtypes.
https://gitcode.com/Ascend/mstt/blob/master/debug/accuracy_tools/msprobe/docs/27.dump_json_instruction.md

Beside them what a tensor file's name tells (ptdbg_ascend's names, `Functional_conv2d_0_forward_input.0`, become
msprobe's, so that runs of both tools pair), and what stack.json and construct.json do: place and module of a call.
https://gitcode.com/Ascend/mstt, debug/accuracy_tools/ptdbg_ascend/src/python/ptdbg_ascend/hook_module"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Place
from ascend_workbook.precision.divergence.arguments import plain_arguments
from ascend_workbook.precision.pairing.cells import PARAMETERS as MINDSPORE_PARAMETERS
from ascend_workbook.precision.record import BACKWARD, FORWARD, PARAMETERS, Module, Operator, TensorRecord

KINDS = ("Functional", "Tensor", "Torch", "Distributed", "Aten", "NPU", "VF")
OLD = re.compile(
    r"(?P<head>.+)_(?P<call>\d{1,9})_(?P<way>forward|backward)_(?P<slot>input|output|stack_info)"
    r"(?P<rest>(\.[^.]+)*)",
    re.ASCII,
)
NEW = re.compile(
    r"(?P<name>.+\.(\d{1,9}\.(forward|backward)|(forward|backward)\.\d{1,9}))\."
    r"(?P<slot>(input|output|parameters)(\..+)?)",
    re.ASCII,
)
GRADIENT = re.compile(r"(?P<name>.+\.parameters_grad(\.\d{1,9})?)\.(?P<slot>[^.]+)", re.ASCII)


@dataclass(frozen=True)
class Call:
    """An operator's call as its name tells it, and the tensor's slot in it."""

    name: str
    head: str
    direction: str
    call: int
    slot: str

    def make_operator(self, order: int) -> Operator:
        """Make the operator without its tensors."""
        return Operator(self.name, self.head, self.call, self.direction, order, (), ())


def parse_ptdbg_name(name: str) -> Call | None:
    """Parse a name as ptdbg_ascend gives it; a lone tensor's slot has no number there."""
    match = OLD.fullmatch(name)
    if not match:
        return None
    kind, _, api = match["head"].partition("_")
    path, _, module = match["head"].removeprefix("Module_").rpartition("_")
    call, way = int(match["call"]), match["way"]
    slot = match["slot"] + (match["rest"] or ".0")
    if kind in KINDS and api:
        return Call(f"{kind}.{api}.{call}.{way}", f"{kind}.{api}", way, call, slot)
    head = f"Module.{path}.{module}" if path else f"Module.{module}"
    return Call(f"{head}.{way}.{call}", head, way, call, slot)


def parse_msprobe_name(name: str) -> Call | None:
    """Parse a name as msprobe gives it."""
    gradient = GRADIENT.fullmatch(name)
    match = gradient or NEW.fullmatch(name)
    if not match:
        return None
    head, direction, call = split_name(match["name"])
    return Call(match["name"], head, direction, call, f"output.{match['slot']}.0" if gradient else match["slot"])


def parse_tensor_name(name: str) -> Call | None:
    """Parse a name as either tool gives it, or return None."""
    return parse_msprobe_name(name) or parse_ptdbg_name(name)


FRAME = re.compile(r"File (?P<file>.+?), line (?P<line>\d+)")
#: Frames of the libraries and of our launcher say nothing about the user's script.
LIBRARIES = (
    *("/site-packages/", "/dist-packages/"),
    *("/ascend_workbook/machine/launch/child/", "/ascend_workbook/precision/child/"),
)


def read_places(content: Any, root: Path | None) -> dict[str, Place]:
    """Map each operator name to the innermost frame that is not a library's. Raises TypeError, AttributeError or
    ValueError where the content is no stack.json."""
    by_operator: dict[str, Place] = {}
    for key, value in content.items():
        shared = len(value) == 2 and isinstance(value[0], list)  # before 8.3 each name had its own: {name: frames}
        names, frames = value if shared else ([key], value)
        file_lines = ((match["file"], match["line"]) for frame in frames if (match := FRAME.match(frame.strip())))
        place = find_innermost_place(file_lines, root)
        if place:
            by_operator.update(dict.fromkeys(names, place))
    return by_operator


def find_innermost_place(frames: Iterable[tuple[str, str]], root: Path | None) -> Place | None:
    """Find the first frame (file and line) of the user's script, told relative to `root` where it lies in it."""
    for file, line in frames:
        if not any(library in file for library in LIBRARIES):
            path = Path(file)
            near = root is not None and path.is_relative_to(root)
            return Place(str(path.relative_to(root) if near and root else path), int(line))
    return None


def find_containers(content: object) -> tuple[frozenset[str], frozenset[str]]:
    """Find the entries that another entry names as its parent, and those of them whose children are APIs only. Raises
    TypeError where the content is no construct.json; at level L1 it is `{}`."""
    parents = _read_parents(content)
    holders = frozenset(filter(None, parents.values()))
    branches = {parent for child, parent in parents.items() if child.startswith(("Module.", "Cell."))}
    return holders, holders - branches


def _read_parents(content: object) -> dict[str, str]:
    if not isinstance(content, dict):
        raise TypeError(f"{type(content).__name__} at the top")
    named = {child: value[0] if isinstance(value, list) and value else value for child, value in content.items()}
    return {child: parent for child, parent in named.items() if isinstance(parent, str)}


def parse_module(node: str) -> Module | None:
    """Parse a module's node, `Module.layer1.0.conv1.Conv2d.forward.0`; None where it is none (an API, `optimizer`)."""
    parts = node.split(".")
    if parts[0] not in ("Module", "Cell") or len(parts) < 4 or parts[-2] not in (FORWARD, BACKWARD, PARAMETERS):
        return None
    *path, kind = parts[1:-2]
    return Module(".".join(path) or kind, kind)


def read_modules(content: object) -> tuple[dict[str, Module], dict[Module, Module | None]]:
    """Read which module each API ran in, and which module is around each module: around its first call where it has
    several. Raises TypeError where the content is no construct.json."""
    parents, modules = _read_parents(content), dict[str, Module]()
    around: dict[Module, Module | None] = {}
    for child, parent in parents.items():
        holder, inner = parse_module(parent), parse_module(child)
        if holder is None:
            continue
        around.setdefault(holder, None)
        if inner is None:
            modules[child] = holder
        elif around.get(inner) is None and not _lies_around(around, inner, holder):
            around[inner] = holder
    return modules, around


def _lies_around(around: Mapping[Module, Module | None], outer: Module, module: Module | None) -> bool:
    """Whether `outer` is the module or around it: a model that calls itself, or a damaged file, makes no circle."""
    while module is not None and module != outer:
        module = around.get(module)
    return module is not None


def read_sources(content: Any) -> dict[str, tuple[str, ...]]:
    """Read edges.json: {consumer: {slot: producer}}. Raises AttributeError or TypeError where the content is none."""
    for consumer, slots in content.items():
        if not all(isinstance(producer, str) for producer in slots.values()):
            raise TypeError(f"{consumer}: expected names of calls")
    return {consumer: tuple(dict.fromkeys(slots.values())) for consumer, slots in content.items()}


#: Which part of an entry holds what. In backward, `input` is the gradient of the operator's output, which before 8.x
#: went by autograd's names: `grad_output` is handed in, `grad_input` comes out.
INPUTS = (*((part, "input") for part in ("input_args", "input_kwargs", "input", "grad_output")), ("parameters",) * 2)
OUTPUTS = ("output", "grad_input")
#: With beta=0 their first input is ignored, NaN in it too, and often never written (torch.empty).
#: https://docs.pytorch.org/docs/stable/generated/torch.baddbmm.html
SCALED = ("addmm", "addmv", "addbmm", "baddbmm")


def read_operator(
    name: str, entry: Any, order: int, files: Path, places: dict[str, Place], modules: Mapping[str, Module]
) -> Operator:
    """Read one entry; the tensors' files lie in `files`. Raises ValueError, TypeError, KeyError or AttributeError where
    it is none."""
    head, direction, call = split_name(name)
    forward = name.replace(f".{BACKWARD}", f".{FORWARD}")
    module = parse_module(f"{head}.{FORWARD}.0") or modules.get(forward, modules.get(name))
    if direction == PARAMETERS:
        outputs = tuple(_find_tensors(entry, "output", files))
        return Operator(name, head, call, direction, order, (), outputs, places.get(name), module=module)
    inputs = tuple(t for part, slot in INPUTS for t in _find_tensors(entry.get(part), slot, files))
    outputs = tuple(t for part in OUTPUTS for t in _find_tensors(entry.get(part), "output", files))
    plain = tuple(p for part in ("input_args", "input_kwargs") for p in plain_arguments(entry.get(part), "input"))
    if direction == FORWARD and head.rpartition(".")[2].rstrip("_") in SCALED and ("input.beta", 0) in plain:
        inputs = tuple(record for record in inputs if record.slot != "input.0")
    place = places.get(name, places.get(forward))
    return Operator(name, head, call, direction, order, inputs, outputs, place, plain, module)


def saved_operator(name: str, entry: Any, order: int, files: Path) -> Operator:
    """What a script saved under a name: `<name>.<call>.debug`, and `<name>_grad.<call>.debug` for its gradient. It has
    no inputs: nothing tells what it was made of. Raises as `read_operator` does."""
    head, call, kind = name.rsplit(".", 2)
    if kind != "debug":
        raise ValueError(f"{name}: expected <name>.<call>.debug")
    return Operator(name, head, int(call), FORWARD, order, (), tuple(_find_tensors(entry, "output", files)), None)


def rename_parameters(operator: Operator) -> Operator:
    """Return a cell with torch's names of its parameters: MindSpore's gamma is a weight."""
    if not operator.is_module:
        return operator

    def rename_slot(record: TensorRecord) -> TensorRecord:
        parts = record.slot.split(".")
        is_parameter = parts[0] == "parameters" or operator.direction == PARAMETERS
        slot = ".".join(MINDSPORE_PARAMETERS.get(part, part) for part in parts) if is_parameter else record.slot
        return replace(record, slot=slot)

    inputs, outputs = (tuple(map(rename_slot, records)) for records in (operator.inputs, operator.outputs))
    return replace(operator, inputs=inputs, outputs=outputs)


def split_name(name: str) -> tuple[str, str, int]:
    """Split a name as msprobe gives it into head, direction and call number.

    APIs end in `<call>.<direction>` (`Functional.conv2d.0.forward`), modules in `<direction>.<call>`; 8.x gave
    parameter gradients no number."""
    if name.endswith(f".{PARAMETERS}"):
        return name[: -len(PARAMETERS) - 1], PARAMETERS, 0
    head, first, second = name.rsplit(".", 2)
    if second in (FORWARD, BACKWARD):
        return head, second, int(first)
    if first in (FORWARD, BACKWARD, PARAMETERS):
        return head, first, int(second)
    raise ValueError(f"{name}: expected <name>.<call>.<direction> or <name>.<direction>.<call>")


def _find_tensors(part: object, slot: str, files: Path) -> Iterator[TensorRecord]:
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


def read_statistic(value: object) -> float | None:
    """Return a statistic as a number, or None where there is none."""
    return float(value) if isinstance(value, (int, float)) else None
