"""Overlaps of boxes that are turned: npu_rotated_iou.md, npu_rotated_overlaps.md (registry.DOCUMENTS).

A box is x, y (its centre), width, height and an angle in degrees, from the x axis towards the y axis: the only reading
with which the expected values of the operators' own tests (Ascend/op-plugin) come out. Computed in float64.
"""

from __future__ import annotations

from typing import Callable

import torch
from torch import Tensor

from .registry import reference

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
def npu_rotated_iou(
    input: Tensor,
    query_boxes: Tensor,
    trans: bool = False,
    mode: int = 0,
    is_cross: bool = True,
    v_threshold: float = 0.0,
    e_threshold: float = 0.0,
) -> Tensor:
    """(B, N, K): each of N boxes with each of K."""
    name = "npu_rotated_iou"
    _check_arguments(name, input, query_boxes, trans)
    if mode != 0:
        raise NotImplementedError(f"the NPU simulator lacks {name} with mode {mode} (the operator supports iou only)")
    if not is_cross:
        raise NotImplementedError(f"the NPU simulator lacks {name} with is_cross=False")
    if v_threshold or e_threshold:
        raise NotImplementedError(f"the NPU simulator lacks {name} with v_threshold or e_threshold")
    if query_boxes.shape[1] > MAX_QUERIES:
        raise RuntimeError(f"{name}: query_boxes supports at most {MAX_QUERIES} boxes, got {query_boxes.shape[1]}")
    return _all_pairs(union_shares, input, query_boxes)


@reference("npu::npu_rotated_overlaps", dtypes={"input": TYPES, "query_boxes": TYPES})
def npu_rotated_overlaps(input: Tensor, query_boxes: Tensor, trans: bool = False) -> Tensor:
    """(B, N, K) areas."""
    _check_arguments("npu_rotated_overlaps", input, query_boxes, trans)
    return _all_pairs(intersection_areas, input, query_boxes)
