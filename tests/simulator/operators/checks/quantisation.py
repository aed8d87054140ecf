"""Quantised values of torch_npu against plain loops and integers."""

from __future__ import annotations

import struct

import torch
import torch_npu
from comparing import near, raises

OPS = torch.ops.npu


def nibbles(words: torch.Tensor) -> torch.Tensor:
    """Eight int4 of each int32, the lowest bits first."""
    pieces = [[(word >> shift & 15) for shift in range(0, 32, 4)] for word in words.cpu().flatten().tolist()]
    values = torch.tensor([value - 16 if value > 7 else value for row in pieces for value in row])
    return values.reshape(*words.shape[:-1], -1)


def check_quantize() -> None:
    x, scales, zeros = torch.randn(3, 4, 8), torch.rand(4) + 0.1, torch.tensor([0, 3, -2, 1], dtype=torch.int32)
    for asked, stored in ((torch.qint8, torch.int8), (torch.quint8, torch.uint8), (torch.qint32, torch.int32)):
        low, high = (0, 255) if stored == torch.uint8 else (-128, 127) if stored == torch.int8 else (-1000, 1000)
        expected = (x / scales[None, :, None] + zeros[None, :, None]).round().clamp(low, high)
        ours = torch_npu.npu_quantize(x.npu(), scales.npu(), zeros.npu(), asked, 1)
        assert ours.dtype == stored and ours.tolist() == expected.int().tolist()
    halves = x.half() * 50
    ours = torch_npu.npu_quantize(halves.npu(), scales.half().npu(), None, torch.qint8, -2, False)
    expected = (halves.float() * scales.half().float()[None, :, None]).round().clamp(-128, 127)
    assert ours.tolist() == expected.int().tolist()
    four = torch_npu.npu_quantize(x.npu(), torch.ones(1).npu(), None, torch.quint4x2, -1, False)
    assert four.dtype == torch.int32 and four.shape == (3, 4, 1)
    assert nibbles(four).tolist() == x.round().clamp(-8, 7).int().tolist()
    raises(lambda: torch_npu.npu_quantize(x.npu(), scales.npu(), None, torch.float16, 1), "npu_quantize", "dtype")
    raises(lambda: torch_npu.npu_quantize(x.npu(), scales.half().npu(), None, torch.qint8, 1), "npu_quantize", "scales")
    raises(lambda: torch_npu.npu_quantize(x.npu(), scales.npu(), None, torch.qint8, 2), "do not fit")
    raises(lambda: torch_npu.npu_quantize(x[..., :4].npu(), scales.npu(), None, torch.quint4x2, -2, False), "by 8")


def check_dynamic_quantisation() -> None:
    x, smooth, ends = torch.randn(2, 3, 16).bfloat16(), torch.rand(2, 16).bfloat16(), torch.tensor([2, 6]).int()
    x[1, 2] = 0
    rows = x.float().reshape(6, 16) * torch.stack([smooth.float()[int(i >= 2)] for i in range(6)])
    for asked, largest in ((torch.int8, 127), (torch.quint4x2, 7)):
        options = {"smooth_scales": smooth.npu(), "group_index": ends.npu(), "dst_type": asked}
        y, scale = torch_npu.npu_dynamic_quant(x.npu(), **options)
        expected = rows.abs().amax(1) / largest
        near(scale, expected.reshape(2, 3))
        whole = (nibbles(y) if asked == torch.quint4x2 else y.cpu()).reshape(6, 16)
        assert (whole[:5] - rows[:5] / expected[:5, None]).abs().max() < 0.501 and not whole[5].any()
        y, scale, offset = torch_npu.npu_dynamic_quant_asymmetric(x[:1].npu(), dst_type=asked)
        whole = (nibbles(y) if asked == torch.quint4x2 else y.cpu())[0]
        assert (whole.amin(1) == -largest - 1).all() and (whole.amax(1) == largest).all()
        back = (whole - offset.cpu()[0, :, None]) * scale.cpu()[0, :, None]
        assert ((back - x[0].float()).abs() < 0.51 * scale.cpu()[0, :, None]).all()
    assert torch_npu.npu_dynamic_quant(x.half().npu(), smooth_scales=smooth[0].half().npu())[0].dtype == torch.int8
    raises(lambda: torch_npu.npu_dynamic_quant(x.float().npu()), "float32")
    raises(lambda: torch_npu.npu_dynamic_quant(x.npu(), quant_mode="perchannel"), "npu_dynamic_quant", "perchannel")
    raises(lambda: torch_npu.npu_dynamic_quant(x.npu(), smooth_scales=smooth.npu()), "smooth_scales")


def check_quantisation_of_groups() -> None:
    x, scale, ends = torch.randn(5, 8), torch.randn(3, 8) * 30, torch.tensor([0, 2, 5])
    options = {"offset": torch.tensor([3.0]).npu(), "dst_dtype": torch.int8}
    ours = torch_npu.npu_group_quant(x.npu(), scale.npu(), ends.npu(), **options)
    expected = (x * torch.stack([scale[1]] * 2 + [scale[2]] * 3) + 3).round().clamp(-128, 127)
    assert ours.dtype == torch.int8 and ours.tolist() == expected.int().tolist()
    four = torch_npu.npu_group_quant(x.npu(), scale.npu(), ends.npu(), dst_dtype=torch.quint4x2)
    assert nibbles(four).tolist() == (expected_of_four(x, scale)).tolist()
    raises(lambda: torch_npu.npu_group_quant(x.npu(), scale.npu(), (ends - 1).npu()), "group_index")


def expected_of_four(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return (x * torch.stack([scale[1]] * 2 + [scale[2]] * 3)).round().clamp(-8, 7).int()


def check_packed_scales() -> None:
    scale, offset = torch.randn(8), torch.tensor([0.5, 1.5, -3, 300, -300, 7, 255, -1])
    plain, nearest = (torch_npu.npu_trans_quant_param(scale.npu(), offset.npu(), mode).cpu() for mode in (0, 1))
    for value, shift, cut, near_ in zip(scale.tolist(), offset.tolist(), plain.tolist(), nearest.tolist()):
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        whole = max(-256, min(255, round(shift)))
        assert cut == (bits & 0xFFFFE000) | 1 << 46 | (whole & 0x1FF) << 37
        kept = struct.unpack("<f", struct.pack("<I", near_ & 0xFFFFFFFF))[0]
        assert abs(kept - value) <= abs(value) * 2**-11 and near_ & 0x1FFF == 0
    assert torch_npu.npu_trans_quant_param(scale[:1].npu(), offset.npu()).shape == (8,)
    raises(lambda: torch_npu.npu_trans_quant_param(scale.npu(), None, 2), "round_mode")


def check_dequantisation() -> None:
    x, scale, offset = torch.randint(-128, 128, (3, 8)).to(torch.int8), torch.rand(8), torch.rand(8)
    ours = torch_npu.npu_anti_quant(x.npu(), scale.npu(), offset=offset.npu(), dst_dtype=torch.float16)
    near(ours, (x + offset) * scale, torch.float16)
    words = torch.tensor([[0x76543210], [-1]], dtype=torch.int32)
    ours = torch_npu.npu_anti_quant(words.npu(), torch.ones(1).npu(), src_dtype=torch.quint4x2)
    assert ours.dtype == torch.float16 and ours.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7], [-1] * 8]
    whole, token, bias = torch.randint(-999, 999, (3, 8)).int(), torch.rand(3), torch.arange(8)
    near(
        OPS.npu_dequant_bias(whole.npu(), scale.npu(), token.npu(), bias.int().npu(), output_dtype=torch.float16),
        (whole + bias) * scale * token[:, None],
        torch.float16,
    )
    near(
        OPS.npu_dequant_bias(whole.npu(), scale.npu(), None, bias.float().npu(), output_dtype=torch.float16),
        whole * scale + bias,
        torch.float16,
    )
    raises(lambda: OPS.npu_dequant_bias(whole.npu(), scale.npu(), None, None, output_dtype=torch.bfloat16), "bfloat16")


def check_slices_replaced_and_quantised() -> None:
    data, updates = torch.zeros(3, 2, 5, 32), torch.randn(2, 2, 2, 32)
    starts = torch.tensor([1, 3])
    expected = data.clone()
    expected[0, :, 1:3], expected[1, :, 3:5] = updates[0], updates[1]
    near(torch_npu.scatter_update(data.npu(), starts.npu(), updates.npu(), -2), expected)
    pairs = torch.tensor([[2, 1], [0, 3]]).npu()
    ours = data.npu()
    torch_npu.scatter_update_(ours, pairs, updates.npu(), 2)
    expected = data.clone()
    expected[2, :, 1:3], expected[0, :, 3:5] = updates[0], updates[1]
    near(ours, expected)
    raises(lambda: torch_npu.scatter_update(data.npu(), (starts + 1).npu(), updates.npu(), -2), "outside")
    scales, zeros, cache = torch.rand(32) + 0.1, torch.arange(32).int(), data.to(torch.int8)
    halves, index = updates.half(), starts.int().npu()
    torch_npu.npu_quant_scatter_(ours := cache.npu(), index, halves.npu(), scales.npu(), zeros.npu(), -2, -1)
    whole = (halves.float() / scales + zeros).round().clamp(-128, 127)
    expected = data.clone()
    expected[0, :, 1:3], expected[1, :, 3:5] = whole[0], whole[1]
    near(ours, expected)
    near(torch_npu.npu_quant_scatter(cache.npu(), index, halves.npu(), scales.npu(), zeros.npu(), -2, -1), expected)
    raises(lambda: torch_npu.npu_quant_scatter(cache.npu(), index, halves.npu(), scales.npu(), None, 0, 3), "axis")
    brain = updates.bfloat16().npu()
    raises(lambda: torch_npu.npu_quant_scatter(cache.npu(), index, brain, scales.npu(), None, -2, -1), "quant_scales")
