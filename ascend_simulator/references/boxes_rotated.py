"""Overlaps of boxes that are turned: npu_rotated_iou.md, npu_rotated_overlaps.md (registry.DOCUMENTS).

A box is x, y (its centre), width, height and an angle in degrees, from the x axis towards the y axis: the only reading
with which the expected values of the operators' own tests (Ascend/op-plugin) come out. Computed in float64.

Non-maximum suppression (registry.DOCUMENTS: npu_nms_v4.md, _with_mask, _rotated; npu_batch_nms.md).

Boxes go by falling score; one that overlaps a kept one by more than the threshold is dropped. npu_nms_v4 is
TensorFlow's NonMaxSuppressionV4 (any two opposite corners); npu_nms_with_mask keeps the order of its
input, with a mask; its layouts and those of npu_nms_rotated are those of their own tests (Ascend/op-plugin).
"""

from __future__ import annotations

from typing import Callable

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import Arguments, reference, takes

TYPES = (torch.float32, torch.float16)
MAX_QUERIES = 1600
TINY = 1e-14


def corners_of(boxes: Tensor) -> Tensor:
    """Return (n, 4, 2) corners of (n, 5) boxes, in order around the box."""
    turn = boxes[:, 4].double().deg2rad()
    width = torch.stack([turn.cos(), turn.sin()], -1) * boxes[:, 2:3].double() / 2
    height = torch.stack([-turn.sin(), turn.cos()], -1) * boxes[:, 3:4].double() / 2
    around = torch.stack([-width - height, width - height, width + height, height - width], 1)
    return boxes[:, None, :2].double() + around


def _cut_polygons(polygons: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """Return what of each polygon (n, v, 2) lies left of the line; padded with its first point, which adds no area."""
    edge = end - start

    def side_of(points: Tensor) -> Tensor:
        away = points - start[:, None]
        return edge[:, None, 0] * away[..., 1] - edge[:, None, 1] * away[..., 0]

    following = polygons.roll(-1, 1)
    here, there = side_of(polygons), side_of(following)
    crosses = here * there < 0
    share = torch.where(crosses, here / (here - there), 0.0)[..., None]
    points = torch.stack([polygons, polygons + share * (following - polygons)], 2).flatten(1, 2)
    inside = torch.stack([here >= 0, crosses], 2).flatten(1, 2)
    order = (~inside).to(torch.uint8).argsort(dim=1, stable=True)[:, : polygons.shape[1] + 2]
    inside, points = inside.gather(1, order), points.gather(1, order[..., None].expand(-1, -1, 2))
    return torch.where(inside[..., None], points, points[:, :1]) * inside.any(1)[:, None, None]


def intersection_areas(first: Tensor, second: Tensor) -> Tensor:
    """Return the areas (n,) that the boxes (n, 5) have in common, pair by pair; 0 where a box has no area."""
    shift = (first[:, :2].double() + second[:, :2].double()) / 2
    polygons, others = corners_of(first) - shift[:, None], corners_of(second) - shift[:, None]
    for edge in range(4):
        polygons = _cut_polygons(polygons, others[:, edge], others[:, (edge + 1) % 4])
    following = polygons.roll(-1, 1)
    twice = polygons[..., 0] * following[..., 1] - polygons[..., 1] * following[..., 0]
    empty = (first[:, 2] * first[:, 3] < TINY) | (second[:, 2] * second[:, 3] < TINY)
    return torch.where(empty, 0.0, twice.sum(1).abs() / 2)


def union_shares(first: Tensor, second: Tensor) -> Tensor:
    """Return intersection over union (n,), pair by pair, in float64."""
    inner = intersection_areas(first, second)
    areas = first[:, 2:4].double().prod(1) + second[:, 2:4].double().prod(1)
    return torch.where(inner > 0, inner / (areas - inner).clamp(TINY), 0.0)


def _all_pairs(function: Callable[[Tensor, Tensor], Tensor], boxes: Tensor, queries: Tensor) -> Tensor:
    rows = [function(box.expand(len(others), 5), others) for batch, others in zip(boxes, queries) for box in batch]
    shape = (*boxes.shape[:2], queries.shape[1])
    return torch.stack(rows).reshape(shape).to(boxes.dtype) if rows else boxes.new_empty(shape)


def _check_arguments(name: str, boxes: Tensor, queries: Tensor, trans: bool) -> None:
    if trans:
        raise NotImplementedError(f"the NPU simulator lacks {name} with trans=True (xyxyt)")
    if boxes.dim() != 3 or queries.dim() != 3 or boxes.shape[2] != 5 or queries.shape[2] != 5:
        raise RuntimeError(f"{name}: boxes must be (B, N, 5), but got {tuple(boxes.shape)}, {tuple(queries.shape)}")


@reference("npu::npu_rotated_iou", dtypes={"input": TYPES, "query_boxes": TYPES})
@takes(
    "Tensor input, Tensor query_boxes, bool trans=False, int mode=0, bool is_cross=True, float v_threshold=0.0, "
    "float e_threshold=0.0"
)
def npu_rotated_iou(call: Arguments) -> Tensor:
    """(B, N, K): each of N boxes with each of K."""
    name = "npu_rotated_iou"
    _check_arguments(name, call.input, call.query_boxes, call.trans)
    for wanted, what in (
        (call.mode != 0, f"mode {call.mode} (the operator supports iou only)"),
        (not call.is_cross, "is_cross=False"),
        (call.v_threshold or call.e_threshold, "v_threshold or e_threshold"),
    ):
        if wanted:
            raise NotImplementedError(f"the NPU simulator lacks {name} with {what}")
    if call.query_boxes.shape[1] > MAX_QUERIES:
        raise RuntimeError(f"{name}: query_boxes supports at most {MAX_QUERIES} boxes, got {call.query_boxes.shape[1]}")
    return _all_pairs(union_shares, call.input, call.query_boxes)


@reference("npu::npu_rotated_overlaps", dtypes={"input": TYPES, "query_boxes": TYPES})
def npu_rotated_overlaps(input: Tensor, query_boxes: Tensor, trans: bool = False) -> Tensor:
    """(B, N, K) areas."""
    _check_arguments("npu_rotated_overlaps", input, query_boxes, trans)
    return _all_pairs(intersection_areas, input, query_boxes)


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
@takes(
    "Tensor input, Tensor scores, float max_output_size, Tensor iou_threshold, Tensor scores_threshold, "
    "bool pad_to_max_output_size=False"
)
def npu_nms_v4(call: Arguments) -> tuple[Tensor, Tensor]:
    """(indices, how many are valid): torch_npu's are always max_output_size long, 0 after the valid ones here."""
    order = _order_falling(call.scores, as_wide(call.scores) > float(call.scores_threshold))
    selected = _select_greedily(
        as_wide(call.input), order, _overlap_shares, float(call.iou_threshold), int(call.max_output_size)
    )
    indices = torch.zeros(int(call.max_output_size), dtype=torch.int32)
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


@reference("npu::npu_nms_rotated", dtypes={"input": TYPES, "scores": TYPES})
@takes(
    "Tensor input, Tensor scores, float iou_threshold, float scores_threshold=0.0, int max_output_size=-1, int mode=0"
)
def npu_nms_rotated(call: Arguments) -> tuple[Tensor, Tensor]:
    """(indices kept, how many (1,)), int32. Mode 0 is centre and size, mode 1 corners; angles in degrees."""
    if call.mode not in (0, 1):
        raise RuntimeError(f"npu_nms_rotated: mode must be 0 or 1, but got {call.mode}")
    boxes = as_wide(call.input)
    if call.mode == 1:  # corners, and an angle that counts the other way round
        first, second = boxes[:, :2], boxes[:, 2:4]
        boxes = torch.cat([(first + second) / 2, second - first, -boxes[:, 4:]], 1)
    order = _order_falling(call.scores, as_wide(call.scores) >= call.scores_threshold)
    most = len(boxes) if call.max_output_size < 0 else call.max_output_size
    selected = _select_greedily(boxes, order, _rotated_shares, call.iou_threshold, most)
    return selected.to(torch.int32), torch.tensor([len(selected)], dtype=torch.int32)


@reference("npu::npu_batch_nms", dtypes={"input": TYPES, "scores": TYPES})
@takes(
    "Tensor input, Tensor scores, float score_threshold, float iou_threshold, int max_size_per_class, "
    "int max_total_size, bool change_coordinate_frame=False, bool transpose_box=False"
)
def npu_batch_nms(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(boxes, scores, classes, how many) of each image, the best of all classes first, 0 after the valid ones."""
    if call.change_coordinate_frame:
        raise RuntimeError("npu_batch_nms: change_coordinate_frame needs a clip window, which torch_npu does not pass")
    if call.transpose_box:
        raise RuntimeError("npu_batch_nms: transpose_box must be False")
    batch, count, classes = call.scores.shape
    if call.input.dim() != 4 or call.input.shape[:2] != (batch, count) or call.input.shape[2] not in (1, classes):
        raise RuntimeError(
            f"npu_batch_nms: boxes {tuple(call.input.shape)} do not fit scores {tuple(call.scores.shape)}"
        )
    chosen = [
        _of_image(image, values, call.score_threshold, call.iou_threshold, call.max_size_per_class, call.max_total_size)
        for image, values in zip(as_wide(call.input), as_wide(call.scores))
    ]
    columns = [torch.stack(column).to(call.input.dtype) for column in list(zip(*chosen))[:3]]
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
