"""Features of regions of interest: npu_roi_align.md (registry.DOCUMENTS) and its gradient, npu_roi_alignbk.

Mean of the samples of each bin, each bilinear: https://arxiv.org/abs/1703.06870. How a region ends (roi_end_mode), the
least size and the default of the gradient's mode: https://gitcode.com/cann/ops-cv, objdetect/roi_align_grad.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import reference

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
def npu_roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sample_num: int,
    roi_end_mode: int,
) -> Tensor:
    """(N, C, pooled_height, pooled_width)."""
    _check_arguments("npu_roi_align", rois, input.shape[0], roi_end_mode)
    features, pooled = as_wide(input), (pooled_height, pooled_width)
    aligned = [
        rows @ features[image] @ columns.t()
        for image, rows, columns in _region_weights(rois, input.shape, pooled, spatial_scale, sample_num, roi_end_mode)
    ]
    return torch.stack(aligned).to(input.dtype) if aligned else input.new_empty(0, input.shape[1], *pooled)


@reference("npu::npu_roi_alignbk", dtypes={"input": (torch.float32,), "rois": (torch.float32,)})
def npu_roi_alignbk(
    input: Tensor,
    rois: Tensor,
    xdiff_shape: Sequence[int],
    pooled_width: int,
    pooled_height: int,
    spatial_scale: float,
    sample_num: int,
    roi_end_mode: int | None = None,
) -> Tensor:
    """The gradient (xdiff_shape) of the features; without a mode, that of mode 1."""
    mode = SCALE_AT_END if roi_end_mode is None else roi_end_mode
    _check_arguments("npu_roi_alignbk", rois, xdiff_shape[0], mode)
    grad, pooled = torch.zeros(tuple(xdiff_shape), dtype=torch.float32), (pooled_height, pooled_width)
    regions = _region_weights(rois, xdiff_shape, pooled, spatial_scale, sample_num, mode)
    for region_grad, (image, rows, columns) in zip(input, regions):
        grad[image] += rows.t() @ region_grad @ columns
    return grad
