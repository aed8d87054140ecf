"""Matrix products of torch_npu with whole numbers against products of whole numbers in float64."""

from __future__ import annotations

import torch
import torch_npu
from comparing import near, raises

OPS = torch.ops.npu


def whole(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, high, shape, dtype=torch.int32)


def int4(values: torch.Tensor) -> torch.Tensor:
    return torch_npu.npu_convert_weight_to_int4pack(values.npu())


def check_int8_products() -> None:
    x, w, scale, token = whole(-128, 128, 5, 64), whole(-128, 128, 64, 8), torch.rand(8) / 1e3, torch.rand(5)
    bias, late = whole(-99, 99, 8), torch.randn(8)
    total = x.double() @ w.double()
    npu = x.to(torch.int8).npu(), w.to(torch.int8).npu()
    cut = (scale.view(torch.int32) & -8192).view(torch.float32)
    offset = torch.tensor([-7.0, 300, 0.5, 1.5, 0, 1, 2, 3])
    whole_offset = offset.round().clamp(-256, 255)
    ours = torch_npu.npu_quant_matmul(*npu, scale.npu(), offset=offset.npu(), bias=bias.npu())
    expected = (((total + bias) * cut).round() + whole_offset).clamp(-128, 127)
    assert ours.dtype == torch.int8 and (ours.cpu() - expected).abs().max() <= 1
    assert (ours.cpu() == expected).float().mean() > 0.95
    packed = torch_npu.npu_trans_quant_param(scale.npu(), offset.npu())
    assert torch_npu.npu_quant_matmul(*npu, packed, bias=bias.npu()).tolist() == ours.tolist()
    ours = torch_npu.npu_quant_matmul(*npu, scale.npu(), output_dtype=torch.float16)
    near(ours, (total * cut).half(), torch.float16)
    assert not torch.equal(ours.cpu(), (total.float() * scale).half()), "the scale has 19 bits"
    for dtype in (torch.float16, torch.bfloat16):
        options = {"pertoken_scale": token.npu(), "output_dtype": dtype}
        ours = torch_npu.npu_quant_matmul(*npu, scale.npu(), bias=late.npu(), **options)
        near(ours, total * scale * token[:, None] + late, dtype)
    ours = torch_npu.npu_quant_matmul(*npu, scale.npu(), bias=bias.npu(), output_dtype=torch.int32)
    assert ours.dtype == torch.int32 and ours.tolist() == (total + bias).int().tolist()
    batched = torch_npu.npu_quant_matmul(npu[0].expand(2, 5, 64), npu[1], scale.npu(), output_dtype=torch.int32)
    assert batched[1].tolist() == total.int().tolist()
    options = {"offset": offset.npu(), "output_dtype": torch.float16}
    raises(lambda: torch_npu.npu_quant_matmul(*npu, scale.npu(), **options), "npu_quant_matmul", "offset")
    raises(lambda: torch_npu.npu_quant_matmul(*npu, scale.npu(), output_dtype=torch.float32), "output_dtype")
    raises(lambda: torch_npu.npu_quant_matmul(*npu, scale[:3].npu()), "scale", "(3,)")


def check_long_sums_are_exact() -> None:
    x, w = torch.full((1, 8192), 127, dtype=torch.int8), torch.full((8192, 8), 127, dtype=torch.int8)
    x[0, 0] = 1
    ours = torch_npu.npu_quant_matmul(x.npu(), w.npu(), torch.ones(1).npu(), output_dtype=torch.int32)
    assert ours.tolist() == [[8191 * 127 * 127 + 127] * 8], "beyond what float32 holds"


def check_int4_products() -> None:
    x, w, scale, token = whole(-8, 8, 3, 512), whole(-8, 8, 512, 16), torch.rand(16), torch.rand(3)
    total = x.double() @ w.double()
    options = {"pertoken_scale": token.npu(), "output_dtype": torch.bfloat16}
    ours = torch_npu.npu_quant_matmul(int4(x), int4(w), scale.npu(), **options)
    near(ours, total * scale * token[:, None], torch.bfloat16)
    transposed = torch_npu.npu_quant_matmul(int4(x), int4(w.t().contiguous()).t(), scale.npu(), **options)
    assert torch.equal(transposed, ours)
    scales, offsets = torch.rand(2, 16), torch.randint(-3, 4, (2, 16)).half()
    moved = torch.cat([(w[:256] - offsets[0].double()) * scales[0], (w[256:] - offsets[1].double()) * scales[1]])
    options["group_sizes"] = [0, 0, 256]
    ours = torch_npu.npu_quant_matmul(int4(x), int4(w), scales.npu(), offset=offsets.npu(), **options)
    near(ours, (x.double() @ moved) * token[:, None], torch.bfloat16)
    raises(lambda: torch_npu.npu_quant_matmul(int4(x), int4(w), scale.npu()), "int4")


def check_int8_with_int4() -> None:
    x, w, scales, token = whole(-128, 128, 3, 512), whole(-8, 8, 512, 16), torch.rand(2, 16), torch.rand(3, 1)
    cut = (scales.view(torch.int32) & -8192).view(torch.float32)
    dequantised = torch.cat([w[:256] * cut[0], w[256:] * cut[1]]).double()
    packed = torch_npu.npu_trans_quant_param(scales.flatten().npu()).reshape(2, 16)
    options = {"pertoken_scale": token.npu(), "output_dtype": torch.bfloat16, "group_sizes": [0, 0, 256]}
    offset = (8 * dequantised.sum(0)).float()
    ours = torch_npu.npu_quant_matmul(x.to(torch.int8).npu(), int4(w), packed, offset=offset.npu(), **options)
    near(ours, (x.double() @ dequantised) * token, torch.bfloat16)
    call = x.to(torch.int8).npu(), int4(w), scales.npu()
    raises(lambda: torch_npu.npu_quant_matmul(*call, offset=offset.npu(), **options), "int64 scale")


def check_packed_weights() -> None:
    w = torch.tensor([[-8, -1, 0, 1, 2, 3, 4, 7]], dtype=torch.int32)
    assert int4(w).tolist() == [[0x743210F8]]
    raises(lambda: int4(w + 1), "npu_convert_weight_to_int4pack", "-8 to 7")
    raises(lambda: int4(w[:, :4]), "divisible by 8")


def check_products_with_a_quantised_weight() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        x, w = torch.randn(3, 96).to(dtype), whole(-8, 8, 96, 16)
        scale, offset = (torch.rand(3, 16) + 0.5).to(dtype), torch.randn(3, 16).to(dtype)
        bias = torch.randn(16).to(torch.float16 if dtype == torch.float16 else torch.float32)
        call = [tensor.npu() for tensor in (x, w.to(torch.int8), scale[:1], offset[:1])]
        expected = x.float() @ ((w + offset[:1].float()) * scale[:1].float()) + bias.float()
        ours = torch_npu.npu_weight_quant_batchmatmul(*call, bias=bias.npu())
        assert ours.dtype == dtype
        torch.testing.assert_close(ours.cpu().float(), expected, atol=0.3, rtol=0.02)
        quant = torch.full((16,), 0.5).npu(), torch.full((16,), 3.0).npu()
        ours = torch_npu.npu_weight_quant_batchmatmul(*call, *quant, bias=bias.npu())
        assert ours.dtype == torch.int8
        assert (ours.cpu() - (expected * 0.5 + 3).clamp(-128, 127)).abs().max() < 0.7
        groups = [tensor.float().repeat_interleave(32, 0) for tensor in (scale, offset)]
        expected = x.float() @ ((w + groups[1]) * groups[0])
        packed = int4(w.t().contiguous()).t()
        ours = torch_npu.npu_weight_quant_batchmatmul(
            x.npu(), packed, scale.npu(), offset.npu(), antiquant_group_size=32
        )
        torch.testing.assert_close(ours.cpu().float(), expected, atol=0.3, rtol=0.02)
        raises(lambda call=call: torch_npu.npu_weight_quant_batchmatmul(*call, antiquant_group_size=33), "group_size")
    raises(lambda: torch_npu.npu_weight_quant_batchmatmul(call[0].half(), *call[1:]), "antiquant_scale")
