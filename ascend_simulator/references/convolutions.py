"""Convolutions under torch_npu's own names: PyTorch's. npu_conv2d.md, npu_convolution.md and their neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide, wide_or_none
from .registry import FLOATS, reference

Ints = Sequence[int]
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]
TYPES = {"input": FLOATS, "weight": FLOATS}


def _read_padding(padding: Ints, sides: int) -> list[int]:
    """Return one number per dimension; a number per side, as the fused operators pass it, only where all are one."""
    if len(padding) == 2 * sides and len(set(padding)) == 1:
        return list(padding[:sides])
    return list(padding)


def _convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    output_padding: Ints | None = None,
) -> Tensor:
    """Convolve; with `output_padding` it is the transposed convolution."""
    added = [0] * len(stride) if output_padding is None else list(output_padding)
    y = torch.convolution(
        as_wide(x),
        as_wide(weight),
        wide_or_none(bias),
        list(stride),
        _read_padding(padding, len(stride)),
        list(dilation),
        output_padding is not None,
        added,
        groups,
    )
    return y.to(x.dtype)


def _convolve_backward(
    x: Tensor,
    grad: Tensor,
    weight: Tensor,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    mask: Sequence[bool],
    output_padding: Ints | None = None,
) -> Gradients:
    """Return (dinput, dweight, dbias), None where the mask asks for none."""
    added = [0] * len(stride) if output_padding is None else list(output_padding)
    channels = [grad.shape[1]]
    gradients = torch.ops.aten.convolution_backward(
        as_wide(grad),
        as_wide(x),
        as_wide(weight),
        channels,
        list(stride),
        _read_padding(padding, len(stride)),
        list(dilation),
        output_padding is not None,
        added,
        groups,
        list(mask),
    )
    dx, dweight, dbias = (
        None if value is None or not wanted else value.to(weight.dtype) for value, wanted in zip(gradients, mask)
    )
    return dx, dweight, dbias


@reference("npu::npu_convolution", dtypes=TYPES)
def npu_convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_convolution_backward", dtypes=TYPES)
def npu_convolution_backward(
    input: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    output_mask: Sequence[bool],
) -> Gradients:
    return _convolve_backward(input, grad_output, weight, stride, padding, dilation, groups, output_mask)


@reference("npu::npu_conv2d", dtypes=TYPES)
def npu_conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_conv2d.out", dtypes=TYPES, writes=("out",))
def npu_conv2d_out(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_conv2d_backward", dtypes=TYPES)
def npu_conv2d_backward(
    input: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    output_mask: Sequence[bool],
) -> Gradients:
    return _convolve_backward(input, grad_output, weight, stride, padding, dilation, groups, output_mask)


@reference("npu::npu_conv3d", dtypes=TYPES)
def npu_conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_conv3d.out", dtypes=TYPES, writes=("out",))
def npu_conv3d_out(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups)


@reference("npu::npu_conv3d_backward", dtypes=TYPES)
def npu_conv3d_backward(
    input: Tensor,
    grad: Tensor,
    weight: Tensor,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    output_mask: Sequence[bool],
) -> Gradients:
    return _convolve_backward(input, grad, weight, stride, padding, dilation, groups, output_mask)


@reference("npu::npu_conv_transpose2d", dtypes=TYPES)
def npu_conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: Ints,
    output_padding: Ints,
    stride: Ints,
    dilation: Ints,
    groups: int,
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups, output_padding)


@reference("npu::npu_conv_transpose2d_backward", dtypes=TYPES)
def npu_conv_transpose2d_backward(
    input: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    padding: Ints,
    output_padding: Ints,
    stride: Ints,
    dilation: Ints,
    groups: int,
    output_mask: Sequence[bool],
) -> Gradients:
    return _convolve_backward(
        input, grad_output, weight, stride, padding, dilation, groups, output_mask, output_padding
    )


@reference("npu::npu_conv_transpose3d_backward", dtypes=TYPES)
def npu_conv_transpose3d_backward(
    input: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    padding: Ints,
    output_padding: Ints,
    stride: Ints,
    dilation: Ints,
    groups: int,
    output_mask: Sequence[bool],
) -> Gradients:
    return _convolve_backward(
        input, grad_output, weight, stride, padding, dilation, groups, output_mask, output_padding
    )


@reference("npu::npu_convolution_transpose", dtypes=TYPES)
def npu_convolution_transpose(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: Ints,
    output_padding: Ints,
    stride: Ints,
    dilation: Ints,
    groups: int,
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups, output_padding)


@reference("npu::npu_convolution_transpose_backward", dtypes=TYPES)
def npu_convolution_transpose_backward(
    input: Tensor,
    grad: Tensor,
    weight: Tensor,
    padding: Ints,
    output_padding: Ints,
    stride: Ints,
    dilation: Ints,
    groups: int,
    grad_input_mask: Sequence[bool],
) -> Gradients:
    return _convolve_backward(input, grad, weight, stride, padding, dilation, groups, grad_input_mask, output_padding)


@reference("npu::_conv_depthwise2d_backward", dtypes=TYPES)
def conv_depthwise2d_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    mask = [*output_mask, False]
    dx, dweight, _ = _convolve_backward(input, grad_output, weight, stride, padding, dilation, input.shape[1], mask)
    return dx, dweight


@reference("npu::slow_conv_dilated2d_backward", dtypes=TYPES)
def slow_conv_dilated2d_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    output_mask: Sequence[bool],
) -> Gradients:
    return _convolve_backward(input, grad_output, weight, stride, padding, dilation, 1, output_mask)


@reference("npu::slow_conv_transpose2d_backward", dtypes=TYPES)
def slow_conv_transpose2d_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
    output_mask: Sequence[bool],
) -> Gradients:
    return _convolve_backward(input, grad_output, weight, stride, padding, dilation, 1, output_mask, output_padding)
