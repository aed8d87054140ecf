"""Largest, smallest, sorted, gathered, scattered. Formulas: npu_max.md, npu_one_hot.md, npu_sort_v2.md and others.

torch_npu.npu_top_k_top_p: logits outside of the k best, or of the probable ones, become -inf.

Formula: npu_top_k_top_p.md (registry.DOCUMENTS).

Slices of a tensor replaced, one per batch. Formulas: scatter_update.md, npu_quant_scatter.md (registry.DOCUMENTS).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .quantisation import INDICES, asked_dtype, quantise_by_scales
from .registry import FLOATS, HALVES, Arguments, reference, takes

Ints = Sequence[int]


@reference("npu::npu_max.dim")
def npu_max(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(values, indices in int32)."""
    values, indices = input.max(dim, keepdim)
    return values, indices.to(torch.int32)


@reference("npu::npu_min.dim")
def npu_min(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(values, indices in int32)."""
    values, indices = input.min(dim, keepdim)
    return values, indices.to(torch.int32)


@reference("npu::npu_max_backward")
@reference("npu::npu_min_backward")
def npu_max_backward(grad: Tensor, dim: int, indices: Tensor, sizes: Ints, keepdim: bool) -> Tensor:
    """The gradient goes to the element that was chosen."""
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(list(sizes)).scatter(dim, indices.long(), grad)


@reference("npu::npu_sort_v2", dtypes={"input": FLOATS})
@reference("npu::npu_sort_v2.out", dtypes={"input": FLOATS}, writes=("out",))
def npu_sort_v2(input: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """The sorted values, without indices."""
    return input.sort(dim, descending)[0]


@reference("aten::one_hot", dtypes={"self": (torch.uint8, torch.int32, torch.int64)})
def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """In the type of the classes, where the CPU takes and gives int64 only; a class out of range is a row of zeros.

    op_plugin/ops/opapi/OneHotKernelNpuOpApi.cpp.
    """
    if num_classes < -1:
        raise RuntimeError("NPU error, not yet support negative num_classes, when num_classes less than -1")
    if self.numel() == 0 and num_classes <= 0:
        raise RuntimeError("NPU error, can not infer total number of classes from empty tensor.")
    depth = max(int(self.max()) + 1, 1) if num_classes == -1 else num_classes
    return (self.long().unsqueeze(-1) == torch.arange(depth)).to(self.dtype)


@reference("npu::npu_one_hot")
def npu_one_hot(
    input: Tensor, num_classes: int = -1, depth: int = 1, on_value: float = 1, off_value: float = 0
) -> Tensor:
    """float32 of shape (..., depth); `num_classes` is the axis. A class outside of the depth has no on_value."""
    if num_classes not in (-1, input.dim()):
        raise NotImplementedError("the NPU simulator lacks npu_one_hot with num_classes other than -1")
    hit = input.long().unsqueeze(-1) == torch.arange(depth, device=input.device)
    return torch.where(hit, float(on_value), float(off_value)).to(torch.float32)


@reference("npu::npu_masked_fill_range")
def npu_masked_fill_range(input: Tensor, start: Tensor, end: Tensor, value: Tensor, axis: int = -1) -> Tensor:
    """value[i] from start[i, j] to end[i, j] along the axis, in entry j of the first dimension (in all, on axis 0)."""
    if not -input.dim() <= axis < input.dim():
        raise RuntimeError(f"axis overfloaw the range, expected in range [{-input.dim()} {input.dim() - 1}] ")
    if start.dim() != 2 or start.shape != end.shape:
        raise RuntimeError("Expected noempty 2D start tensor and start' sizes() should be equal end's sizes() ")
    if start.shape[0] != value.shape[0]:
        raise RuntimeError("Expected value.length equal start loop num ")
    if input.dtype != value.dtype:
        raise TypeError(f"value dtype should be equal self dtype !, but value dtype is {value.dtype}")
    result, dim = input.clone(), axis % input.dim()
    for i, (firsts, lasts) in enumerate(zip(start.tolist(), end.tolist())):
        for j, (first, last) in enumerate(zip(firsts, lasts)):
            if dim > 0 and (input.dim() == 2 or dim == 2):
                result[j].narrow(dim - 1, first, last - first).fill_(value[i])
            else:
                result.narrow(dim, first, last - first).fill_(value[i])
    return result


@reference("npu::npu_gather_sparse_index")
def npu_gather_sparse_index(input: Tensor, index: Tensor) -> Tensor:
    """Rows of the input, as an embedding."""
    return input[index]


@reference("npu::npu_gather_sparse_index_backward", dtypes={"grad": FLOATS})
def npu_gather_sparse_index_backward(grad: Tensor, self_sizes: Ints, index: Tensor) -> Tensor:
    total = as_wide(grad).new_zeros(list(self_sizes))
    total.index_add_(0, index.flatten().long(), as_wide(grad).reshape(index.numel(), *self_sizes[1:]))
    return total.to(grad.dtype)


@reference("npu::npu_gather_backward", dtypes={"grad": FLOATS})
def npu_gather_backward(grad: Tensor, self_size: Ints, dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    if sparse_grad:
        raise NotImplementedError("the NPU simulator lacks sparse gradients")
    return as_wide(grad).new_zeros(list(self_size)).scatter_add_(dim, index.long(), as_wide(grad)).to(grad.dtype)


@reference("npu::npu_scatter_nd_update")
@reference("npu::npu_scatter_nd_update_", writes=("input",))
def npu_scatter_nd_update(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """input[indices[..., 0], indices[..., 1], ...] = updates."""
    result = input.clone()
    result[tuple(indices.long().unbind(-1))] = updates
    return result


@reference("npu::_npu_index_add", dtypes={"source": (*FLOATS, torch.int32, torch.int64)})
@reference("npu::_npu_index_add_", dtypes={"source": (*FLOATS, torch.int32, torch.int64)}, writes=("input",))
def npu_index_add(input: Tensor, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    return input.index_add(0, index, source, alpha=alpha)


@reference("npu::repeat_interleave_backward_int", dtypes={"grad": FLOATS})
def repeat_interleave_backward_int(grad: Tensor, input: Tensor, repeats: int, dim: int | None = None) -> Tensor:
    if dim is None:
        return as_wide(grad).reshape(*input.shape, repeats).sum(-1).to(grad.dtype)
    axis = dim % input.dim()
    return as_wide(grad).unflatten(axis, (input.shape[axis], repeats)).sum(axis + 1).to(grad.dtype)


@reference("npu::repeat_interleave_backward_tensor", dtypes={"grad": FLOATS})
def repeat_interleave_backward_tensor(grad: Tensor, input: Tensor, repeats: Tensor, dim: int | None = None) -> Tensor:
    axis = 0 if dim is None else dim
    target = as_wide(grad).new_zeros([input.numel()] if dim is None else input.shape)
    places = torch.arange(target.shape[axis], device=grad.device)
    counts = repeats.expand(target.shape[axis]) if repeats.numel() == 1 else repeats
    total = target.index_add(axis, places.repeat_interleave(counts), as_wide(grad))
    return total.reshape(input.shape).to(grad.dtype)


@reference("npu::npu_top_k_top_p", dtypes={"logits": FLOATS, "p": FLOATS, "k": (torch.int32,)})
def npu_top_k_top_p(logits: Tensor, p: Tensor | None = None, k: Tensor | None = None) -> Tensor:
    """logits (batch, vocabulary), p and k (batch). Probabilities are those after k; the best one always stays."""
    if p is None and k is None:
        raise RuntimeError("npu_top_k_top_p needs p or k")
    for name, limits in (("p", p), ("k", k)):
        if limits is not None and limits.shape != logits.shape[:1]:
            raise RuntimeError(f"npu_top_k_top_p: {name} {list(limits.shape)} for logits {list(logits.shape)}")
    values, order = logits.sort(dim=-1, stable=True)
    if k is not None:
        if bool((k < 1).any()) or bool((k > min(1024, logits.shape[1])).any()):
            raise RuntimeError(f"npu_top_k_top_p: k must be from 1 to {min(1024, logits.shape[1])}")
        smallest = values.gather(1, (logits.shape[1] - k.long())[:, None])
        values = values.masked_fill(values < smallest, -math.inf)
    if p is not None:
        small = as_wide(values).softmax(-1).cumsum(-1) <= 1 - as_wide(p)[:, None]
        small[:, -1] = False
        values = values.masked_fill(small, -math.inf)
    return torch.empty_like(values).scatter_(1, order, values)


VALUES = (*FLOATS, torch.int8, torch.uint8, torch.int32)
UPDATES = {"input": VALUES, "indices": INDICES, "updates": VALUES}


def replace_rows(name: str, data: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Return data[i, ..., indices[i] + k, ...] = updates[i, ..., k, ...], k along axis; 2D indices: (batch, start)."""
    _check_updates(name, data, indices, updates, axis)
    pairs = indices.tolist() if indices.dim() == 2 else list(enumerate(indices.reshape(-1).tolist()))
    result, dim, length = data.clone(), axis % data.dim() - 1, updates.shape[axis]
    for row, (batch, start) in enumerate(pairs):
        if not (0 <= batch < data.shape[0] and 0 <= start <= data.shape[axis] - length):
            raise RuntimeError(f"{name}: indices[{row}] puts {length} entries outside of the tensor {data.shape}")
        result[batch].narrow(dim, start, length).copy_(updates[row])
    return result


def _check_updates(name: str, data: Tensor, indices: Tensor, updates: Tensor, axis: int) -> None:
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


@reference("npu::npu_quant_scatter", dtypes=QUANTISED)
@reference("npu::npu_quant_scatter_", dtypes=QUANTISED, writes=("input",))
@takes(
    "Tensor input, Tensor indices, Tensor updates, Tensor quant_scales, Tensor? quant_zero_points=None, int axis=-2, "
    'int quant_axis=-1, str reduce="update", int? dst_type=None, str? round_mode="rint"'
)
def npu_quant_scatter(call: Arguments) -> Tensor:
    """A copy of the tensor with slices replaced by round(updates / scales + zero_points)."""
    name, rank = "npu_quant_scatter", call.updates.dim()
    asked_dtype(call.dst_type, torch.int8, (torch.int8,), "npu_quant_scatter: dst_type")
    if call.round_mode not in (None, "rint"):
        raise NotImplementedError(f"the NPU simulator lacks npu_quant_scatter with round_mode {call.round_mode}")
    if call.reduce != "update":
        raise RuntimeError(f"{name}: reduce should be 'update', but got '{call.reduce}'")
    if call.quant_axis % rank != rank - 1 or call.axis % rank in (0, rank - 1):
        raise RuntimeError(f"{name}: quant_axis should be the last dimension, and axis neither the first nor the last")
    if call.updates.shape[-1] % 32:
        raise RuntimeError(f"{name}: the last dimension should be a multiple of 32 bytes, in int8")
    brain = call.updates.dtype == torch.bfloat16
    for values, dtype in ((call.quant_scales, torch.float32), (call.quant_zero_points, torch.int32)):
        dtype = torch.bfloat16 if brain else dtype
        if values is not None and (values.numel() != call.updates.shape[-1] or values.dtype != dtype):
            raise RuntimeError(f"{name}: quant_scales or quant_zero_points of {values.dtype} {values.shape} do not fit")
    zeros = None if call.quant_zero_points is None else call.quant_zero_points.reshape(-1)
    updates = quantise_by_scales(call.updates, call.quant_scales.reshape(-1), zeros, torch.int8, -1)
    return replace_rows(name, call.input, call.indices, updates, call.axis)
