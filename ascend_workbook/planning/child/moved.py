"""A launch plugin: a training that never uses the NPU is moved there, to tell what memory it would take.

A model's parameters move before its first forward pass, where they stand: an optimizer that holds them goes on. Where
an operator is asked for tensors of the host and of the NPU, those of the host are copied. Runs in the user's process by
path and imports nothing of the workbook.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

#: This file's frames stand between the program and torch; whose line it is must not change by that.
PASSES_THROUGH = True
#: What asks for a tensor's place, its values or its neighbours, and is no operator that has to have all in one place.
LEFT_ALONE = frozenset(
    {"to", "cpu", "npu", "cuda", "item", "tolist", "copy_", "set_", "__set__", "__get__", "type_as", "save"}
)
#: What a tensor of the host alone has.
READ_ON_HOST = frozenset({"numpy", "__array__"})


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Move models from their first forward pass on."""
    notes = observer.open_notes("stand_ins.jsonl")

    def move(module: torch.nn.Module) -> None:
        if any(each.device.type == "cpu" for each in (*module.parameters(), *module.buffers())):
            move_in_place(module)
            notes.add("moved", type(module).__name__, guessed=False)

    observer.on_forward(move)
    observer.on_model(lambda module: MovesOperands().__enter__())


def move_in_place(module: torch.nn.Module) -> None:
    """Let a module's parameters and buffers lie on the NPU; the objects stay, and who holds one has it there."""
    for parameter in module.parameters():
        if parameter.device.type == "cpu":
            parameter.data = parameter.data.to("npu")
            if parameter.grad is not None:
                parameter.grad = parameter.grad.to("npu")
    for part in module.modules():
        for name, buffer in part.named_buffers(recurse=False):
            if buffer.device.type == "cpu":
                setattr(part, name, buffer.to("npu"))


class MovesOperands(TorchFunctionMode):  # type: ignore[misc]
    """Copies operands to the NPU where others lie there."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        if name in READ_ON_HOST:
            args = tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), args)
        elif name not in LEFT_ALONE:
            args, kwargs = move_operands(args, kwargs, writes=writes_in_place(name))
        return function(*args, **kwargs)


def writes_in_place(name: str) -> bool:
    """Return whether an operator of that name writes to its first operand."""
    return name == "__setitem__" or name.endswith("_") and not name.endswith("__")


def move_operands(args: Any, kwargs: Any, *, writes: bool = False) -> tuple[Any, Any]:
    """Return operands with those of the host on the NPU, where one of them lies there and one does not.

    One that is written to (`writes`: the first) moves itself, so that who holds it has what was written."""
    places: set[tuple[str, bool]] = set()

    def look(tensor: torch.Tensor) -> torch.Tensor:
        places.add((tensor.device.type, tensor.dim() == 0))
        return tensor

    tree_map_only(torch.Tensor, look, (args, kwargs))
    if not any(place == "npu" for place, _ in places) or ("cpu", False) not in places:
        return args, kwargs
    written = args[0] if writes and args and isinstance(args[0], torch.Tensor) else None
    if written is not None and written.device.type == "cpu":
        if written._is_view() or not written.is_leaf:  # what shares its storage would not see what is written
            held: tuple[Any, Any] = tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), (args, kwargs))
            return held
        written.data = written.data.to("npu")
    move = lambda tensor: tensor.to("npu") if tensor.device.type == "cpu" else tensor  # noqa: E731
    moved: tuple[Any, Any] = tree_map_only(torch.Tensor, move, (args, kwargs))
    return moved
