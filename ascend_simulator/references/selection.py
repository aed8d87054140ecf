"""Largest, smallest, sorted, gathered, scattered. Formulas: npu_max.md, npu_one_hot.md, npu_sort_v2.md and others."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, reference

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


def _scatter_gradient(grad: Tensor, dim: int, indices: Tensor, sizes: Ints, keepdim: bool) -> Tensor:
    """Return the gradient, which goes to the element that was chosen."""
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(list(sizes)).scatter(dim, indices.long(), grad)


@reference("npu::npu_max_backward")
def npu_max_backward(grad: Tensor, dim: int, indices: Tensor, sizes: Ints, keepdim: bool) -> Tensor:
    return _scatter_gradient(grad, dim, indices, sizes, keepdim)


@reference("npu::npu_min_backward")
def npu_min_backward(grad: Tensor, dim: int, indices: Tensor, sizes: Ints, keepdim: bool) -> Tensor:
    return _scatter_gradient(grad, dim, indices, sizes, keepdim)


@reference("npu::npu_sort_v2", dtypes={"input": FLOATS})
def npu_sort_v2(input: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """The sorted values, without indices."""
    return input.sort(dim, descending)[0]


@reference("npu::npu_sort_v2.out", dtypes={"input": FLOATS}, writes=("out",))
def npu_sort_v2_out(input: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    return input.sort(dim, descending)[0]


@reference("aten::one_hot", dtypes={"self": (torch.uint8, torch.int32, torch.int64)})
def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """In the type of the classes, where the CPU takes and gives int64 only; a class out of range is a row of zeros.

    op_plugin/ops/opapi/OneHotKernelNpuOpApi.cpp; ops-math, aclnnOneHot.md.
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


def _update_rows(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    result = input.clone()
    result[tuple(indices.long().unbind(-1))] = updates
    return result


@reference("npu::npu_scatter_nd_update")
def npu_scatter_nd_update(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """input[indices[..., 0], indices[..., 1], ...] = updates."""
    return _update_rows(input, indices, updates)


@reference("npu::npu_scatter_nd_update_", writes=("input",))
def npu_scatter_nd_update_(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    return _update_rows(input, indices, updates)


@reference("npu::_npu_index_add", dtypes={"source": (*FLOATS, torch.int32, torch.int64)})
def npu_index_add(input: Tensor, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    return input.index_add(0, index, source, alpha=alpha)


@reference("npu::_npu_index_add_", dtypes={"source": (*FLOATS, torch.int32, torch.int64)}, writes=("input",))
def npu_index_add_(input: Tensor, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
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
