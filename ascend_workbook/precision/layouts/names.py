"""What a tensor file's name tells: the operator's call, its direction and the tensor's slot.

ptdbg_ascend's names (`Functional_conv2d_0_forward_input.0`) become msprobe's, so that runs of both tools pair.
https://gitcode.com/Ascend/mstt, debug/accuracy_tools/ptdbg_ascend/src/python/ptdbg_ascend/hook_module
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ascend_workbook.precision.layouts.entries import split_name
from ascend_workbook.precision.record import Operator

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
