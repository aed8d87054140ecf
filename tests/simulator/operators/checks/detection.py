"""Boxes, suppression, regions of interest, deformable convolution and bits of torch_npu against plain PyTorch."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
import torch_npu
from comparing import near, raises

OPS = torch.ops.npu


def corners(count: int, size: float = 10.0) -> torch.Tensor:
    start = size * torch.rand(count, 2)
    return torch.cat([start, start + size * torch.rand(count, 2) + 1], 1)


def share(a: list[float], b: list[float]) -> float:
    """Intersection over union of two boxes, corners."""
    inner = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
    return inner / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inner)


def greedy(boxes: torch.Tensor, scores: torch.Tensor, limit: float) -> list[int]:
    kept: list[int] = []
    for index in scores.argsort(descending=True).tolist():
        if all(share(boxes[index].tolist(), boxes[other].tolist()) <= limit for other in kept):
            kept.append(index)
    return kept


def check_overlaps_of_boxes() -> None:
    boxes, truths = corners(5).round(), corners(3).round()
    near(
        torch_npu.npu_iou(boxes.npu(), truths.npu()),
        torch.tensor([[share(a, b) for a in boxes.tolist()] for b in truths.tolist()]),
        torch.float16,
    )
    whole = torch_npu.npu_ptiou(boxes.half().npu(), torch.tensor([[0.0, 0, 40, 40]]).half().npu(), 1)
    near(whole, ((boxes[:, 2:] - boxes[:, :2]).prod(1) / 1600)[None], torch.float16)
    assert whole.dtype == torch.float16
    raises(lambda: torch_npu.npu_iou(boxes.npu(), truths.npu(), 2), "npu_iou", "mode")


def check_overlaps_have_the_documented_values() -> None:
    """The example of npu_iou.md, and boxes whose areas float16 cannot hold."""
    boxes = torch.tensor([[0.0, 0, 10, 10], [10, 10, 20, 20], [32, 32, 38, 42]])
    truths = torch.tensor([[0.0, 0, 10, 20], [0, 10, 10, 10], [10, 10, 20, 20]])
    found = torch_npu.npu_iou(boxes.half().npu(), truths.half().npu()).cpu()
    assert torch.equal(found, torch.tensor([[0.4985, 0, 0], [0, 0, 0], [0, 0.9961, 0]]).half()), found
    large = torch.tensor([[0.0, 0, 1000, 800]]).npu()
    near(torch_npu.npu_iou(large, large / 2), torch.tensor([[0.25]]), torch.float16)


def check_overlaps_of_turned_boxes() -> None:
    count = 40
    first, second = (
        torch.cat([4 * torch.rand(count, 2), 1 + 3 * torch.rand(count, 2), 360 * torch.rand(count, 1)], 1)
        for _ in range(2)
    )
    points = torch.cartesian_prod(torch.linspace(-3, 7, 1000), torch.linspace(-3, 7, 1000))

    def inside(box: torch.Tensor) -> torch.Tensor:
        turn = box[4].deg2rad()
        x, y = (points - box[:2]).unbind(1)
        along, across = x * turn.cos() + y * turn.sin(), y * turn.cos() - x * turn.sin()
        return (along.abs() <= box[2] / 2) & (across.abs() <= box[3] / 2)

    areas = torch_npu.npu_rotated_overlaps(first[None].npu(), second[None].npu()).cpu()[0]
    for index in (0, 7, 21):
        counted = (inside(first[index]) & inside(second[index])).sum() / 1e4
        assert abs(float(areas[index, index] - counted)) < 0.02, (areas[index, index], counted)
    own = torch_npu.npu_rotated_iou(first[None].npu(), first[None].npu()).cpu()[0]
    near(own.diagonal(), torch.ones(count))
    neighbours = torch.tensor([[[0.0, 0, 2, 2, 30]], [[0, 0, 2, 2, 0]]])
    along = torch.tensor([[[2 * math.cos(math.pi / 6), 1.0, 2, 2, 30]], [[1.0, 0, 2, 2, 180]]])
    near(torch_npu.npu_rotated_overlaps(neighbours.npu(), along.npu()).flatten(), torch.tensor([0.0, 2.0]))
    raises(lambda: torch_npu.npu_rotated_iou(first[None].npu(), second[None].npu(), True), "trans")


def check_suppression() -> None:
    boxes, scores = corners(60), torch.rand(60)
    kept = greedy(boxes, scores, 0.2)
    limits = torch.tensor(0.2).npu(), torch.tensor(0.0).npu()
    indices, valid = torch_npu.npu_nms_v4(boxes.npu(), scores.npu(), 60, *limits)
    assert indices.shape == (60,) and indices.dtype == torch.int32 and valid.shape == ()
    assert indices[: int(valid)].tolist() == kept
    assert torch_npu.npu_nms_v4(boxes.npu(), scores.npu(), 3, *limits)[0].tolist() == kept[:3]
    centred = torch.cat([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2], torch.zeros(60, 1)], 1)
    turned = torch_npu.npu_nms_rotated(centred.npu(), scores.npu(), 0.2)
    assert turned[0].tolist() == kept and turned[1].tolist() == [len(kept)]
    order = scores.argsort(descending=True)
    rows = torch.cat([boxes[order], scores[order, None]], 1)
    same, places, mask = torch_npu.npu_nms_with_mask(rows.npu(), 0.2)
    near(same, rows)
    assert places.tolist() == list(range(60)) and order[mask.cpu().bool()].tolist() == kept
    raises(lambda: torch_npu.npu_nms_with_mask(rows.flip(0).npu(), 0.2), "npu_nms_with_mask", "sorted")


def check_suppression_in_a_batch() -> None:
    boxes, scores = corners(30)[None, :, None], torch.rand(1, 30, 2)
    best = []
    for label in range(2):
        own, values = boxes[0, :, 0], scores[0, :, label]
        best += [(float(values[i]), label, i) for i in greedy(own, values, 0.3) if values[i] > 0.4][:5]
    best = sorted(best, reverse=True)[:12]
    found = torch_npu.npu_batch_nms(boxes.npu(), scores.npu(), 0.4, 0.3, 5, 12)
    count = int(found[3][0])
    assert count == len(best) and found[0].shape == (1, 12, 4)
    near(found[1][0, :count], torch.tensor([value for value, _, _ in best]))
    near(found[2][0, :count], torch.tensor([float(label) for _, label, _ in best]))
    near(found[0][0, :count], torch.stack([boxes[0, index, 0] for _, _, index in best]))
    assert not found[1][0, count:].any()
    raises(lambda: torch_npu.npu_batch_nms(boxes.npu(), scores.npu(), 0.4, 0.3, 5, 12, True), "clip window")


def bilinear(plane: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """One sample of (C, H, W) as a product of hats."""
    height, width = plane.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return plane.new_zeros(plane.shape[0])
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    rows = (1 - (torch.arange(height) - y).abs()).clamp(0)
    columns = (1 - (torch.arange(width) - x).abs()).clamp(0)
    return torch.einsum("chw,h,w->c", plane, rows, columns)


def check_regions_of_interest() -> None:
    features = torch.randn(2, 3, 7, 8, requires_grad=True)
    rois = torch.tensor([[0, 2.0, 1.0, 20.0, 22.0], [1, -9.0, 3.0, 40.0, 13.0], [1, 5.0, 5.0, 6.0, 6.5]])
    scale, bins, samples = 0.25, (3, 2), 2
    for mode in (0, 1, 2, 3):
        expected = []
        for image, x1, y1, x2, y2 in rois.tolist():
            shift, extra = (0.5, 0.0) if mode > 1 else (0.0, scale * mode)
            top, left = y1 * scale - shift, x1 * scale - shift
            height, width = (y2 - y1) * scale + extra, (x2 - x1) * scale + extra
            height, width = (height, width) if mode > 1 else (max(height, 1.0), max(width, 1.0))
            plane, (h, w) = features[int(image)], (height / bins[0] / samples, width / bins[1] / samples)
            expected += [
                sum(
                    bilinear(plane, top + (2 * i + a + 0.5) * h, left + (2 * j + b + 0.5) * w)
                    for a in range(2)
                    for b in range(2)
                )
                / 4
                for i in range(bins[0])
                for j in range(bins[1])
            ]
        pooled = torch.stack(expected).reshape(3, *bins, 3).permute(0, 3, 1, 2)
        ours = torch_npu.npu_roi_align(features.detach().npu(), rois.npu(), scale, *bins, samples, mode)
        near(ours, pooled)
        (gradient,) = torch.autograd.grad(pooled, features, pooled.detach())
        near(torch_npu.npu_roi_alignbk(ours, rois.npu(), features.shape, 2, 3, scale, samples, mode), gradient)
    raises(lambda: torch_npu.npu_roi_align(features.detach().npu(), rois.npu(), scale, 3, 2, 2, 4), "roi_end_mode 4")


def check_position_sensitive_pooling() -> None:
    features = torch.randn(2, 3 * 2 * 2, 8, 9)
    rois = torch.tensor([[[1, 2, 3, 14, 12], [0, 4, 4, 5, 30]], [[0, 0, 0, 16, 14], [1, 7, 2, 9, 3.0]]])
    leaf, plain = features.clone().npu().requires_grad_(), features.clone().requires_grad_()
    ours = torch_npu.npu_ps_roi_pooling(leaf, rois.transpose(1, 2).contiguous().npu(), 0.5, 2, 3)
    expected = torch.zeros(4, 3, 2, 2)
    for row, (image, x1, y1, x2, y2) in enumerate(rois.reshape(4, 5).tolist()):
        height, width = (y2 + 1 - y1) / 4, (x2 + 1 - x1) / 4
        for i in range(2):
            for j in range(2):
                top, bottom = math.floor(y1 / 2 + i * height), math.ceil(y1 / 2 + (i + 1) * height)
                left, right = math.floor(x1 / 2 + j * width), math.ceil(x1 / 2 + (j + 1) * width)
                cells = plain[int(image), 2 * i + j :: 4, top:bottom, left:right]
                expected[row, :, i, j] = cells.sum((1, 2)) / max(cells[0].numel(), 1)
    near(ours, expected)
    grad = torch.randn_like(expected)
    ours.backward(grad.npu())
    expected.backward(grad)
    near(leaf.grad, plain.grad)
    raises(lambda: torch_npu.npu_ps_roi_pooling(leaf, rois.npu(), 0.5, 2, 3), "(batch, 5, n)")


def check_deformable_convolution() -> None:
    x, weight, bias = torch.randn(2, 4, 6, 7), torch.randn(6, 2, 3, 2), torch.randn(6)
    window = {"kernel_size": [3, 2], "stride": [1, 1, 2, 1], "padding": [1, 1, 0, 0], "dilation": [1, 1, 1, 2]}
    plain = F.conv2d(x, weight, bias, (2, 1), (1, 0), (1, 2), 2)
    taps = 2 * 6
    offset = torch.cat([torch.zeros(2, 2 * taps, *plain.shape[2:]), torch.ones(2, taps, *plain.shape[2:])], 1)
    ours, met = OPS.npu_deformable_conv2d(
        x.npu(), weight.npu(), offset.npu(), bias.npu(), **window, groups=2, deformable_groups=2
    )
    near(ours, plain)
    assert met.shape == (2, 4, 3 * plain.shape[2], 2 * plain.shape[3])
    offset = offset + 0.7 * torch.randn_like(offset)
    leaves = [value.clone().npu().requires_grad_() for value in (x, weight, offset, bias)]
    y = OPS.npu_deformable_conv2d(*leaves, **window, groups=2, deformable_groups=2)[0]
    n, i, j = 1, 2, 3
    expected = bias.clone()
    for group in range(2):
        for a in range(3):
            for b in range(2):
                tap = group * 6 + a * 2 + b
                dx, dy, mask = (float(offset[n, part * taps + tap, i, j]) for part in range(3))
                padded = F.pad(x[n, 2 * group : 2 * group + 2], (9, 9, 9, 9))
                value = bilinear(padded, i * 2 - 1 + a + dy + 9, j + 2 * b + dx + 9) * mask
                expected[3 * group : 3 * group + 3] += weight[3 * group : 3 * group + 3, :, a, b] @ value
    near(y[n, :, i, j], expected)
    y.square().sum().backward()
    step = torch.randn_like(offset)
    moved = [
        OPS.npu_deformable_conv2d(
            x.npu(), weight.npu(), (offset + 1e-3 * k * step).npu(), bias.npu(), **window, groups=2, deformable_groups=2
        )[0]
        .square()
        .sum()
        for k in (1, -1)
    ]
    slope, found = float(moved[0] - moved[1]) / 2e-3, float((leaves[2].grad.cpu() * step).sum())
    assert abs(slope - found) < 0.05 * abs(found) + 1, (slope, found)
    near(leaves[3].grad, 2 * y.detach().cpu().sum((0, 2, 3)))
    raises(lambda: OPS.npu_deformable_conv2d(*leaves, **window, groups=2, modulated=False), "modulated")


def check_encoded_boxes() -> None:
    anchors, boxes, stride = corners(4), corners(4), torch.full((4,), 8, dtype=torch.int32)
    ours = torch_npu.npu_yolo_boxes_encode(anchors.npu(), boxes.npu(), stride.npu())
    middle = ((boxes[:, :2] + boxes[:, 2:]) - (anchors[:, :2] + anchors[:, 2:])) / 16 + 0.5
    near(ours[:, :2], middle.clamp(1e-6, 1 - 1e-6))
    near(ours[:, 2:], ((boxes[:, 2:] - boxes[:, :2]) / (anchors[:, 2:] - anchors[:, :2])).log())
    anchors, boxes = (torch.cat([b, 80 * torch.rand(4, 1) - 40], 1).t()[None].contiguous() for b in (anchors, boxes))
    ones = torch.ones(5).npu()
    deltas = torch_npu.npu_rotated_box_encode(anchors.npu(), boxes.npu(), ones)
    near(deltas[0, 4], (boxes[0, 4].deg2rad()).tan() - (anchors[0, 4].deg2rad()).tan())
    near(torch_npu.npu_rotated_box_decode(anchors.npu(), deltas, ones), boxes)
    raises(lambda: torch_npu.npu_rotated_box_encode(anchors.npu(), boxes.npu(), 2 * ones), "weight")


def check_the_encoding_of_boxes_is_in_float16() -> None:
    """Expected values of the operator's own test, on an A2, in Ascend/op-plugin."""
    anchors = torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]]).npu()
    boxes = torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]]).npu()
    deltas = torch_npu.npu_bounding_box_encode(anchors, boxes, 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2).cpu()
    expected = torch.tensor([[13.328125, 13.328125, 0, 0], [13.328125, 6.6640625, 0, math.nan]])
    assert torch.equal(deltas.nan_to_num(-1), expected.nan_to_num(-1)), deltas


def check_positive_boxes() -> None:
    overlaps = torch.tensor([[0.6, 0.1, 0.0, 0.3], [0.2, 0.4, 0.0, 0.1], [0.0, 0.0, 0.0, 0.0]])
    most, which = overlaps.max(0)
    best, where = overlaps.max(1)
    flags = torch.tensor([1, 1, 1, 0], dtype=torch.uint8)
    given = [torch.full((4,), -1.0), overlaps, flags, most, which.int(), best, where.int()]
    for every in (True, False):
        found = torch_npu.npu_grid_assign_positive(*[value.npu() for value in given], 3, 0.5, 0.0, every)
        assert found.tolist() == [1.0, 2.0, -1.0, -1.0], found


def check_random_choice() -> None:
    x = torch.zeros(5, 6, dtype=torch.bool)
    x[1, 2] = x[3, 4] = x[4, 0] = True
    indices, valid = torch_npu.npu_random_choice_with_mask(x.npu(), 5)
    assert indices.shape == (5, 2) and indices.dtype == torch.int32 and valid.tolist() == [True] * 3 + [False] * 2
    assert sorted(indices.tolist()[:3]) == [[1, 2], [3, 4], [4, 0]]
    some = [torch_npu.npu_random_choice_with_mask(torch.ones(99, dtype=torch.bool).npu(), 5, 7)[0] for _ in range(2)]
    assert torch.equal(some[0], some[1]) and len(set(some[0].flatten().tolist())) == 5
    raises(lambda: torch_npu.npu_random_choice_with_mask(x.npu(), 0), "count")


def check_signs_as_bits() -> None:
    x = torch.tensor([5, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2.0])
    packed = torch_npu.npu_sign_bits_pack(x.npu(), 2)
    assert packed.tolist() == [[159], [15]] and packed.dtype == torch.uint8
    back = torch_npu.npu_sign_bits_unpack(packed.flatten(), 2, torch.float16)
    assert back.shape == (2, 8) and back.flatten()[:14].tolist() == [1.0 if value >= 0 else -1.0 for value in x]
    raises(lambda: torch_npu.npu_sign_bits_pack(x.npu(), 3), "npu_sign_bits_pack", "3 rows")
