"""Reshaping, slicing, filling. Formulas: npu_transpose.md, npu_confusion_transpose.md, npu_indexing.md and others."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .registry import Arguments, reference, takes

Ints = Sequence[int]


@reference("npu::npu_transpose")
@reference("npu::npu_transpose.out", writes=("out",))
def npu_transpose(input: Tensor, perm: Ints, require_contiguous: bool = True) -> Tensor:
    return input.permute(list(perm)).contiguous()


@reference("npu::npu_reshape")
@reference("npu::npu_reshape.out", writes=("out",))
def npu_reshape(input: Tensor, shape: Ints, can_refresh: bool = False) -> Tensor:
    return input.reshape(list(shape))


@reference("npu::npu_broadcast")
@reference("npu::npu_broadcast.out", writes=("out",))
def npu_broadcast(input: Tensor, size: Ints) -> Tensor:
    return input.expand(list(size)).contiguous()


@reference("npu::npu_slice")
@reference("npu::npu_slice.out", writes=("out",))
def npu_slice(input: Tensor, offsets: Ints, size: Ints) -> Tensor:
    """From each offset on, so many elements; -1 takes the rest."""
    for dim, (offset, length) in enumerate(zip(offsets, size)):
        input = input.narrow(dim, offset, input.shape[dim] - offset if length == -1 else length)
    return input.contiguous()


@reference("npu::npu_pad")
def npu_pad(input: Tensor, paddings: Ints) -> Tensor:
    """Zeros before and after each dimension, the first dimension's numbers first."""
    pairs = [*paddings, *[0] * (2 * input.dim() - len(paddings))]
    result = input.new_zeros([size + pairs[2 * i] + pairs[2 * i + 1] for i, size in enumerate(input.shape)])
    inner = result
    for dim, size in enumerate(input.shape):
        inner = inner.narrow(dim, pairs[2 * dim], size)
    inner.copy_(input)
    return result


@reference("npu::npu_confusion_transpose")
def npu_confusion_transpose(input: Tensor, perm: Ints, shape: Ints, transpose_first: bool) -> Tensor:
    """permute then reshape, or reshape then permute."""
    order, size = list(perm), list(shape)
    result = input.permute(order).reshape(size) if transpose_first else input.reshape(size).permute(order)
    return result.contiguous()


@reference("npu::npu_confusion_transpose_backward")
def npu_confusion_transpose_backward(grad: Tensor, perm: Ints, shape: Ints, transpose_first: bool) -> Tensor:
    """`shape` is the input's; `transpose_first` is what the forward did not do."""
    inverse = [list(perm).index(dim) for dim in range(len(perm))]
    if transpose_first:
        return grad.permute(inverse).reshape(list(shape))
    return grad.reshape([shape[dim] for dim in perm]).permute(inverse).contiguous()


@reference("npu::npu_stride_copy")
@reference("npu::npu_stride_copy.out", writes=("out",))
def npu_stride_copy(input: Tensor, shape: Ints, stride: Ints, storage_offset: int) -> Tensor:
    return input.as_strided(list(shape), list(stride), int(storage_offset)).clone()


@reference("npu::npu_indexing")
@reference("npu::npu_indexing.out", writes=("out",))
@takes(
    "Tensor input, int[] begin, int[] end, int[] strides, int begin_mask=0, int end_mask=0, int ellipsis_mask=0, "
    "int new_axis_mask=0, int shrink_axis_mask=0"
)
def npu_indexing(call: Arguments) -> Tensor:
    """As TensorFlow's StridedSlice slices."""
    if call.ellipsis_mask or call.new_axis_mask:
        raise NotImplementedError("the NPU simulator lacks npu_indexing with ellipsis_mask or new_axis_mask")
    shrunk = []
    for dim, (first, last, step) in enumerate(zip(call.begin, call.end, call.strides)):
        places = list(range(call.input.shape[dim]))
        if call.shrink_axis_mask >> dim & 1:
            places = [first % call.input.shape[dim]]
            shrunk.append(dim)
        else:
            places = places[
                None if call.begin_mask >> dim & 1 else first : None if call.end_mask >> dim & 1 else last : step
            ]
        call.input = call.input.index_select(dim, torch.tensor(places, dtype=torch.int64, device=call.input.device))
    for dim in reversed(shrunk):
        call.input = call.input.squeeze(dim)
    return call.input.contiguous()


@reference("npu::npu_stride_add")
def npu_stride_add(input: Tensor, other: Tensor, offset1: int, offset2: int, c1_len: int) -> Tensor:
    """Of tensors (N, C1, ...): c1_len entries of each from its offset, added; then zeros up to 16 * c1_len entries."""
    first, second = input.narrow(1, int(offset1), int(c1_len)), other.narrow(1, int(offset2), int(c1_len))
    result = input.new_zeros([input.shape[0], 16 * int(c1_len), *input.shape[2:]])
    result[:, : int(c1_len)] = first + second
    return result


@reference("npu::one_", writes=("input",))
def one_(input: Tensor) -> Tensor:
    return torch.ones_like(input)


@reference("npu::npu_view_copy", writes=("input",))
def npu_view_copy(input: Tensor, other: Tensor, non_blocking: bool) -> Tensor:
    return other.expand_as(input).to(input.dtype)
