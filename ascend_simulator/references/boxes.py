"""Losses and coding of boxes.

npu_giou.md, npu_diou.md, npu_ciou.md: Generalized IoU, https://arxiv.org/abs/1902.09630; Distance and Complete IoU,
https://arxiv.org/abs/1911.08287. npu_bounding_box_encode.md and _decode.md: Faster R-CNN's deltas with pixels counted
from both ends (a box from 1 to 3 is 3 wide). Boxes are (4, N), as xywh with `trans`, else as corners.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide, compute_gradients
from .registry import reference

TYPES = {"input": (torch.float32, torch.float16), "gtboxes": (torch.float32, torch.float16)}
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


def _pair_of_gradients(both: Sequence[Tensor | None]) -> tuple[Tensor, Tensor]:
    first, second = both
    assert first is not None and second is not None
    return first, second


@reference("npu::npu_giou", dtypes=TYPES)
def npu_giou(input: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Tensor:
    """(N, 1)."""
    _only_xywh(trans, is_cross, mode)
    return _compute_giou(as_wide(input), as_wide(gtboxes), trans, is_cross).to(input.dtype)


@reference("npu::npu_giou_backward")
def npu_giou_backward(
    grad: Tensor, bboxes: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> tuple[Tensor, Tensor]:
    _only_xywh(trans, is_cross, mode)
    both = compute_gradients(lambda a, b: _compute_giou(a, b, trans, is_cross), [bboxes, gtboxes], [grad])
    return _pair_of_gradients(both)


@reference("npu::npu_diou", dtypes=TYPES)
def npu_diou(input: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Tensor:
    """(1, N), or (M, N) with `is_cross`."""
    _plain_iou("npu_diou", mode)
    return _compute_diou(as_wide(input), as_wide(gtboxes), trans, is_cross).to(input.dtype)


@reference("npu::npu_diou_backward")
def npu_diou_backward(
    grad: Tensor, bboxes: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> tuple[Tensor, Tensor]:
    _plain_iou("npu_diou_backward", mode)
    both = compute_gradients(lambda a, b: _compute_diou(a, b, trans, is_cross), [bboxes, gtboxes], [grad])
    return _pair_of_gradients(both)


@reference("npu::_npu_ciou", dtypes=TYPES)
def npu_ciou(
    input: Tensor,
    gtboxes: Tensor,
    trans: bool = False,
    is_cross: bool = True,
    mode: int = 0,
    atan_sub_flag: bool = False,
) -> tuple[Tensor, Tensor]:
    """(the value, the difference of the angles)."""
    _plain_iou("npu_ciou", mode)
    value, difference = _compute_ciou(as_wide(input), as_wide(gtboxes), trans, is_cross)
    return value.to(input.dtype), difference


@reference("npu::npu_ciou_backward")
def npu_ciou_backward(
    grad: Tensor,
    bboxes: Tensor,
    gtboxes: Tensor,
    atan_sub: Tensor | None,
    trans: bool = False,
    is_cross: bool = True,
    mode: int = 0,
) -> tuple[Tensor, Tensor]:
    _plain_iou("npu_ciou_backward", mode)
    both = compute_gradients(lambda a, b: _compute_ciou(a, b, trans, is_cross)[0], [bboxes, gtboxes], [grad])
    return _pair_of_gradients(both)


def _centres_of(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return (x, y, width, height) of (N, 4) corners."""
    x1, y1, x2, y2 = boxes.unbind(-1)
    return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1 + 1, y2 - y1 + 1


@reference("npu::npu_bounding_box_encode")
def npu_bounding_box_encode(
    anchor_box: Tensor,
    ground_truth_box: Tensor,
    means0: float,
    means1: float,
    means2: float,
    means3: float,
    stds0: float,
    stds1: float,
    stds2: float,
    stds3: float,
) -> Tensor:
    """Deltas from anchors to boxes, less the means, over the deviations: in float16 whatever the dtype.

    So are the expected values of the operator's own test on an A2 (Ascend/op-plugin).
    """
    px, py, pw, ph = _centres_of(as_wide(anchor_box))
    gx, gy, gw, gh = _centres_of(as_wide(ground_truth_box))
    ratios = (gw / pw).log(), (gh / ph).log()  # NaN for a box turned inside out, on an A2
    deltas = torch.stack([(gx - px) / pw, (gy - py) / ph, *ratios], -1).half()
    means = deltas.new_tensor([means0, means1, means2, means3])
    stds = torch.tensor([stds0, stds1, stds2, stds3], dtype=torch.float32)
    return ((deltas - means) * stds.reciprocal().half()).to(anchor_box.dtype)


@reference("npu::npu_bounding_box_decode")
def npu_bounding_box_decode(
    rois: Tensor,
    deltas: Tensor,
    means0: float,
    means1: float,
    means2: float,
    means3: float,
    stds0: float,
    stds1: float,
    stds2: float,
    stds3: float,
    max_shape: Sequence[int],
    wh_ratio_clip: float,
) -> Tensor:
    """Boxes from anchors and deltas, within max_shape (height, width)."""
    px, py, pw, ph = _centres_of(as_wide(rois))
    scaled = as_wide(deltas) * deltas.new_tensor([stds0, stds1, stds2, stds3], dtype=px.dtype)
    dx, dy, dw, dh = (scaled + scaled.new_tensor([means0, means1, means2, means3])).unbind(-1)
    limit = abs(math.log(wh_ratio_clip))
    gw, gh = pw * dw.clamp(-limit, limit).exp(), ph * dh.clamp(-limit, limit).exp()
    gx, gy = px + pw * dx, py + ph * dy
    corners = [gx - gw / 2 + 0.5, gy - gh / 2 + 0.5, gx + gw / 2 - 0.5, gy + gh / 2 - 0.5]
    height, width = max_shape[0], max_shape[-1]
    limits = [width - 1, height - 1, width - 1, height - 1]
    return torch.stack([value.clamp(0, top) for value, top in zip(corners, limits)], -1).to(rois.dtype)


@reference("npu::npu_anchor_response_flags", dtypes={"input": TYPES["input"]})
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
