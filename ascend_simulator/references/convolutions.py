"""Convolutions under torch_npu's own names: PyTorch's. npu_conv2d.md, npu_convolution.md and their neighbours.

Deformable convolution: npu_deformable_conv2d.md (registry.DOCUMENTS), https://arxiv.org/abs/1811.11168.

The layout of the offsets: torch_npu/contrib/module/deform_conv.py of https://gitcode.com/Ascend/pytorch, which sorts
MMCV's pairs so. Both operators compute and answer in float32 (DeformableConv2dKernelNpu.cpp of Ascend/op-plugin).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide, wide_or_none
from .registry import FLOATS, Arguments, reference, takes

Ints = Sequence[int]
Gradients = tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]
TYPES = {"input": FLOATS, "weight": FLOATS}
#: As torch_npu's schemas list them.
PLACES = "int[] stride, int[] padding, int[] dilation"
TRANSPOSED = "int[] padding, int[] output_padding, int[] stride, int[] dilation, int groups"


def _list_places(
    stride: Ints, padding: Ints, dilation: Ints, groups: int, output_padding: Ints | None
) -> tuple[list[int], list[int], list[int], bool, list[int], int]:
    """Return what torch.convolution takes behind the tensors. The padding has one number per dimension; a number per
    side, as the fused operators pass it, only where all are one.
    """
    sides = len(stride)
    padding = padding[:sides] if len(padding) == 2 * sides and len(set(padding)) == 1 else padding
    added = [0] * sides if output_padding is None else list(output_padding)
    return list(stride), list(padding), list(dilation), output_padding is not None, added, groups


def _convolve(x: Tensor, weight: Tensor, bias: Tensor | None, places: Sequence[Any]) -> Tensor:
    return torch.convolution(as_wide(x), as_wide(weight), wide_or_none(bias), *places).to(x.dtype)


def _convolve_backward(call: Arguments) -> Gradients:
    """Return (dinput, dweight, dbias), None where the mask asks for none; without `groups` there is one."""
    arguments = {"groups": 1, "output_padding": None, **vars(call)}
    grad = arguments.get("grad_output", arguments.get("grad"))
    mask = arguments.get("output_mask", arguments.get("grad_input_mask"))
    assert grad is not None and mask is not None
    places = _list_places(*(arguments[name] for name in ("stride", "padding", "dilation", "groups", "output_padding")))
    tensors = as_wide(grad), as_wide(call.input), as_wide(call.weight)
    gradients = torch.ops.aten.convolution_backward(*tensors, [grad.shape[1]], *places, list(mask))
    dx, dweight, dbias = (
        None if value is None or not wanted else value.to(call.weight.dtype) for value, wanted in zip(gradients, mask)
    )
    return dx, dweight, dbias


@reference("npu::npu_convolution", dtypes=TYPES)
@reference("npu::npu_conv2d", dtypes=TYPES)
@reference("npu::npu_conv2d.out", dtypes=TYPES, writes=("out",))
@reference("npu::npu_conv3d", dtypes=TYPES)
@reference("npu::npu_conv3d.out", dtypes=TYPES, writes=("out",))
def npu_convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    return _convolve(input, weight, bias, _list_places(stride, padding, dilation, groups, None))


@reference("npu::npu_convolution_backward", dtypes=TYPES)
@reference("npu::npu_conv2d_backward", dtypes=TYPES)
@takes(f"Tensor input, Tensor grad_output, Tensor weight, {PLACES}, int groups, bool[] output_mask")
def npu_convolution_backward(call: Arguments) -> Gradients:
    return _convolve_backward(call)


@reference("npu::npu_conv3d_backward", dtypes=TYPES)
@takes(f"Tensor input, Tensor grad, Tensor weight, {PLACES}, int groups, bool[] output_mask")
def npu_conv3d_backward(call: Arguments) -> Gradients:
    return _convolve_backward(call)


@reference("npu::npu_conv_transpose2d", dtypes=TYPES)
@reference("npu::npu_convolution_transpose", dtypes=TYPES)
@takes(f"Tensor input, Tensor weight, Tensor? bias, {TRANSPOSED}")
def npu_conv_transpose2d(call: Arguments) -> Tensor:
    places = _list_places(call.stride, call.padding, call.dilation, call.groups, call.output_padding)
    return _convolve(call.input, call.weight, call.bias, places)


@reference("npu::npu_conv_transpose2d_backward", dtypes=TYPES)
@reference("npu::npu_conv_transpose3d_backward", dtypes=TYPES)
@takes(f"Tensor input, Tensor grad_output, Tensor weight, {TRANSPOSED}, bool[] output_mask")
def npu_conv_transpose2d_backward(call: Arguments) -> Gradients:
    return _convolve_backward(call)


@reference("npu::npu_convolution_transpose_backward", dtypes=TYPES)
@takes(f"Tensor input, Tensor grad, Tensor weight, {TRANSPOSED}, bool[] grad_input_mask")
def npu_convolution_transpose_backward(call: Arguments) -> Gradients:
    return _convolve_backward(call)


@reference("npu::_conv_depthwise2d_backward", dtypes=TYPES)
@takes(f"Tensor grad_output, Tensor input, Tensor weight, int[] kernel_size, {PLACES}, bool[] output_mask")
def conv_depthwise2d_backward(call: Arguments) -> tuple[Tensor | None, Tensor | None]:
    more = {"groups": call.input.shape[1], "output_mask": [*call.output_mask, False]}
    return _convolve_backward(Arguments(**{**vars(call), **more}))[:2]


@reference("npu::slow_conv_dilated2d_backward", dtypes=TYPES)
@takes(f"Tensor grad_output, Tensor input, Tensor weight, int[] kernel_size, {PLACES}, bool[] output_mask")
def slow_conv_dilated2d_backward(call: Arguments) -> Gradients:
    return _convolve_backward(call)


@reference("npu::slow_conv_transpose2d_backward", dtypes=TYPES)
@takes(
    "Tensor grad_output, Tensor input, Tensor weight, int[] kernel_size, int[] stride, int[] padding, "
    "int[] output_padding, int[] dilation, bool[] output_mask"
)
def slow_conv_transpose2d_backward(call: Arguments) -> Gradients:
    return _convolve_backward(call)


@dataclass(frozen=True)
class Window:
    """`stride` and `dilation` (height, width), the padding at the top and at the left."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    start: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    deformable_groups: int


def _make_window(name: str, call: Arguments) -> Window:
    """Make the window of a call that is checked: its modulation, its strides and the channels of its offset."""
    if not call.modulated:
        raise NotImplementedError(f"the NPU simulator lacks {name} with modulated=False (documented as not supported)")
    stride, padding, dilation = call.stride, call.padding, call.dilation
    if not len(stride) == len(padding) == len(dilation) == 4:
        raise RuntimeError(f"{name}: stride, padding and dilation must have 4 elements")
    if any(value != 1 for value in (*stride[:2], *dilation[:2])):
        raise RuntimeError(f"{name}: stride and dilation must be 1 in N and C, but got {stride}, {dilation}")
    height, width = call.kernel_size
    channels = 3 * call.deformable_groups * height * width
    if call.input.dim() != 4 or call.offset.dim() != 4 or call.offset.shape[1] != channels:
        raise RuntimeError(f"{name}: offset must be (N, {channels}, H, W), but got {tuple(call.offset.shape)}")
    if call.input.shape[1] % call.deformable_groups:
        raise RuntimeError(f"{name}: deformable_groups must divide the {call.input.shape[1]} channels of the input")
    steps, dilations, start = (stride[2], stride[3]), (dilation[2], dilation[3]), (padding[0], padding[2])
    return Window((height, width), steps, start, dilations, call.groups, call.deformable_groups)


def _sampling_points(offset: Tensor, window: Window) -> tuple[Tensor, Tensor, Tensor]:
    """Return (y, x, mask), each (N, groups, kernel height, kernel width, out height, out width)."""
    batch, _, height, width = offset.shape
    parts = offset.reshape(batch, 3, window.deformable_groups, *window.kernel, height, width)
    grids = [
        (torch.arange(outs) * step - start)[None, :] + (torch.arange(kernel) * dilation)[:, None]
        for outs, kernel, step, start, dilation in zip(
            (height, width), window.kernel, window.stride, window.start, window.dilation
        )
    ]
    return parts[:, 1] + grids[0][:, None, :, None], parts[:, 0] + grids[1][None, :, None, :], parts[:, 2]


def _sample_input(input: Tensor, offset: Tensor, window: Window) -> Tensor:
    """Return (N, C, out height * kernel height, out width * kernel width): what each tap meets, times its mask."""
    batch, channels, height, width = input.shape
    y, x, mask = (value.to(input.dtype) for value in _sampling_points(offset, window))
    inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    top, left = y.detach().floor(), x.detach().floor()
    pixels = input.reshape(batch, window.deformable_groups, -1, height * width)
    total = torch.zeros((), dtype=torch.float32)
    for row, by_row in ((top, 1 - (y - top)), (top + 1, y - top)):
        for column, by_column in ((left, 1 - (x - left)), (left + 1, x - left)):
            there = inside & (row >= 0) & (row < height) & (column >= 0) & (column < width)
            index = torch.where(there, row * width + column, 0).long().flatten(2)[:, :, None]
            taken = pixels.gather(3, index.expand(-1, -1, pixels.shape[2], -1))
            total = total + taken * torch.where(there, by_row * by_column, 0.0).flatten(2)[:, :, None]
    taps = (total * mask.flatten(2)[:, :, None]).reshape(batch, channels, *y.shape[2:])
    return taps.permute(0, 1, 4, 2, 5, 3).reshape(batch, channels, y.shape[4] * y.shape[2], y.shape[5] * y.shape[3])


@reference("npu::npu_deformable_conv2d", dtypes={"input": FLOATS, "weight": FLOATS, "offset": FLOATS, "bias": FLOATS})
@takes(
    "Tensor input, Tensor weight, Tensor offset, Tensor? bias, int[] kernel_size, int[] stride, int[] padding, "
    "int[] dilation=[1, 1, 1, 1], int groups=1, int deformable_groups=1, bool modulated=True"
)
def npu_deformable_conv2d(call: Arguments) -> tuple[Tensor, Tensor]:
    """(the convolution, what its kernel met), in float32."""
    window = _make_window("npu_deformable_conv2d", call)
    met = _sample_input(call.input.float(), call.offset.float(), window)
    biases = None if call.bias is None else call.bias.float()
    return functional.conv2d(met, call.weight.float(), biases, stride=window.kernel, groups=call.groups), met


@reference(
    "npu::npu_deformable_conv2dbk",
    dtypes={"input": FLOATS, "grad_output": FLOATS, "offset_out": FLOATS, "weight": FLOATS, "offset": FLOATS},
)
@takes(
    "Tensor input, Tensor grad_output, Tensor offset_out, Tensor weight, Tensor offset, int[] kernel_size, "
    "int[] stride, int[] padding, int[] dilation=[1, 1, 1, 1], int groups=1, int deformable_groups=1, "
    "bool modulated=True"
)
def npu_deformable_conv2dbk(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of input, weight, offset and bias, in float32."""
    window = _make_window("npu_deformable_conv2dbk", call)
    tensors = call.grad_output.float(), call.offset_out.float(), call.weight.float()
    places = _list_places(window.kernel, (0, 0), (1, 1), call.groups, None)
    grad_met, grad_weight, grad_bias = torch.ops.aten.convolution_backward(
        *tensors, [call.weight.shape[0]], *places, [True, True, True]
    )
    # float64 from the points on: what follows is differences of large sums
    leaves = [call.input.detach().double().requires_grad_(), call.offset.detach().float().clone().requires_grad_()]
    with torch.enable_grad():
        met = _sample_input(leaves[0], leaves[1], window)
    grad_input, grad_offset = torch.autograd.grad(met, leaves, grad_met.double())
    return grad_input.float(), grad_weight, grad_offset, grad_bias
