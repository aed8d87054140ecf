"""Convolutions under torch_npu's own names: PyTorch's. npu_conv2d.md, npu_convolution.md and their neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import wide, wide_or_none
from .registry import FLOATS, reference

Ints = Sequence[int]
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]
TYPES = {"input": FLOATS, "weight": FLOATS}


def _padding(padding: Ints, sides: int) -> list[int]:
    """One number per dimension; a number per side, as the fused operators pass it, only where all are one."""
    if len(padding) == 2 * sides and len(set(padding)) == 1:
        return list(padding[:sides])
    return list(padding)


def _convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    output_padding: Ints | None = None,
) -> Tensor:  # fmt: skip
    """With `output_padding` the transposed convolution."""
    added = [0] * len(stride) if output_padding is None else list(output_padding)
    y = torch.convolution(
        wide(x), wide(weight), wide_or_none(bias), list(stride), _padding(padding, len(stride)), list(dilation),
        output_padding is not None, added, groups,
    )  # fmt: skip
    return y.to(x.dtype)


def _backward(
    x: Tensor, grad: Tensor, weight: Tensor, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    mask: Sequence[bool], output_padding: Ints | None = None,
) -> Gradients:  # fmt: skip
    """(dinput, dweight, dbias), None where the mask asks for none."""
    added = [0] * len(stride) if output_padding is None else list(output_padding)
    channels = [grad.shape[1]]
    found = torch.ops.aten.convolution_backward(
        wide(grad), wide(x), wide(weight), channels, list(stride), _padding(padding, len(stride)), list(dilation),
        output_padding is not None, added, groups, list(mask),
    )  # fmt: skip
    dx, dweight, dbias = (
        None if value is None or not wanted else value.to(weight.dtype) for value, wanted in zip(found, mask)
    )
    return dx, dweight, dbias


@reference("npu::npu_convolution", dtypes=TYPES)
def npu_convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolution(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_convolution_backward", dtypes=TYPES)
def npu_convolution_backward(
    input: Tensor, grad_output: Tensor, weight: Tensor, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    output_mask: Sequence[bool],
) -> Gradients:  # fmt: skip
    return _backward(input, grad_output, weight, stride, padding, dilation, groups, output_mask)


@reference("npu::npu_conv2d", dtypes=TYPES)
def npu_conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolution(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_conv2d.out", dtypes=TYPES, writes=("out",))
def npu_conv2d_out(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolution(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_conv2d_backward", dtypes=TYPES)
def npu_conv2d_backward(
    input: Tensor, grad_output: Tensor, weight: Tensor, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    output_mask: Sequence[bool],
) -> Gradients:  # fmt: skip
    return _backward(input, grad_output, weight, stride, padding, dilation, groups, output_mask)


@reference("npu::npu_conv3d", dtypes=TYPES)
def npu_conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolution(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_conv3d.out", dtypes=TYPES, writes=("out",))
def npu_conv3d_out(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolution(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_conv3d_backward", dtypes=TYPES)
def npu_conv3d_backward(
    input: Tensor, grad: Tensor, weight: Tensor, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    output_mask: Sequence[bool],
) -> Gradients:  # fmt: skip
    return _backward(input, grad, weight, stride, padding, dilation, groups, output_mask)


@reference("npu::npu_conv_transpose2d", dtypes=TYPES)
def npu_conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None, padding: Ints, output_padding: Ints, stride: Ints,
    dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    return _convolution(input, weight, bias, stride, padding, dilation, groups, output_padding)


@reference("npu::npu_conv_transpose2d_backward", dtypes=TYPES)
def npu_conv_transpose2d_backward(
    input: Tensor, grad_output: Tensor, weight: Tensor, padding: Ints, output_padding: Ints, stride: Ints,
    dilation: Ints, groups: int, output_mask: Sequence[bool],
) -> Gradients:  # fmt: skip
    return _backward(input, grad_output, weight, stride, padding, dilation, groups, output_mask, output_padding)


@reference("npu::npu_conv_transpose3d_backward", dtypes=TYPES)
def npu_conv_transpose3d_backward(
    input: Tensor, grad_output: Tensor, weight: Tensor, padding: Ints, output_padding: Ints, stride: Ints,
    dilation: Ints, groups: int, output_mask: Sequence[bool],
) -> Gradients:  # fmt: skip
    return _backward(input, grad_output, weight, stride, padding, dilation, groups, output_mask, output_padding)


@reference("npu::npu_convolution_transpose", dtypes=TYPES)
def npu_convolution_transpose(
    input: Tensor, weight: Tensor, bias: Tensor | None, padding: Ints, output_padding: Ints, stride: Ints,
    dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    return _convolution(input, weight, bias, stride, padding, dilation, groups, output_padding)


@reference("npu::npu_convolution_transpose_backward", dtypes=TYPES)
def npu_convolution_transpose_backward(
    input: Tensor, grad: Tensor, weight: Tensor, padding: Ints, output_padding: Ints, stride: Ints,
    dilation: Ints, groups: int, grad_input_mask: Sequence[bool],
) -> Gradients:  # fmt: skip
    return _backward(input, grad, weight, stride, padding, dilation, groups, grad_input_mask, output_padding)


@reference("npu::_conv_depthwise2d_backward", dtypes=TYPES)
def conv_depthwise2d_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, kernel_size: Ints, stride: Ints, padding: Ints,
    dilation: Ints, output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:  # fmt: skip
    mask = [*output_mask, False]
    dx, dweight, _ = _backward(input, grad_output, weight, stride, padding, dilation, input.shape[1], mask)
    return dx, dweight


@reference("npu::slow_conv_dilated2d_backward", dtypes=TYPES)
def slow_conv_dilated2d_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, kernel_size: Ints, stride: Ints, padding: Ints,
    dilation: Ints, output_mask: Sequence[bool],
) -> Gradients:  # fmt: skip
    return _backward(input, grad_output, weight, stride, padding, dilation, 1, output_mask)


@reference("npu::slow_conv_transpose2d_backward", dtypes=TYPES)
def slow_conv_transpose2d_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, kernel_size: Ints, stride: Ints, padding: Ints,
    output_padding: Ints, dilation: Ints, output_mask: Sequence[bool],
) -> Gradients:  # fmt: skip
    return _backward(input, grad_output, weight, stride, padding, dilation, 1, output_mask, output_padding)
