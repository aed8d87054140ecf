"""Layers of torch_npu that give or take quantised rows, against their formulas row by row."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import torch_npu
from comparing import near, raises


def close_rows(whole: torch.Tensor, scale: torch.Tensor, expected: torch.Tensor) -> None:
    """Quantised rows times their scales are the expected ones, to half a step."""
    back = whole.cpu().float() * scale.cpu()[..., None]
    assert ((back - expected).abs() <= 0.51 * scale.cpu().abs()[..., None]).all(), (back - expected).abs().max()
    assert (whole.cpu().abs().amax(-1) == 127).all()


def check_normalised_and_quantised() -> None:
    x1, x2, gamma, beta = torch.randn(3, 4, 32), torch.randn(3, 4, 32), torch.rand(32) + 0.5, torch.randn(32)
    smooth = torch.rand(32) + 0.5, torch.rand(32) + 0.5
    halves = [tensor.half() for tensor in (x1, x2, gamma, beta, *smooth)]
    total = halves[0].float() + halves[1].float()
    normal = F.rms_norm(total, (32,), halves[2].float(), 1e-6) + halves[3].float()
    npu = [tensor.npu() for tensor in halves]
    call = torch_npu.npu_add_rms_norm_dynamic_quant
    y1, y2, added, scale1, scale2 = call(*npu[:3], beta=npu[3], smooth_scale1=npu[4], smooth_scale2=npu[5])
    near(added, total, torch.float16)
    close_rows(y1, scale1, normal * halves[4].float())
    close_rows(y2, scale2, normal * halves[5].float())
    y1, y2, _, scale1, scale2 = call(*npu[:3], beta=npu[3], output_mask=[False, True])
    assert y1.shape == scale1.shape == () and scale2.shape == (3, 4)
    close_rows(y2, scale2, normal)
    four = call(*npu[:3], y_dtype=torch.quint4x2)[0]
    assert four.dtype == torch.int32 and four.shape == (3, 4, 4)
    raises(lambda: call(*npu[:3], output_mask=[False, False]), "at least one")
    raises(lambda: call(*npu[:3], smooth_scale1=npu[4], output_mask=[False, True]), "output_mask")
    raises(lambda: call(*[tensor.float() for tensor in npu[:3]]), "float32")


def check_gated_and_quantised() -> None:
    x, smooth, offsets = torch.randn(6, 32), torch.rand(2, 16) + 0.5, torch.randn(2, 16) * 9
    left, right = x.chunk(2, 1)
    each = torch.tensor([0, 0, 1, 1, 1, 1])
    counts = torch.tensor([2, 4]).int().npu()
    options: dict[str, Any] = {"smooth_scales": smooth.npu(), "group_index": counts, "group_list_type": 1}
    y, scale = torch_npu.npu_swiglu_quant(x.npu(), quant_mode=1, **options)
    close_rows(y, 1 / scale, left * F.silu(right) * smooth[each])
    ends = torch.tensor([2, 6]).int().npu()
    options = {"smooth_scales": 20 * smooth.npu(), "offsets": offsets.npu(), "group_index": ends}
    y, _ = torch_npu.npu_swiglu_quant(x.npu(), activate_left=True, **options)
    expected = F.silu(left) * right * 20 * smooth[each] + offsets[each]
    assert (y.cpu() - expected.clamp(-128, 127)).abs().max() < 0.51
    four, scale = torch_npu.npu_swiglu_quant(x.npu(), quant_mode=1, dst_type=torch.quint4x2)
    low, high = (four.cpu() << 4) >> 4, four.cpu() >> 4
    back = torch.stack([low, high], -1).reshape(6, 16) / scale.cpu()[:, None]
    assert four.shape == (6, 8) and ((back - left * F.silu(right)).abs() < 0.51 / scale.cpu()[:, None]).all()
    raises(lambda: torch_npu.npu_swiglu_quant(x.npu(), smooth_scales=smooth[:1].npu()), "same shape")
    raises(lambda: torch_npu.npu_swiglu_quant(x[:, :31].npu(), quant_mode=1), "divisible by 2")


def check_dequantised_gated_and_quantised() -> None:
    x, weight, token = torch.randint(-9, 9, (5, 128), dtype=torch.int32), torch.randn(2, 128), torch.rand(5, 1)
    smooth, counts, each = torch.rand(2, 64) + 0.5, torch.tensor([2, 3]), torch.tensor([0, 0, 1, 1, 1])
    values = x * weight[each] * token
    options: dict[str, Any] = {"weight_scale": weight.npu(), "activation_scale": token.npu(), "quant_mode": 1}
    options |= {"quant_scale": smooth.npu(), "group_index": counts.npu()}
    call = torch_npu.npu_dequant_swiglu_quant
    y, scale = call(x.npu(), activate_left=True, **options)
    close_rows(y, scale, F.silu(values[:, :64]) * values[:, 64:] * smooth[each])
    for mode, gate, other in ((1, values[:, ::2], values[:, 1::2]), (2, values[:, :64], values[:, 64:])):
        gate, other = gate.clamp(max=7), other.clamp(-7, 7)
        y, scale = call(x.npu(), activate_left=True, swiglu_mode=mode, **options)
        close_rows(y, scale, gate * torch.sigmoid(1.702 * gate) * (other + 1) * smooth[each])
    y, scale = call(x[:, :8].bfloat16().npu(), quant_mode=1)
    close_rows(y, scale, x[:, :4] * F.silu(x[:, 4:8].float()))
    options |= {"quant_mode": 0, "quant_offset": smooth.npu()}
    y, _ = call(x.npu(), **options)
    expected = F.silu(values[:, 64:]) * values[:, :64] / smooth[each] + smooth[each]
    assert (y.cpu() - expected.clamp(-128, 127)).abs().max() < 0.51
    raises(lambda: call(x.npu(), **{**options, "quant_mode": 1}), "npu_dequant_swiglu_quant", "quant_offset")
    raises(lambda: call(x.npu(), quant_mode=1), "weight_scale")


def check_feed_forward() -> None:
    x, w1, w2 = torch.randn(6, 8), torch.randn(2, 8, 16), torch.randn(2, 16, 8)
    b1, b2 = torch.randn(2, 16), torch.randn(2, 8)
    halves = [tensor.half() for tensor in (x, w1, w2, b1, b2)]
    x, w1, w2, b1, b2 = (tensor.float() for tensor in halves)
    npu = [tensor.npu() for tensor in halves]
    for name, function in (("gelu", F.gelu), ("relu", F.relu), ("silu", F.silu)):
        parts = [function(x[a:b] @ w1[i] + b1[i]) @ w2[i] + b2[i] for i, (a, b) in enumerate([(0, 2), (2, 6)])]
        biases = {"bias1": npu[3], "bias2": npu[4]}
        for experts in ({"expert_tokens": [2, 4]}, {"expert_tokens_index": [2, 6]}):
            torch.testing.assert_close(
                torch_npu.npu_ffn(*npu[:3], name, **experts, **biases).cpu().float(),
                torch.cat(parts),
                atol=0.05,
                rtol=0.01,
            )
    raises(lambda: torch_npu.npu_ffn(*npu[:3], "tanh", expert_tokens=[2, 4]), "npu_ffn", "tanh")
    raises(lambda: torch_npu.npu_ffn(*npu[:3], "relu", expert_tokens=[2, 3]), "6 tokens")
    raises(lambda: torch_npu.npu_ffn(npu[0], npu[1][0], npu[2][0, :8], "swiglu"), "lacks npu_ffn", "gated", "swiglu")


def check_quantised_feed_forward() -> None:
    x, w1, w2 = (torch.randint(-9, 10, shape) for shape in ((3, 8), (8, 16), (16, 8)))
    one, two, scale, offset = torch.rand(16) / 50, torch.rand(8) / 50, torch.tensor([7.0]), torch.tensor([1.0])
    small = [tensor.to(torch.int8).npu() for tensor in (x, w1, w2)]
    scales = {"scale": scale.npu(), "offset": offset.npu(), "deq_scale1": one.npu(), "deq_scale2": two.npu()}
    middle = (F.relu((x @ w1) * one) * 7 + 1).round().clamp(-128, 127)
    near(torch_npu.npu_ffn(*small, "relu", **scales), (middle @ w2.float()) * two, torch.float16)
    halves, moved = x.half() / 8, torch.randn(16).half()
    only = {
        "antiquant_scale1": one.half().npu(),
        "antiquant_offset1": moved.npu(),
        "antiquant_scale2": two.half().npu(),
    }
    expected = F.silu(halves.float() @ ((w1 + moved.float()) * one.half().float())) @ (w2 * two.half().float())
    near(torch_npu.npu_ffn(halves.npu(), *small[1:], "silu", **only), expected, torch.float16)
    raises(lambda: torch_npu.npu_ffn(*small, "relu", **scales, output_dtype=torch.bfloat16), "deq_scale1")
    raises(lambda: torch_npu.npu_ffn(*small, "relu"), "npu_ffn", "int8")
