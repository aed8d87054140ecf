"""Non-maximum suppression (registry.DOCUMENTS: npu_nms_v4.md, _with_mask, _rotated; npu_batch_nms.md).

Boxes go by falling score; one that overlaps a kept one by more than the threshold is dropped. npu_nms_v4 is
TensorFlow's NonMaxSuppressionV4 (any two opposite corners); npu_nms_with_mask has its order and mask from
https://gitcode.com/cann/ops-cv, image/nms_with_mask; the layouts of npu_nms_rotated are those of its own test.
"""

from __future__ import annotations

from typing import Callable

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import reference
from .rotated_overlaps import union_shares

TYPES = (torch.float32, torch.float16)
Shares = Callable[[Tensor, Tensor], Tensor]


def _overlap_shares(box: Tensor, others: Tensor) -> Tensor:
    """Return intersection over union of one box (4,) with others (n, 4), corners in float32; 0 where an area is 0."""
    low, high = torch.minimum(others[:, :2], others[:, 2:]), torch.maximum(others[:, :2], others[:, 2:])
    own_low, own_high = torch.minimum(box[:2], box[2:]), torch.maximum(box[:2], box[2:])
    inner = (torch.minimum(high, own_high) - torch.maximum(low, own_low)).clamp(0).prod(-1)
    return torch.where(inner > 0, inner / ((high - low).prod(-1) + (own_high - own_low).prod() - inner), 0.0)


def _select_greedily(boxes: Tensor, order: Tensor, shares: Shares, limit: float, most: int) -> Tensor:
    """Return the indices of the boxes that stay, at most `most` of them."""
    selected: list[Tensor] = []
    while len(order) and len(selected) < most:
        best, order = order[0], order[1:]
        selected.append(best)
        order = order[~(shares(boxes[best], boxes[order]) > limit)]
    return torch.stack(selected) if selected else order[:0]


def _order_falling(scores: Tensor, allowed: Tensor) -> Tensor:
    order = scores.argsort(descending=True, stable=True)
    return order[allowed[order]]


@reference("npu::npu_nms_v4", dtypes={"input": TYPES, "scores": TYPES})
def npu_nms_v4(
    input: Tensor,
    scores: Tensor,
    max_output_size: float,
    iou_threshold: Tensor,
    scores_threshold: Tensor,
    pad_to_max_output_size: bool = False,
) -> tuple[Tensor, Tensor]:
    """(indices, how many are valid): torch_npu's are always max_output_size long, 0 after the valid ones here."""
    order = _order_falling(scores, as_wide(scores) > float(scores_threshold))
    selected = _select_greedily(as_wide(input), order, _overlap_shares, float(iou_threshold), int(max_output_size))
    indices = torch.zeros(int(max_output_size), dtype=torch.int32)
    indices[: len(selected)] = selected.to(torch.int32)
    return indices, torch.tensor(len(selected), dtype=torch.int32)


@reference("npu::npu_nms_with_mask", dtypes={"input": TYPES})
def npu_nms_with_mask(input: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """(boxes with scores (n, 5), 0 .. n-1, 1 for each box kept): boxes come sorted by falling score."""
    if input.dim() != 2 or input.shape[1] not in (5, 8):
        raise RuntimeError(f"npu_nms_with_mask: input must be (n, 5) or (n, 8), but got {tuple(input.shape)}")
    boxes = as_wide(input)
    if bool((boxes[1:, 4] > boxes[:-1, 4]).any()):
        raise NotImplementedError("the NPU simulator lacks npu_nms_with_mask of boxes not sorted by falling score")
    selected = _select_greedily(
        boxes[:, :4], torch.arange(len(boxes)), _overlap_shares, float(iou_threshold), len(boxes)
    )
    mask = torch.zeros(len(boxes), dtype=torch.uint8)
    mask[selected] = 1
    return input[:, :5].clone(), torch.arange(len(boxes), dtype=torch.int32), mask


def _rotated_shares(box: Tensor, others: Tensor) -> Tensor:
    return union_shares(box.expand(len(others), 5), others)


def _centre_boxes(dets: Tensor) -> Tensor:
    """Return x, y, width, height, angle of corners and an angle that counts the other way round."""
    first, second = dets[:, :2], dets[:, 2:4]
    return torch.cat([(first + second) / 2, second - first, -dets[:, 4:]], 1)


@reference("npu::npu_nms_rotated", dtypes={"input": TYPES, "scores": TYPES})
def npu_nms_rotated(
    input: Tensor,
    scores: Tensor,
    iou_threshold: float,
    scores_threshold: float = 0.0,
    max_output_size: int = -1,
    mode: int = 0,
) -> tuple[Tensor, Tensor]:
    """(indices kept, how many (1,)), int32. Mode 0 is centre and size, mode 1 corners; angles in degrees."""
    if mode not in (0, 1):
        raise RuntimeError(f"npu_nms_rotated: mode must be 0 or 1, but got {mode}")
    boxes = as_wide(input) if mode == 0 else _centre_boxes(as_wide(input))
    order = _order_falling(scores, as_wide(scores) >= scores_threshold)
    most = len(boxes) if max_output_size < 0 else max_output_size
    selected = _select_greedily(boxes, order, _rotated_shares, iou_threshold, most)
    return selected.to(torch.int32), torch.tensor([len(selected)], dtype=torch.int32)


@reference("npu::npu_batch_nms", dtypes={"input": TYPES, "scores": TYPES})
def npu_batch_nms(
    input: Tensor,
    scores: Tensor,
    score_threshold: float,
    iou_threshold: float,
    max_size_per_class: int,
    max_total_size: int,
    change_coordinate_frame: bool = False,
    transpose_box: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(boxes, scores, classes, how many) of each image, the best of all classes first, 0 after the valid ones."""
    if change_coordinate_frame:
        raise RuntimeError("npu_batch_nms: change_coordinate_frame needs a clip window, which torch_npu does not pass")
    if transpose_box:
        raise RuntimeError("npu_batch_nms: transpose_box must be False")
    batch, count, classes = scores.shape
    if input.dim() != 4 or input.shape[:2] != (batch, count) or input.shape[2] not in (1, classes):
        raise RuntimeError(f"npu_batch_nms: boxes {tuple(input.shape)} do not fit scores {tuple(scores.shape)}")
    chosen = [
        _of_image(image, values, score_threshold, iou_threshold, max_size_per_class, max_total_size)
        for image, values in zip(as_wide(input), as_wide(scores))
    ]
    columns = [torch.stack(column).to(input.dtype) for column in list(zip(*chosen))[:3]]
    return columns[0], columns[1], columns[2], torch.tensor([image[3] for image in chosen], dtype=torch.int32)


def _of_image(
    boxes: Tensor, scores: Tensor, lowest: float, limit: float, most: int, total: int
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Return what stays of boxes (N, q, 4) and scores (N, C) of one image, padded to `total`."""
    rows: list[Tensor] = []
    for label in range(scores.shape[1]):
        own, values = boxes[:, label if boxes.shape[1] > 1 else 0], scores[:, label]
        selected = _select_greedily(own, _order_falling(values, values > lowest), _overlap_shares, limit, most)
        rows.append(torch.cat([own[selected], values[selected, None], values.new_full((len(selected), 1), label)], 1))
    results = torch.cat(rows)
    results = results[results[:, 4].argsort(descending=True, stable=True)][:total]
    padded = torch.cat([results, results.new_zeros(total - len(results), 6)])
    return padded[:, :4], padded[:, 4], padded[:, 5], len(results)
