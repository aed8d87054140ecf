"""Position-sensitive pooling of regions: npu_ps_roi_pooling.md (registry.DOCUMENTS) and its gradient.

R-FCN, https://arxiv.org/abs/1605.06409. Where a region and its bins begin and end is not in the page: as in R-FCN's own
code and in MindSpore's operator of the same arguments (https://gitee.com/mindspore/mindspore, PSROIPooling).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import reference

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


def _check_arguments(name: str, rois: Tensor, channels: int, group_size: int, output_dim: int) -> None:
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
    _check_arguments(name, rois, input.shape[1], group_size, output_dim)
    maps = as_wide(input).reshape(-1, output_dim, group_size, group_size, *input.shape[2:])
    pooled = [
        torch.einsum("oijhw,ih,jw->oij", maps[image], rows, columns)
        for image, rows, columns in _regions_of(name, rois, spatial_scale, group_size, input.shape[2:], len(maps))
    ]
    shape = (rois.shape[0] * rois.shape[2], output_dim, group_size, group_size)
    return torch.stack(pooled).to(input.dtype) if pooled else input.new_empty(shape)


@reference("npu::npu_ps_roi_pooling_backward", dtypes={"output_grad": TYPES, "rois": TYPES})
def npu_ps_roi_pooling_backward(
    output_grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    group_size: int,
    output_dim: int,
    input_size: Sequence[int],
) -> Tensor:
    """The gradient of the input (batch of rois, output_dim * group_size ** 2, *input_size)."""
    name = "npu_ps_roi_pooling_backward"
    channels = output_dim * group_size**2
    _check_arguments(name, rois, channels, group_size, output_dim)
    shape = (rois.shape[0], output_dim, group_size, group_size, *input_size[:2])
    grad = torch.zeros(shape, dtype=torch.float32)
    regions = _regions_of(name, rois, spatial_scale, group_size, input_size, rois.shape[0])
    for region_grad, (image, rows, columns) in zip(as_wide(output_grad), regions):
        grad[image] += torch.einsum("oij,ih,jw->oijhw", region_grad, rows, columns)
    return grad.flatten(1, 3).to(output_grad.dtype)
