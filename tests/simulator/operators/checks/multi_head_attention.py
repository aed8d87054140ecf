"""npu_multi_head_attention against projections and attention in plain PyTorch, in float32."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import torch_npu
from comparing import leaves, near, raises

BATCH, HEADS, DIM, SOURCE, TARGET = 2, 16, 16, 32, 16
COLUMNS = HEADS * DIM


def inputs() -> list[torch.Tensor]:
    """query, key, value, their weights, the mask, the last weight, four biases; float32 that float16 holds."""
    rows = [(BATCH * TARGET, COLUMNS), (BATCH * SOURCE, COLUMNS), (BATCH * SOURCE, COLUMNS)]
    weights = [0.06 * one for one in leaves(*[(COLUMNS, COLUMNS)] * 4)]
    (mask,) = leaves((BATCH, HEADS, TARGET, SOURCE))
    values = [*leaves(*rows), *weights[:3], mask, weights[3], *leaves(*[(COLUMNS,)] * 4)]
    return [value.half().float() for value in values]


def plain(q: Any, k: Any, v: Any, wq: Any, wk: Any, wv: Any, mask: Any, wo: Any, *biases: Any) -> torch.Tensor:
    heads = [
        F.linear(x, weight, bias).view(BATCH, -1, HEADS, DIM).transpose(1, 2)
        for x, weight, bias in zip((q, k, v), (wq, wk, wv), biases)
    ]
    context = F.scaled_dot_product_attention(*heads, attn_mask=mask)
    return F.linear(context.transpose(1, 2).reshape(-1, COLUMNS), wo, biases[3])


def fused(values: list[torch.Tensor], mask: Any, probability: float) -> Any:
    sizes = HEADS, DIM, SOURCE, TARGET, probability, True
    return torch_npu.npu_multi_head_attention(*values, mask, *sizes)


def check_attention_with_its_projections() -> None:
    given = inputs()
    ours = [value.half().npu() for value in given]
    theirs = [value.clone() for value in given]
    for index, (one, other) in enumerate(zip(ours, theirs)):
        one.requires_grad_(index != 6)
        other.requires_grad_(index != 6)
    y, mask, *rest = fused(ours, None, 0.0)
    expected = plain(*theirs)
    near(y, expected, torch.float16)
    assert mask.dtype == torch.uint8 and mask.numel() == BATCH * HEADS * TARGET * SOURCE // 8
    assert [tuple(one.shape) for one in rest[:4]] == [
        (BATCH, HEADS, TARGET, DIM),
        *[(BATCH, HEADS, SOURCE, DIM)] * 2,
        (BATCH, HEADS, TARGET, SOURCE),
    ]
    assert rest[3].dtype == torch.float32
    grad = torch.randn_like(expected).half()
    y.backward(grad.npu())
    expected.backward(grad.float())
    for index, (one, other) in enumerate(zip(ours, theirs)):
        if index != 6:
            scale = other.grad.abs().max().clamp(min=1)  # that of the key bias is zero
            near(one.grad.cpu().float() / scale, other.grad / scale, torch.float16)


def check_dropout_inside_of_the_attention() -> None:
    ours = [value.half().npu() for value in inputs()]
    y, mask, *_, softmax, attention, _ = fused(ours, None, 0.5)
    bits = (mask.cpu()[:, None] >> torch.arange(8, dtype=torch.uint8) & 1).flatten().view(softmax.shape)
    assert 0.45 < float(bits.float().mean()) < 0.55
    near(attention, 2 * softmax.cpu() * bits, torch.float16)
    assert torch.equal(fused(ours, mask, 0.5)[0], y)
    raises(lambda: fused(ours, mask.half(), 0.5), "dropout_mask", "uint8")
    raises(lambda: torch_npu.npu_multi_head_attention(*ours, None, 16, 16, 31, 16, 0.0, True), "src_len", "16")
    raises(lambda: fused([ours[0].float(), *ours[1:]], None, 0.0), "npu_multi_head_attention", "float16")
