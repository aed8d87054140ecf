"""Features of regions of interest: npu_roi_align.md (registry.DOCUMENTS) and its gradient, npu_roi_alignbk.

Mean of the samples of each bin, each bilinear: https://arxiv.org/abs/1703.06870. How a region ends
(roi_end_mode) and the default: https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.ROIAlign.html, the
operator of the same arguments.

Position-sensitive pooling of regions: npu_ps_roi_pooling.md (registry.DOCUMENTS) and its gradient.

R-FCN, https://arxiv.org/abs/1605.06409. Where a region and its bins begin and end is not in the page: as in R-FCN's own
code and in MindSpore's operator of the same arguments (https://gitee.com/mindspore/mindspore, PSROIPooling).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import Arguments, reference, takes

SCALE_AT_END = 1  # the region ends at its last pixel, which counts
HALF_PIXEL = (2, 3)  # 3: what torch_npu.contrib.module.ROIAlign asks for, with the expected values of its test


def _axis_weights(start: float, bin_size: float, bins: int, samples: int, length: int) -> Tensor:
    """Return (bins, length): how much of each pixel goes into the mean of a bin, none without samples."""
    if samples <= 0:
        return torch.zeros(bins, length, dtype=torch.float32)
    steps = (torch.arange(bins * samples, dtype=torch.float32) + 0.5) * (bin_size / samples)
    points = start + steps
    inside = (points >= -1) & (points <= length)
    points = points.clamp(0, length - 1)
    low = points.floor().long()
    high = (low + 1).clamp(max=length - 1)
    part = points - low
    weights = torch.zeros(bins * samples, length, dtype=torch.float32)
    weights.scatter_add_(1, low[:, None], (1 - part)[:, None])
    weights.scatter_add_(1, high[:, None], part[:, None])
    return (weights * inside[:, None]).reshape(bins, samples, length).mean(1)


def _region_weights(
    rois: Tensor, size: Sequence[int], pooled: tuple[int, int], scale: float, sample_num: int, mode: int
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield (image, rows (pooled height, H), columns (pooled width, W)) of each region."""
    for image, *ends in rois.float().tolist():
        x1, y1, x2, y2 = (end * scale - 0.5 * (mode in HALF_PIXEL) for end in ends)
        extra, least = (scale if mode == SCALE_AT_END else 0.0), (-math.inf if mode in HALF_PIXEL else 1.0)
        axes = []
        for start, end, bins, length in ((y1, y2, pooled[0], size[2]), (x1, x2, pooled[1], size[3])):
            bin_size = max(end + extra - start, least) / bins
            samples = sample_num if sample_num > 0 else math.ceil(bin_size)
            axes.append(_axis_weights(start, bin_size, bins, samples, length))
        yield math.floor(image), axes[0], axes[1]


def _check_arguments(name: str, rois: Tensor, images: int, mode: int) -> None:
    if mode not in (0, SCALE_AT_END, *HALF_PIXEL):
        raise NotImplementedError(f"the NPU simulator lacks {name} with roi_end_mode {mode}")
    if rois.dim() != 2 or rois.shape[1] != 5:
        raise RuntimeError(f"{name}: rois must be (N, 5): image, x1, y1, x2, y2, but got {tuple(rois.shape)}")
    if len(rois) and not 0 <= float(rois[:, 0].min()) <= float(rois[:, 0].max()) < images:
        raise RuntimeError(f"{name}: rois names an image outside of the {images} given")


@reference(
    "npu::npu_roi_align",
    dtypes={"input": (torch.float32, torch.float16), "rois": (torch.float32, torch.float16)},
)
@takes(
    "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sample_num, "
    "int roi_end_mode"
)
def npu_roi_align(call: Arguments) -> Tensor:
    """(N, C, pooled_height, pooled_width)."""
    _check_arguments("npu_roi_align", call.rois, call.input.shape[0], call.roi_end_mode)
    features, pooled = as_wide(call.input), (call.pooled_height, call.pooled_width)
    aligned = [
        rows @ features[image] @ columns.t()
        for image, rows, columns in _region_weights(
            call.rois, call.input.shape, pooled, call.spatial_scale, call.sample_num, call.roi_end_mode
        )
    ]
    return (
        torch.stack(aligned).to(call.input.dtype) if aligned else call.input.new_empty(0, call.input.shape[1], *pooled)
    )


@reference("npu::npu_roi_alignbk", dtypes={"input": (torch.float32,), "rois": (torch.float32,)})
@takes(
    "Tensor input, Tensor rois, int[] xdiff_shape, int pooled_width, int pooled_height, float spatial_scale, "
    "int sample_num, int? roi_end_mode=None"
)
def npu_roi_alignbk(call: Arguments) -> Tensor:
    """The gradient (xdiff_shape) of the features; without a mode, that of mode 1."""
    mode = SCALE_AT_END if call.roi_end_mode is None else call.roi_end_mode
    _check_arguments("npu_roi_alignbk", call.rois, call.xdiff_shape[0], mode)
    grad, pooled = torch.zeros(tuple(call.xdiff_shape), dtype=torch.float32), (call.pooled_height, call.pooled_width)
    regions = _region_weights(call.rois, call.xdiff_shape, pooled, call.spatial_scale, call.sample_num, mode)
    for region_grad, (image, rows, columns) in zip(call.input, regions):
        grad[image] += rows.t() @ region_grad @ columns
    return grad


TYPES = (torch.float32, torch.float16)
LEAST_SIZE = 0.1


def _bin_means(first: Tensor, last: Tensor, scale: float, count: int, length: int) -> Tensor:
    """Return (count, length): each bin's mean over its pixels; zero for a bin without any."""
    start, end = (first + 0.5).floor() * scale, ((last + 0.5).floor() + 1) * scale
    size = (end - start).clamp(min=LEAST_SIZE) / count
    steps = torch.arange(count + 1, dtype=torch.float32)
    low, high = (steps[:-1] * size + start).floor()[:, None], (steps[1:] * size + start).ceil()[:, None]
    pixels = torch.arange(length)
    inside = ((pixels >= low) & (pixels < high)).float()
    return inside / inside.sum(1, keepdim=True).clamp(min=1)


def _regions_of(
    name: str, rois: Tensor, scale: float, group_size: int, size: Sequence[int], images: int
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield (image, rows (group_size, H), columns (group_size, W)) of each region of rois (batch, 5, n)."""
    for image, x1, y1, x2, y2 in rois.float().transpose(1, 2).reshape(-1, 5):
        rows = _bin_means(y1, y2, scale, group_size, size[0])
        columns = _bin_means(x1, x2, scale, group_size, size[1])
        outside = not 0 <= int(image) < images
        if outside and bool(rows.any()) and bool(columns.any()):
            raise RuntimeError(f"{name}: rois names image {int(image)} of {images}")
        yield 0 if outside else int(image), rows, columns


def _check_pooling(name: str, rois: Tensor, channels: int, group_size: int, output_dim: int) -> None:
    if rois.dim() != 3 or rois.shape[1] != 5:
        raise RuntimeError(f"{name}: rois must be (batch, 5, n), but got {tuple(rois.shape)}")
    if not 0 < group_size < 128 or output_dim <= 0 or channels != output_dim * group_size**2:
        raise RuntimeError(
            f"{name}: {channels} channels must be output_dim {output_dim} * group_size {group_size} (1 to 127) squared"
        )


@reference("npu::npu_ps_roi_pooling", dtypes={"input": TYPES, "rois": TYPES})
def npu_ps_roi_pooling(input: Tensor, rois: Tensor, spatial_scale: float, group_size: int, output_dim: int) -> Tensor:
    """(batch * n, output_dim, group_size, group_size)."""
    name = "npu_ps_roi_pooling"
    _check_pooling(name, rois, input.shape[1], group_size, output_dim)
    maps = as_wide(input).reshape(-1, output_dim, group_size, group_size, *input.shape[2:])
    pooled = [
        torch.einsum("oijhw,ih,jw->oij", maps[image], rows, columns)
        for image, rows, columns in _regions_of(name, rois, spatial_scale, group_size, input.shape[2:], len(maps))
    ]
    shape = (rois.shape[0] * rois.shape[2], output_dim, group_size, group_size)
    return torch.stack(pooled).to(input.dtype) if pooled else input.new_empty(shape)


@reference("npu::npu_ps_roi_pooling_backward", dtypes={"output_grad": TYPES, "rois": TYPES})
@takes("Tensor output_grad, Tensor rois, float spatial_scale, int group_size, int output_dim, int[] input_size")
def npu_ps_roi_pooling_backward(call: Arguments) -> Tensor:
    """The gradient of the input (batch of rois, output_dim * group_size ** 2, *input_size)."""
    name = "npu_ps_roi_pooling_backward"
    channels = call.output_dim * call.group_size**2
    _check_pooling(name, call.rois, channels, call.group_size, call.output_dim)
    shape = (call.rois.shape[0], call.output_dim, call.group_size, call.group_size, *call.input_size[:2])
    grad = torch.zeros(shape, dtype=torch.float32)
    regions = _regions_of(name, call.rois, call.spatial_scale, call.group_size, call.input_size, call.rois.shape[0])
    for region_grad, (image, rows, columns) in zip(as_wide(call.output_grad), regions):
        grad[image] += torch.einsum("oij,ih,jw->oijhw", region_grad, rows, columns)
    return grad.flatten(1, 3).to(call.output_grad.dtype)
