"""torch.set_default_dtype changes no result of an operator whose inputs stay the same."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch_npu


def results(dtype: torch.dtype, call: Callable[[], Any]) -> list[torch.Tensor]:
    torch.manual_seed(3)
    torch.set_default_dtype(dtype)
    try:
        found = call()
    finally:
        torch.set_default_dtype(torch.float32)
    return [found.cpu()] if isinstance(found, torch.Tensor) else [one.cpu() for one in found]


def calls() -> dict[str, Callable[[], Any]]:
    features, grad = torch.randn(2, 3, 9, 11).npu(), torch.randn(4, 3, 2, 2).npu()
    rois = torch.cat((torch.tensor([[0.0], [1.0], [1.0], [0.0]]), torch.rand(4, 4) * 4 + torch.tensor([0, 0, 4, 4])), 1)
    maps, five = torch.randn(2, 8, 9, 9).npu(), rois.reshape(2, 2, 5).transpose(1, 2).contiguous().npu()
    pooled, boxes = torch.randn(4, 2, 2, 2).npu(), (rois[:, 1:] * 3).npu()
    many, scores = torch.rand(1, 30, 1, 4).npu(), torch.rand(1, 30, 300).npu()
    x, weights = torch.randn(5, 32).npu(), [torch.randn(shape).npu() for shape in ((32, 64), (64, 32))]
    deviations = (0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.2, 0.2)
    rois = rois.npu()
    return {
        "roi_align": lambda: torch_npu.npu_roi_align(features, rois, 0.7, 2, 2, 2, 0),
        "roi_alignbk": lambda: torch_npu.npu_roi_alignbk(grad, rois, features.shape, 2, 2, 0.7, 2, 1),
        "ps_roi_pooling": lambda: torch.ops.npu.npu_ps_roi_pooling(maps, five, 0.7, 2, 2),
        "ps_roi_pooling_backward": lambda: torch.ops.npu.npu_ps_roi_pooling_backward(pooled, five, 0.7, 2, 2, [9, 9]),
        "bounding_box_encode": lambda: torch_npu.npu_bounding_box_encode(boxes, boxes + 1.3, *deviations),
        "bounding_box_decode": lambda: torch_npu.npu_bounding_box_decode(boxes, boxes, *deviations, (20, 20), 0.1),
        "batch_nms": lambda: torch_npu.npu_batch_nms(many, scores, 0.2, 0.3, 2, 700),
        "dropout_mask": lambda: torch_npu._npu_dropout(x, 0.3),
        "add_rms_norm_dynamic_quant": lambda: torch_npu.npu_add_rms_norm_dynamic_quant(*[x.half()] * 2, x[0].half()),
        "feed_forward": lambda: torch_npu.npu_ffn(x.half(), *(w.half() for w in weights), "relu", inner_precise=1),
    }


def check_results_under_another_default_dtype() -> None:
    for name, call in calls().items():
        expected = results(torch.float32, call)
        for dtype in (torch.bfloat16, torch.float64):
            for one, other in zip(results(dtype, call), expected):
                assert one.dtype == other.dtype and torch.equal(one, other), f"{name} under {dtype}"
