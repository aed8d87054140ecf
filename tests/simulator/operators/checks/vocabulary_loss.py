"""Cross entropy over a vocabulary that two cards share, against PyTorch's."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch_npu
from comparing import leaves, near, raises


def check_cross_entropy_over_a_split_vocabulary() -> None:
    rows, vocabulary = 11, 256
    for dtype in (torch.float16, torch.bfloat16):
        x, weight = leaves((rows, 16), (vocabulary, 16), dtype=dtype)
        target = torch.randint(0, vocabulary, (rows,))
        target[:2] = torch.tensor([127, 128])  # the last of the first card, the first of the second
        plain = [value.clone().requires_grad_() for value in (x, weight)]
        expected = F.cross_entropy(plain[0] @ plain[1].t(), target, reduction="none")
        scale = torch.rand(rows)
        expected.backward(scale)
        ours, shards = x.to(dtype).npu(), weight.to(dtype).npu().chunk(2)
        parts = [
            torch_npu.npu_fused_linear_online_max_sum(ours, shard, target.npu(), start, start + 128, True)
            for shard, start in zip(shards, (0, 128))
        ]
        largest = torch.maximum(parts[0][0], parts[1][0])
        total = sum(part[1] * (part[0] - largest).exp() for part in parts)
        bits = [(part[3].cpu()[:, None] >> torch.arange(8, dtype=torch.uint8) & 1).flatten() for part in parts]
        outside = [one[:rows].bool() for one in bits]
        assert outside[0].tolist() == (target >= 128).tolist() and outside[1].tolist() == (target < 128).tolist()
        assert bits[0][rows:].all() and len(bits[0]) == 16
        chosen = sum(torch.where(out.npu(), 0.0, part[2] + part[0] - largest) for out, part in zip(outside, parts))
        dx = torch.zeros(rows, 16)
        for shard, part, half in zip(shards, parts, plain[1].grad.chunk(2)):
            loss, softmax = torch_npu.npu_fused_cross_entropy_loss_with_max_sum(
                largest, total, chosen, vocab_parallel_logits=part[5]
            )
            near(loss, expected, dtype)
            for known in ({"softmax": softmax}, {"logits_max": largest, "sum_exp_logits": total}):
                grads = torch_npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward(
                    scale.npu(), ours, shard, part[3], part[4], **known
                )
                near(grads[1], half, dtype)
            dx += grads[0].cpu().float()
        near(dx, plain[0].grad, dtype)


def check_both_ways_to_the_gradients_agree() -> None:
    x, weight, target = (torch.randn(9, 64) * 3).half().npu(), torch.randn(128, 64).half().npu(), torch.arange(9).npu()
    largest, total, chosen, mask, local, logits = torch_npu.npu_fused_linear_online_max_sum(
        x, weight, target, 0, 128, True
    )
    loss = torch_npu.npu_fused_cross_entropy_loss_with_max_sum
    softmax = loss(largest, total, chosen, vocab_parallel_logits=logits)[1]
    first, second = (
        torch_npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward(
            torch.ones(9).npu(), x, weight, mask, local, **known
        )
        for known in ({"softmax": softmax}, {"logits_max": largest, "sum_exp_logits": total})
    )
    assert torch.equal(first[0], second[0]) and torch.equal(first[1], second[1])


def check_what_the_split_loss_leaves_out() -> None:
    x, weight, target = torch.ones(4, 8).half().npu(), torch.ones(16, 8).half().npu(), torch.arange(4).npu()
    found = torch_npu.npu_fused_linear_online_max_sum(x, weight, target, 0, 16)
    assert found[5] is None
    loss, softmax = torch_npu.npu_fused_cross_entropy_loss_with_max_sum(*found[:3])
    near(loss, torch.full((4,), 16.0).log())
    assert softmax is None
    smoothed = torch_npu.npu_fused_cross_entropy_loss_with_max_sum
    raises(lambda: smoothed(*found[:3], label_smoothing=0.1), "label_smoothing")
    backward = torch_npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward
    raises(lambda: backward(loss, x, weight, found[3], found[4]), "at least 128")
    raises(lambda: torch_npu.npu_fused_linear_online_max_sum(x, weight, target, 3, 2), "vocab_start_index")
