"""A sample of the operator database on the simulated NPU, with the strides and the storages that it has on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo

#: The operator's contract wants this argument on the CPU, on every device ("expected ... to be on cpu").
INDICES_STAY_ON_CPU = {"tensor_split"}

Given = tuple[Any, tuple[Any, ...], dict[str, Any]]  # input, args, kwargs


def tensors_in(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def move_value(value: Any, device: str) -> Any:
    """Return the value with its tensors on the device; a view keeps the storage around it (as_strided reads beyond)."""
    if isinstance(value, (str, torch.device)) and str(value) == "cpu":
        return device
    if not isinstance(value, torch.Tensor):
        return value
    plain = value.detach()
    if value.layout != torch.strided or value.is_conj() or value.is_neg() or value.is_quantized:
        return plain.clone().to(device).requires_grad_(value.requires_grad)
    whole = torch.empty(0, dtype=value.dtype).set_(plain.untyped_storage())
    view = whole.clone().to(device).as_strided(value.size(), value.stride(), value.storage_offset())
    return view.detach().requires_grad_(value.requires_grad)


def arguments_on(device: str, op: OpInfo, inputs: Given) -> Given:
    if op.name in INDICES_STAY_ON_CPU:
        return move_value(inputs[0], device), inputs[1], inputs[2]
    input, args, kwargs = (tree_map(lambda value: move_value(value, device), part) for part in inputs)
    return input, args, kwargs


def widen_inputs(inputs: Given) -> Given:
    """Return half-precision tensors as float32 leaves."""

    def widen_tensor(value: Any) -> Any:
        half = isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)
        return value.detach().float().requires_grad_(value.requires_grad) if half else value

    input, args, kwargs = (tree_map(widen_tensor, part) for part in inputs)
    return input, args, kwargs


def on_cpu(result: Any) -> Any:
    return tree_map(lambda value: value.detach().cpu() if isinstance(value, torch.Tensor) else value, result)


def find_astray(result: Any) -> str:
    """Return the device of a result that has left the NPU."""
    places = {str(tensor.device) for tensor in tensors_in(result)}
    return ", ".join(sorted(place for place in places if not place.startswith("npu")))
