"""Targets and samples of detectors.

npu_yolo_boxes_encode.md and npu_grid_assign_positive.md: YOLOBBoxCoder and GridAssigner of MMDetection
(https://github.com/open-mmlab/mmdetection), which they say they are. npu_rotated_box_encode.md and _decode.md: the
angle through its tangent, as their examples have it. npu_random_choice_with_mask.md (registry.DOCUMENTS).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import reference

TYPES = (torch.float32, torch.float16)
TINY = 1e-6
MAX_ANCHORS = 20480


@reference("npu::npu_yolo_boxes_encode", dtypes={"input": TYPES, "gt_bboxes": TYPES})
def npu_yolo_boxes_encode(input: Tensor, gt_bboxes: Tensor, stride: Tensor, performance_mode: bool = False) -> Tensor:
    """(N, 4): where in its cell each (N, 4) box has its centre, and the logarithm of its size over the anchor's."""
    if input.dim() != 2 or input.shape[1] != 4 or input.shape != gt_bboxes.shape:
        raise RuntimeError(f"npu_yolo_boxes_encode: boxes must be (N, 4), but got {tuple(input.shape)}")
    if input.shape[0] > MAX_ANCHORS:
        raise RuntimeError(f"anchor_boxes only support max [{MAX_ANCHORS}] num, but got num {input.shape[0]}")
    if stride.shape != gt_bboxes.shape[:1] or stride.dtype not in (torch.int32, torch.int16, torch.int8, torch.uint8):
        raise RuntimeError(f"npu_yolo_boxes_encode: stride must be (N,) in int32, but got {stride.dtype}")
    anchors, truths = as_wide(input), as_wide(gt_bboxes)
    centres = [(boxes[:, :2] + boxes[:, 2:]) / 2 for boxes in (anchors, truths)]
    sizes = [boxes[:, 2:] - boxes[:, :2] for boxes in (anchors, truths)]
    offsets = ((centres[1] - centres[0]) / stride[:, None] + 0.5).clamp(TINY, 1 - TINY)
    return torch.cat([offsets, (sizes[1] / sizes[0]).clamp(TINY).log()], 1).to(gt_bboxes.dtype)


@reference(
    "npu::npu_grid_assign_positive",
    dtypes={
        "input": TYPES,
        "overlaps": TYPES,
        "box_responsible_flags": (torch.uint8,),
        "max_overlaps": TYPES,
        "argmax_overlaps": (torch.int32,),
        "gt_max_overlaps": TYPES,
        "gt_argmax_overlaps": (torch.int32,),
    },
)
def npu_grid_assign_positive(
    input: Tensor,
    overlaps: Tensor,
    box_responsible_flags: Tensor,
    max_overlaps: Tensor,
    argmax_overlaps: Tensor,
    gt_max_overlaps: Tensor,
    gt_argmax_overlaps: Tensor,
    num_gts: int,
    pos_iou_thr: float,
    min_pos_iou: float,
    gt_max_assign_all: bool,
) -> Tensor:
    """(n,): the ground truth of each positive box, counted from 1; the input's value for the others."""
    responsible = box_responsible_flags != 0
    assigned = input.clone()
    positive = (max_overlaps >= pos_iou_thr) & responsible
    assigned[positive] = (argmax_overlaps[positive] + 1).to(assigned.dtype)
    for truth in range(min(num_gts, overlaps.shape[0])):
        if gt_max_overlaps[truth] <= min_pos_iou:
            continue
        best = overlaps[truth] == gt_max_overlaps[truth]
        if not gt_max_assign_all:
            best = torch.arange(len(assigned)) == gt_argmax_overlaps[truth]
        assigned[best & responsible] = truth + 1
    return assigned


def _unit_weight(name: str, weight: Tensor) -> None:
    if weight.shape != (5,) or bool((weight != 1).any()):
        raise NotImplementedError(f"the NPU simulator lacks {name} with a weight other than five times 1")


def _centre_and_size(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Return (centre, size), each (B, 2, N), of corners (B, 4, N)."""
    return (boxes[:, :2] + boxes[:, 2:4]) / 2, boxes[:, 2:4] - boxes[:, :2]


@reference("npu::npu_rotated_box_encode", dtypes={"input": TYPES, "gt_bboxes": TYPES})
def npu_rotated_box_encode(input: Tensor, gt_bboxes: Tensor, weight: Tensor) -> Tensor:
    """(B, 5, N) deltas from anchors to boxes; both are corners and an angle in degrees."""
    _unit_weight("npu_rotated_box_encode", weight)
    (centre, size), (goal, extent) = _centre_and_size(as_wide(input)), _centre_and_size(as_wide(gt_bboxes))
    tangents = [as_wide(boxes)[:, 4:].deg2rad().tan() for boxes in (gt_bboxes, input)]
    return torch.cat([(goal - centre) / size, (extent / size).log(), tangents[0] - tangents[1]], 1).to(input.dtype)


@reference("npu::npu_rotated_box_decode", dtypes={"input": TYPES, "deltas": TYPES})
def npu_rotated_box_decode(input: Tensor, deltas: Tensor, weight: Tensor) -> Tensor:
    """(B, 5, N) boxes from anchors and deltas."""
    _unit_weight("npu_rotated_box_decode", weight)
    (centre, size), change = _centre_and_size(as_wide(input)), as_wide(deltas)
    centre, half = centre + change[:, :2] * size, size * change[:, 2:4].exp() / 2
    angle = (change[:, 4:] + as_wide(input)[:, 4:].deg2rad().tan()).atan().rad2deg()
    return torch.cat([centre - half, centre + half, angle], 1).to(input.dtype)


@reference("npu::npu_random_choice_with_mask", dtypes={"x": (torch.bool,)}, random=True)
def npu_random_choice_with_mask(
    x: Tensor, count: int = 256, seed: int = 0, seed2: int = 0, *, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """(indices of `count` of the nonzero elements in random order, which are valid): PyTorch's random numbers.

    With fewer nonzero elements than `count` the last indices are 0 and not valid.
    """
    if not 1 <= x.dim() <= 5:
        raise RuntimeError(f"The input.dim should be in [1, 5], but get {x.dim()}")
    if count <= 0:
        raise RuntimeError(f"The count must greater than 0, but get {count}")
    if seed or seed2:
        generator = torch.Generator().manual_seed(seed * 1000003 + seed2)
    places = x.nonzero()
    chosen = places[torch.randperm(len(places), generator=generator)[:count]]
    indices = torch.zeros(count, x.dim(), dtype=torch.int32)
    indices[: len(chosen)] = chosen.to(torch.int32)
    return indices, torch.arange(count) < len(chosen)
