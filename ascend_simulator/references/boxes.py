"""Losses and coding of boxes.

npu_giou.md, npu_diou.md, npu_ciou.md: Generalized IoU, https://arxiv.org/abs/1902.09630; Distance and Complete IoU,
https://arxiv.org/abs/1911.08287. npu_bounding_box_encode.md and _decode.md: Faster R-CNN's deltas with pixels counted
from both ends (a box from 1 to 3 is 3 wide). Boxes are (4, N), as xywh with `trans`, else as corners.

Overlap of every box with every ground truth: npu_iou.md, npu_ptiou.md (registry.DOCUMENTS).

Intersection by union with eps = 0.01, in float16 whatever the dtype (IouKernelNpu.cpp of
https://gitcode.com/Ascend/op-plugin). Sides and areas have float16's 11 bits, as the expected values of the
operators' own tests show (Ascend/op-plugin, test_iou.py; Ascend/pytorch, test/contrib/test_iou.py).

Targets and samples of detectors.

npu_yolo_boxes_encode.md and npu_grid_assign_positive.md: YOLOBBoxCoder and GridAssigner of MMDetection
(https://github.com/open-mmlab/mmdetection), which they say they are. npu_rotated_box_encode.md and _decode.md: the
angle through its tangent, as their examples have it. npu_random_choice_with_mask.md (registry.DOCUMENTS).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Callable

import torch
from torch import Tensor

from .numeric import as_wide, compute_gradients
from .registry import Arguments, reference, takes

PAIRED = {"input": (torch.float32, torch.float16), "gtboxes": (torch.float32, torch.float16)}
TINY = 1e-9


def _corners_of(boxes: Tensor, trans: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if not trans:
        return boxes[0], boxes[1], boxes[2], boxes[3]
    x, y, w, h = boxes[0], boxes[1], boxes[2], boxes[3]
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


class Pair:
    """Two lists of boxes: entry by entry, or all with all (M, N) with `cross`."""

    def __init__(self, first: Tensor, second: Tensor, trans: bool, cross: bool, tiny: float) -> None:
        a, b = _corners_of(first, trans), _corners_of(second, trans)
        if cross:
            a, b = tuple(v[None, :] for v in a), tuple(v[:, None] for v in b)
        self.a, self.b = a, b
        self.inner = (torch.min(a[2], b[2]) - torch.max(a[0], b[0])).clamp(0) * (
            torch.min(a[3], b[3]) - torch.max(a[1], b[1])
        ).clamp(0)
        self.outer = (
            torch.max(a[2], b[2]) - torch.min(a[0], b[0]),
            torch.max(a[3], b[3]) - torch.min(a[1], b[1]),
        )
        self.sizes = [(v[2] - v[0], v[3] - v[1] + tiny) for v in (a, b)]
        (w1, h1), (w2, h2) = self.sizes
        self.union = w1 * h1 + w2 * h2 - self.inner + tiny

    def centre_distance(self) -> Tensor:
        """Return the squared distance of the centres over the squared diagonal of what holds both."""
        a, b = self.a, self.b
        centres = ((b[0] + b[2] - a[0] - a[2]).square() + (b[1] + b[3] - a[1] - a[3]).square()) / 4
        return centres / (self.outer[0].square() + self.outer[1].square() + TINY)


def _compute_giou(first: Tensor, second: Tensor, trans: bool, cross: bool) -> Tensor:
    pair = Pair(first, second, trans, cross, 0.0)
    union, outer = pair.union + 1e-16, pair.outer[0] * pair.outer[1]
    value = pair.inner / union - (outer - union) / outer
    return (value if cross else value[None]).t()


def _compute_diou(first: Tensor, second: Tensor, trans: bool, cross: bool) -> Tensor:
    pair = Pair(first, second, trans, cross, TINY)
    value = pair.inner / pair.union - pair.centre_distance()
    return value if cross else value[None]


def _compute_ciou(first: Tensor, second: Tensor, trans: bool, cross: bool) -> tuple[Tensor, Tensor]:
    """Return (the value, the difference of the angles); the weight of the aspect term has no gradient."""
    pair = Pair(first, second, trans, cross, TINY)
    (w1, h1), (w2, h2) = pair.sizes
    difference = torch.atan(w2 / h2) - torch.atan(w1 / h1)
    aspect, iou = 4 / math.pi**2 * difference.square(), pair.inner / pair.union
    weight = (aspect / (1 + TINY - iou + aspect)).detach()
    value = iou - pair.centre_distance() - aspect * weight
    return (value, difference) if cross else (value[None], difference[None])


def _plain_iou(name: str, mode: int) -> None:
    if mode != 0:
        raise NotImplementedError(f"the NPU simulator lacks {name} with mode 1 (iof)")


def _only_xywh(trans: bool, cross: bool, mode: int) -> None:
    if not trans or cross or mode != 0:
        raise RuntimeError(
            "giou backward only support trans==True, is_cross==False, mode==0('iou') current version "
            "if you need to back propagation, please ensure your parameter is correct!"
        )


def _pair_of_gradients(
    function: Callable[[Tensor, Tensor], Tensor], bboxes: Tensor, gtboxes: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor]:
    first, second = compute_gradients(function, [bboxes, gtboxes], [grad])
    assert first is not None and second is not None
    return first, second


@reference("npu::npu_giou", dtypes=PAIRED)
def npu_giou(input: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Tensor:
    """(N, 1)."""
    _only_xywh(trans, is_cross, mode)
    return _compute_giou(as_wide(input), as_wide(gtboxes), trans, is_cross).to(input.dtype)


@reference("npu::npu_giou_backward")
def npu_giou_backward(
    grad: Tensor, bboxes: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> tuple[Tensor, Tensor]:
    _only_xywh(trans, is_cross, mode)
    return _pair_of_gradients(lambda a, b: _compute_giou(a, b, trans, is_cross), bboxes, gtboxes, grad)


@reference("npu::npu_diou", dtypes=PAIRED)
def npu_diou(input: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Tensor:
    """(1, N), or (M, N) with `is_cross`."""
    _plain_iou("npu_diou", mode)
    return _compute_diou(as_wide(input), as_wide(gtboxes), trans, is_cross).to(input.dtype)


@reference("npu::npu_diou_backward")
def npu_diou_backward(
    grad: Tensor, bboxes: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> tuple[Tensor, Tensor]:
    _plain_iou("npu_diou_backward", mode)
    return _pair_of_gradients(lambda a, b: _compute_diou(a, b, trans, is_cross), bboxes, gtboxes, grad)


@reference("npu::_npu_ciou", dtypes=PAIRED)
@takes("Tensor input, Tensor gtboxes, bool trans=False, bool is_cross=True, int mode=0, bool atan_sub_flag=False")
def npu_ciou(call: Arguments) -> tuple[Tensor, Tensor]:
    """(the value, the difference of the angles)."""
    _plain_iou("npu_ciou", call.mode)
    value, difference = _compute_ciou(as_wide(call.input), as_wide(call.gtboxes), call.trans, call.is_cross)
    return value.to(call.input.dtype), difference


@reference("npu::npu_ciou_backward")
@takes("Tensor grad, Tensor bboxes, Tensor gtboxes, Tensor? atan_sub, bool trans=False, bool is_cross=True, int mode=0")
def npu_ciou_backward(call: Arguments) -> tuple[Tensor, Tensor]:
    _plain_iou("npu_ciou_backward", call.mode)
    return _pair_of_gradients(
        lambda a, b: _compute_ciou(a, b, call.trans, call.is_cross)[0], call.bboxes, call.gtboxes, call.grad
    )


def _centres_of(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return (x, y, width, height) of (N, 4) corners."""
    x1, y1, x2, y2 = boxes.unbind(-1)
    return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1 + 1, y2 - y1 + 1


@reference("npu::npu_bounding_box_encode")
@takes(
    "Tensor anchor_box, Tensor ground_truth_box, float means0, float means1, float means2, float means3, float stds0, "
    "float stds1, float stds2, float stds3"
)
def npu_bounding_box_encode(call: Arguments) -> Tensor:
    """Deltas from anchors to boxes, less the means, over the deviations: in float16 whatever the dtype.

    So are the expected values of the operator's own test on an A2 (Ascend/op-plugin).
    """
    px, py, pw, ph = _centres_of(as_wide(call.anchor_box))
    gx, gy, gw, gh = _centres_of(as_wide(call.ground_truth_box))
    ratios = (gw / pw).log(), (gh / ph).log()  # NaN for a box turned inside out, on an A2
    deltas = torch.stack([(gx - px) / pw, (gy - py) / ph, *ratios], -1).half()
    means = deltas.new_tensor([call.means0, call.means1, call.means2, call.means3])
    stds = torch.tensor([call.stds0, call.stds1, call.stds2, call.stds3], dtype=torch.float32)
    return ((deltas - means) * stds.reciprocal().half()).to(call.anchor_box.dtype)


@reference("npu::npu_bounding_box_decode")
@takes(
    "Tensor rois, Tensor deltas, float means0, float means1, float means2, float means3, float stds0, float stds1, "
    "float stds2, float stds3, int[] max_shape, float wh_ratio_clip"
)
def npu_bounding_box_decode(call: Arguments) -> Tensor:
    """Boxes from anchors and deltas, within max_shape (height, width)."""
    px, py, pw, ph = _centres_of(as_wide(call.rois))
    scaled = as_wide(call.deltas) * call.deltas.new_tensor(
        [call.stds0, call.stds1, call.stds2, call.stds3], dtype=px.dtype
    )
    dx, dy, dw, dh = (scaled + scaled.new_tensor([call.means0, call.means1, call.means2, call.means3])).unbind(-1)
    limit = abs(math.log(call.wh_ratio_clip))
    gw, gh = pw * dw.clamp(-limit, limit).exp(), ph * dh.clamp(-limit, limit).exp()
    gx, gy = px + pw * dx, py + ph * dy
    corners = [gx - gw / 2 + 0.5, gy - gh / 2 + 0.5, gx + gw / 2 - 0.5, gy + gh / 2 - 0.5]
    height, width = call.max_shape[0], call.max_shape[-1]
    limits = [width - 1, height - 1, width - 1, height - 1]
    return torch.stack([value.clamp(0, top) for value, top in zip(corners, limits)], -1).to(call.rois.dtype)


@reference("npu::npu_anchor_response_flags", dtypes={"input": PAIRED["input"]})
def npu_anchor_response_flags(
    input: Tensor, featmap_size: Sequence[int], stride: Sequence[int], num_base_anchors: int
) -> Tensor:
    """1 for each anchor of a cell (height * width * anchors, uint8) in which the centre of a (N, 4) box lies.

    A centre outside of the feature map counts for the nearest cell (npu_anchor_response_flags.md).
    """
    height, width = featmap_size
    x1, y1, x2, y2 = as_wide(input).unbind(-1)
    column, row = ((x1 + x2) / 2 / stride[0]).floor().long(), ((y1 + y2) / 2 / stride[1]).floor().long()
    cells = torch.zeros(height * width, dtype=torch.uint8)
    cells[row.clamp(0, height - 1) * width + column.clamp(0, width - 1)] = 1
    return cells.repeat_interleave(num_base_anchors)


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


LEAST = 1e-6
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
    offsets = ((centres[1] - centres[0]) / stride[:, None] + 0.5).clamp(LEAST, 1 - LEAST)
    return torch.cat([offsets, (sizes[1] / sizes[0]).clamp(LEAST).log()], 1).to(gt_bboxes.dtype)


@reference(
    "npu::npu_grid_assign_positive",
    dtypes={
        **dict.fromkeys(("input", "overlaps", "max_overlaps", "gt_max_overlaps"), TYPES),
        **dict.fromkeys(("argmax_overlaps", "gt_argmax_overlaps"), (torch.int32,)),
        "box_responsible_flags": (torch.uint8,),
    },
)
@takes(
    "Tensor input, Tensor overlaps, Tensor box_responsible_flags, Tensor max_overlaps, Tensor argmax_overlaps, "
    "Tensor gt_max_overlaps, Tensor gt_argmax_overlaps, int num_gts, float pos_iou_thr, float min_pos_iou, "
    "bool gt_max_assign_all"
)
def npu_grid_assign_positive(call: Arguments) -> Tensor:
    """(n,): the ground truth of each positive box, counted from 1; the input's value for the others."""
    responsible = call.box_responsible_flags != 0
    assigned = call.input.clone()
    positive = (call.max_overlaps >= call.pos_iou_thr) & responsible
    assigned[positive] = (call.argmax_overlaps[positive] + 1).to(assigned.dtype)
    for truth in range(min(call.num_gts, call.overlaps.shape[0])):
        if call.gt_max_overlaps[truth] <= call.min_pos_iou:
            continue
        best = call.overlaps[truth] == call.gt_max_overlaps[truth]
        if not call.gt_max_assign_all:
            best = torch.arange(len(assigned)) == call.gt_argmax_overlaps[truth]
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
