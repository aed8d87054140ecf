"""Overlap of every box with every ground truth: npu_iou.md, npu_ptiou.md (registry.DOCUMENTS).

The formula of https://gitcode.com/cann/ops-cv, objdetect/iou_v2/README.md, with eps = 0.01, in float16 whatever the
dtype (IouKernelNpu.cpp of Ascend/op-plugin). Sides and areas have float16's 11 bits, as the expected values of the
operators' own tests show (Ascend/op-plugin, test_iou.py; Ascend/pytorch, test/contrib/test_iou.py).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .registry import reference

TYPES = (torch.float32, torch.float16)
EPS = 0.01


def _eleven_bits(values: Tensor) -> Tensor:
    """Round like float16, without its range."""
    share, power = torch.frexp(values)
    return torch.ldexp((share * 2048).round() / 2048, power)


def _compute_overlaps(name: str, bboxes: Tensor, gtboxes: Tensor, mode: int) -> Tensor:
    if mode not in (0, 1):
        raise RuntimeError(f"{name}: mode must be 0 (iou) or 1 (iof), but got {mode}")
    boxes, truths = bboxes.half().float()[None], gtboxes.half().float()[:, None]
    inner = (torch.minimum(boxes[..., 2:], truths[..., 2:]) - torch.maximum(boxes[..., :2], truths[..., :2])).clamp(0)
    sides = [_eleven_bits(value[..., 2:] - value[..., :2] + EPS) for value in (boxes, truths)]
    areas = [_eleven_bits(value.prod(-1)) for value in sides]
    inter = inner.prod(-1)
    whole = areas[1].expand_as(inter) if mode == 1 else areas[0] + areas[1] - inter
    return (inter / whole).half().to(bboxes.dtype)


@reference("npu::npu_iou", dtypes={"bboxes": TYPES, "gtboxes": TYPES})
def npu_iou(bboxes: Tensor, gtboxes: Tensor, mode: int = 0) -> Tensor:
    """(ground truths, boxes): the intersection over the union, or over the ground truth with mode 1."""
    return _compute_overlaps("npu_iou", bboxes, gtboxes, mode)


@reference("npu::npu_ptiou", dtypes={"bboxes": TYPES, "gtboxes": TYPES})
def npu_ptiou(bboxes: Tensor, gtboxes: Tensor, mode: int = 0) -> Tensor:
    return _compute_overlaps("npu_ptiou", bboxes, gtboxes, mode)
