"""Grouped products of quantised matrices against products in float64, group by group."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import torch_npu
from comparing import near, raises

OPS = torch.ops.npu
ENDS, SPANS = [2, 2, 7], [(0, 2), (2, 2), (2, 7)]
SPLIT: dict[str, Any] = {"split_item": 3, "group_type": 0}


def whole(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, high, shape)


def int4(values: torch.Tensor) -> torch.Tensor:
    """A stack of matrices, eight int4 in an int32."""
    return torch.stack([torch_npu.npu_convert_weight_to_int4pack(one.int().npu()) for one in values])


def grouped(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[a:b].double() @ weights[i].double() for i, (a, b) in enumerate(SPANS)])


def each(values: torch.Tensor) -> torch.Tensor:
    """The entry of each row's group."""
    return values[torch.tensor([0, 0, 2, 2, 2, 2, 2])]


def check_grouped_int8() -> None:
    x, w, scale, token = whole(-128, 128, 7, 16), whole(-128, 128, 3, 16, 8), torch.rand(3, 8) / 99, torch.rand(7)
    bias, ends = whole(-99, 99, 3, 8), torch.tensor(ENDS).npu()
    npu: tuple[Any, Any] = [x.to(torch.int8).npu()], [w.to(torch.int8).npu()]
    total = grouped(x, w)
    options: dict[str, Any] = {"group_list": ends, "bias": [bias.int().npu()], **SPLIT}
    packed = torch.stack([torch_npu.npu_trans_quant_param(row.npu()) for row in scale / 99])
    ours = torch_npu.npu_grouped_matmul(*npu, scale=[packed], **options)[0]
    assert ours.dtype == torch.int8
    assert (ours.cpu() - ((total + each(bias)) * each(scale) / 99).clamp(-128, 127)).abs().max() < 0.6
    for dtype, given in ((torch.float16, scale), (torch.bfloat16, scale.bfloat16())):
        expected = (total + each(bias)) * each(given.float())
        ours = torch_npu.npu_grouped_matmul(*npu, scale=[given.npu()], output_dtype=dtype, **options)[0]
        near(ours, expected, dtype)
        tokens = {"per_token_scale": [token.npu()], "act_type": 5, "output_dtype": dtype}
        ours = torch_npu.npu_grouped_matmul(*npu, scale=[given.npu()], **tokens, **options)[0]
        near(ours, F.silu(expected * token[:, None]), dtype)
    pairs = torch.tensor([[2, 5], [0, 2]]).npu()
    ours = torch_npu.npu_grouped_matmul(
        *npu, scale=[scale.npu()], output_dtype=torch.float16, group_list=pairs, group_list_type=2, **SPLIT
    )[0]
    swapped = torch.cat([x[:5].double() @ w[2].double() * scale[2], x[5:].double() @ w[0].double() * scale[0]])
    near(ours, swapped, torch.float16)
    raises(lambda: torch_npu.npu_grouped_matmul(*npu, scale=[scale.npu()], **options), "scale")
    raises(lambda: torch_npu.npu_grouped_matmul(*npu, **options), "need scale")


def check_grouped_weights_dequantised() -> None:
    x, w = torch.randn(7, 32).half(), whole(-8, 8, 3, 32, 8)
    scale, offset = torch.rand(3, 2, 8).half(), torch.randn(3, 2, 8).half()
    options: dict[str, Any] = {"group_list": torch.tensor(ENDS).npu(), **SPLIT}
    expected = grouped(x, (w + offset[:, :1].float()) * scale[:, :1].float())
    only = {"antiquant_scale": [scale[:, 0].npu()], "antiquant_offset": [offset[:, 0].npu()]}
    ours = torch_npu.npu_grouped_matmul([x.npu()], [w.to(torch.int8).npu()], **only, **options)[0]
    torch.testing.assert_close(ours.cpu().double(), expected, atol=0.1, rtol=0.02)
    rows = [tensor.float().repeat_interleave(16, 1) for tensor in (scale, offset)]
    expected = grouped(x, (w + rows[1]) * rows[0])
    only = {"antiquant_scale": [scale.npu()], "antiquant_offset": [offset.npu()]}
    ours = torch_npu.npu_grouped_matmul([x.npu()], [int4(w)], **only, **options)[0]
    torch.testing.assert_close(ours.cpu().double(), expected, atol=0.1, rtol=0.02)
    raises(lambda: torch_npu.npu_grouped_matmul([x.npu()], [int4(w)], **options), "antiquant_scale")


def check_grouped_int8_with_int4() -> None:
    x, w, scale, token = whole(-128, 128, 7, 32), whole(-8, 8, 3, 32, 8), torch.rand(3, 2, 8) / 99, torch.rand(7)
    packed = torch.stack([torch_npu.npu_trans_quant_param(row.flatten().npu()) for row in scale]).reshape(3, 2, 8)
    cut = (scale.view(torch.int32) & -8192).view(torch.float32)
    dequantised = w * cut.repeat_interleave(16, 1)
    call: dict[str, Any] = {
        "scale": [packed],
        "bias": [8 * dequantised.sum(1).npu()],
        "per_token_scale": [token.npu()],
        "group_list": torch.tensor(ENDS).npu(),
        "output_dtype": torch.bfloat16,
        **SPLIT,
    }
    ours = torch_npu.npu_grouped_matmul([x.to(torch.int8).npu()], [int4(w)], **call)[0]
    near(ours, grouped(x, dequantised) * token[:, None], torch.bfloat16)
    raises(lambda: torch_npu.npu_grouped_matmul([x.to(torch.int8).npu()], [int4(w)], **{**call, "bias": None}), "bias")


def check_grouped_int4() -> None:
    x, w, scale, token = whole(-8, 8, 7, 32), whole(-8, 8, 3, 32, 8), torch.rand(3, 8) / 9, torch.rand(7)
    packed = torch_npu.npu_trans_quant_param(scale.npu())
    call: dict[str, Any] = {"scale": [packed], "group_list": torch.tensor(ENDS).npu(), **SPLIT}
    npu: tuple[Any, Any] = [int4(x[None])[0]], [int4(w)]
    expected = grouped(x, w) * each((scale.view(torch.int32) & -8192).view(torch.float32))
    near(torch_npu.npu_grouped_matmul(*npu, output_dtype=torch.float16, **call)[0], expected, torch.float16)
    call["per_token_scale"] = [token.npu()]
    ours = torch_npu.npu_grouped_matmul(*npu, output_dtype=torch.bfloat16, **call)[0]
    near(ours, expected * token[:, None], torch.bfloat16)
    raises(lambda: torch_npu.npu_grouped_matmul(*npu, **call), "int4")


def close_rows(ours: tuple[torch.Tensor, ...], total: torch.Tensor) -> None:
    """int8 rows times their scales are the gated ones, to half a step; the row beyond the groups is zero."""
    whole, scale = ours[0].cpu(), ours[1].cpu()[:, None]
    first, second = total.double().chunk(2, 1)
    expected = F.silu(first) * second
    assert whole.dtype == torch.int8 and not whole[-1].any() and (whole[:-1].abs().amax(1) == 127).all()
    assert ((whole[:-1] * scale[:-1] - expected).abs() <= 0.51 * scale[:-1]).all()


def check_grouped_products_gated_and_quantised() -> None:
    x, w, scale, token = whole(-128, 128, 8, 32), whole(-128, 128, 3, 32, 16), torch.rand(3, 16) / 99, torch.rand(8)
    ends, sizes, call = torch.tensor(ENDS), torch.tensor([2, 0, 5]), torch_npu.npu_grouped_matmul_swiglu_quant_v2
    npu = x.to(torch.int8).npu(), [w.to(torch.int8).npu()], [scale.npu()], token.npu()
    rows = token[:7, None]
    close_rows(call(*npu, ends.npu()), grouped(x, w) * each(scale) * rows)
    close_rows(
        call(*npu, sizes.npu(), group_list_type=1, dequant_dtype=torch.float32), grouped(x, w) * each(scale) * rows
    )
    first = OPS.npu_grouped_matmul_swiglu_quant(npu[0], npu[1][0], ends.npu(), scale.npu(), token.npu())
    close_rows(first, grouped(x, w) * each(scale) * rows)
    w, steps = whole(-8, 8, 3, 32, 16), torch.rand(3, 2, 16) / 99
    packed = torch.stack([torch_npu.npu_trans_quant_param(row.flatten().npu()) for row in steps]).reshape(3, 2, 16)
    dequantised = w * (steps.view(torch.int32) & -8192).view(torch.float32).repeat_interleave(16, 1)
    assist = [8 * dequantised.sum(1).npu()]
    ours = call(npu[0], [int4(w)], [packed], npu[3], ends.npu(), weight_assist_matrix=assist, dequant_mode=1)
    close_rows(ours, grouped(x, dequantised) * rows)
    small, smooth = whole(-8, 8, 8, 32), torch.rand(3, 8) + 0.5
    four = int4(small[None])[0], [int4(w)], [scale.npu()], npu[3], ends.npu()
    ours = call(*four, smooth_scale=smooth.npu())
    assert torch.equal(call(*four, smooth_scale=smooth[:, 0].npu())[0], call(*four)[0]), "one factor per row"
    first, second = (grouped(small, w) * each(scale) * rows).chunk(2, 1)
    back = ours[0].cpu()[:7] * ours[1].cpu()[:7, None]
    assert ((back - F.silu(first) * second * each(smooth)).abs() <= 0.51 * ours[1].cpu()[:7, None]).all()
    raises(lambda: call(*npu, ends.npu(), smooth_scale=smooth.npu()), "smooth_scale")
    raises(lambda: call(*npu, ends.npu(), quant_mode=2), "quant_mode")
    physical = npu[1][0].reshape(3, 1, 2, 16, 16)
    raises(lambda: call(npu[0], [physical], *npu[2:], ends.npu()), "private layout")
