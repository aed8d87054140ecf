"""A sample of the operator database on the simulated NPU, with the strides and the storages that it has on the CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

#: The operator's contract wants this argument on the CPU, on every device ("expected ... to be on cpu").
INDICES_STAY_ON_CPU = {"tensor_split"}

Given = tuple[Any, tuple[Any, ...], dict[str, Any]]  # input, args, kwargs


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def moved(value: Any, device: str) -> Any:
    """The value with its tensors copied to the device; a view keeps the storage around it (as_strided reads beyond)."""
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


def arguments_on(device: str, op: Any, given: Given) -> Given:
    if op.name in INDICES_STAY_ON_CPU:
        return moved(given[0], device), given[1], given[2]
    input, args, kwargs = (tree_map(lambda value: moved(value, device), part) for part in given)
    return input, args, kwargs


def widened(given: Given) -> Given:
    """Half-precision tensors as float32 leaves."""

    def wide(value: Any) -> Any:
        half = isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)
        return value.detach().float().requires_grad_(value.requires_grad) if half else value

    input, args, kwargs = (tree_map(wide, part) for part in given)
    return input, args, kwargs


def on_cpu(result: Any) -> Any:
    return tree_map(lambda value: value.detach().cpu() if isinstance(value, torch.Tensor) else value, result)


def astray(result: Any) -> str:
    """The device of a result that has left the NPU."""
    places = {str(tensor.device) for tensor in tensors(result)}
    return ", ".join(sorted(place for place in places if not place.startswith("npu")))
