"""Slices of a tensor replaced, one per batch. Formulas: scatter_update.md, npu_quant_scatter.md (registry.DOCUMENTS),
aclnnInplaceScatterUpdate.md, aclnnInplaceQuantScatter.md (https://gitcode.com/cann/ops-nn).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .low_bits import asked_dtype
from .quantisation import INDICES, quantise_by_scales
from .registry import FLOATS, HALVES, reference

VALUES = (*FLOATS, torch.int8, torch.uint8, torch.int32)
UPDATES = {"input": VALUES, "indices": INDICES, "updates": VALUES}


def replace_rows(name: str, data: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Return data where data[i, ..., indices[i] + k, ...] = updates[i, ..., k, ...], k along the axis; 2D indices:
    (batch, start).
    """
    _check_arguments(name, data, indices, updates, axis)
    pairs = indices.tolist() if indices.dim() == 2 else list(enumerate(indices.reshape(-1).tolist()))
    result, dim, length = data.clone(), axis % data.dim() - 1, updates.shape[axis]
    for row, (batch, start) in enumerate(pairs):
        if not (0 <= batch < data.shape[0] and 0 <= start <= data.shape[axis] - length):
            raise RuntimeError(f"{name}: indices[{row}] puts {length} entries outside of the tensor {data.shape}")
        result[batch].narrow(dim, start, length).copy_(updates[row])
    return result


def _check_arguments(name: str, data: Tensor, indices: Tensor, updates: Tensor, axis: int) -> None:
    if not -data.dim() < axis < data.dim() or axis == 0:
        raise RuntimeError(f"{name}: axis should be between {1 - data.dim()} and {data.dim() - 1} and not 0")
    if data.dtype != updates.dtype or data.dim() != updates.dim():
        raise RuntimeError(f"{name}: updates should have the dtype and the number of dimensions of the tensor")
    if indices.dim() > 2 or (indices.dim() == 2 and indices.shape[1] != 2):
        raise RuntimeError(f"{name}: indices should have the shape (n,) or (n, 2), but got {indices.shape}")
    rest = [size for dim, size in enumerate(updates.shape) if dim not in (0, axis % data.dim())]
    if rest != [size for dim, size in enumerate(data.shape) if dim not in (0, axis % data.dim())]:
        raise RuntimeError(f"{name}: updates {updates.shape} do not fit {data.shape} outside of the axis {axis}")
    if updates.shape[0] != (indices.shape[0] if indices.dim() else 1) or updates.shape[0] > data.shape[0]:
        raise RuntimeError(f"{name}: updates should have one entry per index, and at most {data.shape[0]}")


@reference("npu::scatter_update", dtypes=UPDATES)
def scatter_update(input: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """A copy of the tensor with slices replaced."""
    return replace_rows("scatter_update", input, indices, updates, axis)


@reference("npu::scatter_update_", dtypes=UPDATES, writes=("input",))
def scatter_update_(input: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    return replace_rows("scatter_update_", input, indices, updates, axis)


QUANTISED = {
    "input": (torch.int8,),
    "indices": INDICES,
    "updates": HALVES,
    "quant_scales": (torch.bfloat16, torch.float32),
    "quant_zero_points": (torch.bfloat16, torch.int32),
}


def _update_quantised(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    axis: int,
    quant_axis: int,
    reduce: str,
) -> Tensor:
    name, rank = "npu_quant_scatter", updates.dim()
    if reduce != "update":
        raise RuntimeError(f"{name}: reduce should be 'update', but got '{reduce}'")
    if quant_axis % rank != rank - 1 or axis % rank in (0, rank - 1):
        raise RuntimeError(f"{name}: quant_axis should be the last dimension, and axis neither the first nor the last")
    if updates.shape[-1] % 32:
        raise RuntimeError(f"{name}: the last dimension should be a multiple of 32 bytes, in int8")
    brain = updates.dtype == torch.bfloat16
    for values, dtype in ((scales, torch.float32), (zero_points, torch.int32)):
        dtype = torch.bfloat16 if brain else dtype
        if values is not None and (values.numel() != updates.shape[-1] or values.dtype != dtype):
            raise RuntimeError(f"{name}: quant_scales or quant_zero_points of {values.dtype} {values.shape} do not fit")
    zeros = None if zero_points is None else zero_points.reshape(-1)
    return replace_rows(
        name, data, indices, quantise_by_scales(updates, scales.reshape(-1), zeros, torch.int8, -1), axis
    )


def _as_the_a2(dst_type: torch.dtype | int | None, round_mode: str | None) -> None:
    asked_dtype(dst_type, torch.int8, (torch.int8,), "npu_quant_scatter: dst_type")
    if round_mode not in (None, "rint"):
        raise NotImplementedError(f"the NPU simulator lacks npu_quant_scatter with round_mode {round_mode}")


@reference("npu::npu_quant_scatter", dtypes=QUANTISED)
def npu_quant_scatter(
    input: Tensor,
    indices: Tensor,
    updates: Tensor,
    quant_scales: Tensor,
    quant_zero_points: Tensor | None = None,
    axis: int = -2,
    quant_axis: int = -1,
    reduce: str = "update",
    dst_type: torch.dtype | int | None = None,
    round_mode: str | None = "rint",
) -> Tensor:
    """A copy of the tensor with slices replaced by round(updates / scales + zero_points)."""
    _as_the_a2(dst_type, round_mode)
    return _update_quantised(input, indices, updates, quant_scales, quant_zero_points, axis, quant_axis, reduce)


@reference("npu::npu_quant_scatter_", dtypes=QUANTISED, writes=("input",))
def npu_quant_scatter_(
    input: Tensor,
    indices: Tensor,
    updates: Tensor,
    quant_scales: Tensor,
    quant_zero_points: Tensor | None = None,
    axis: int = -2,
    quant_axis: int = -1,
    reduce: str = "update",
    dst_type: torch.dtype | int | None = None,
    round_mode: str | None = "rint",
) -> Tensor:
    _as_the_a2(dst_type, round_mode)
    return _update_quantised(input, indices, updates, quant_scales, quant_zero_points, axis, quant_axis, reduce)
