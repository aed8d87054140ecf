"""Grouped, quantised and feed-forward products: every argument counts or is refused, and biases are added exactly."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
import torch_npu
from comparing import near, raises

OPS = torch.ops.npu
NAME = "npu_grouped_matmul"


def check_groups_of_columns() -> None:
    x, w, ends = torch.randn(7, 4).npu(), torch.randn(7, 5).npu(), torch.tensor([2, 7]).npu()
    options: dict[str, Any] = {"split_item": 3, "group_type": 2}

    def call(**more: Any) -> torch.Tensor:
        return torch_npu.npu_grouped_matmul([x.t()], [w], **{"group_list": ends, **options, **more})[0]

    near(call(), torch.stack([x[:2].t().cpu() @ w[:2].cpu(), x[2:].t().cpu() @ w[2:].cpu()]))
    rows, token = torch.randn(5).npu(), torch.rand(4).npu()
    raises(lambda: call(bias=[rows, rows]), NAME, "bias")
    raises(lambda: call(scale=[rows, rows]), NAME, "scale")
    raises(lambda: call(per_token_scale=[token]), NAME, "per_token_scale")
    raises(lambda: call(act_type=5, per_token_scale=[token]), NAME, "per_token_scale")
    raises(lambda: call(group_list=None), NAME, "group_list")
    raises(lambda: call(group_list=torch.tensor([2, 9]).npu()), NAME, "beyond")
    raises(lambda: call(group_list=torch.tensor([7, 2]).npu()), NAME, "decrease")


def check_groups_of_rows() -> None:
    x, weights = torch.randn(7, 4).npu(), [torch.randn(4, 5).npu() for _ in range(2)]
    options: dict[str, Any] = {"split_item": 3, "group_type": 0}

    def call(ends: list[int] | None, **more: Any) -> Any:
        groups = None if ends is None else torch.tensor(ends, dtype=torch.int64).npu()
        return torch_npu.npu_grouped_matmul([x], weights, **{"group_list": groups, **options, **more})

    near(call([2, 7])[0], torch.cat([x[:2].cpu() @ weights[0].cpu(), x[2:].cpu() @ weights[1].cpu()]))
    raises(lambda: call([2, 7], split_item=0), NAME, "split_item")
    raises(lambda: call([2, 7], split_item=0, group_type=-1), NAME, "group_list")
    raises(lambda: call([2, 6]), NAME, "6")
    raises(lambda: call([2, 8]), NAME, "8")
    raises(lambda: call([]), NAME, "empty")
    raises(lambda: call([2, 5, 7]), NAME, "2 weights")
    raises(lambda: call([7]), NAME, "2 weights")
    raises(lambda: call(None), NAME, "group_list")
    parts: dict[str, Any] = {"group_list": torch.tensor([2, 7]).npu(), **options}
    raises(lambda: torch_npu.npu_grouped_matmul([x[:4], x[4:]], weights, **parts), NAME, "fit")


def check_gradients_of_groups_refused() -> None:
    x, total = torch.randn(3, 4).npu(), torch.zeros(2, 4, 4).npu()
    name = "npu_grouped_matmul_add"

    def call(ends: list[int], **more: int) -> None:
        OPS.npu_grouped_matmul_add_(total, x, x, torch.tensor(ends).npu(), **more)

    raises(lambda: call([3, 1]), name, "decrease")
    raises(lambda: call([1, 4]), name, "beyond")
    raises(lambda: call([1, 3], group_type=0), name, "group_type")


def check_dtypes_of_biases() -> None:
    """float16 takes a float16 bias, bfloat16 and float32 a float32 one, int8 an int32 one."""
    ends, every = torch.tensor([2, 7]).npu(), {torch.float16, torch.float32, torch.bfloat16}
    x, w, bias = torch.randn(7, 4), torch.randn(2, 4, 4), torch.randn(2, 4)

    def grouped(dtype: torch.dtype, of_bias: torch.dtype, **more: Any) -> torch.Tensor:
        options: dict[str, Any] = {"group_list": ends, "split_item": 3, "group_type": 0, **more}
        given: tuple[Any, Any] = [x.to(dtype).npu()], [w.to(dtype).npu()]
        return torch_npu.npu_grouped_matmul(*given, bias=[bias.to(of_bias).npu()], **options)[0]

    def feed_forward(dtype: torch.dtype, of_bias: torch.dtype) -> torch.Tensor:
        square = w[0].to(dtype).npu()
        return torch_npu.npu_ffn(x.to(dtype).npu(), square, square, "relu", bias2=bias[0].to(of_bias).npu())

    for dtype, right in ((torch.float16,) * 2, (torch.bfloat16, torch.float32), (torch.float32,) * 2):
        parts = zip(x.to(dtype).float().split([2, 5]), w.to(dtype).float(), bias.to(right).float())
        near(grouped(dtype, right), torch.cat([part @ one + row for part, one, row in parts]), dtype)
        for wrong in every - {right}:
            raises(partial(grouped, dtype, wrong), NAME, "bias")
            if dtype != torch.float32:
                raises(partial(feed_forward, dtype, wrong), "npu_ffn", "bias2")
    scaled: dict[str, Any] = {"scale": [torch.ones(2, 4).npu()], "output_dtype": torch.float16}
    raises(lambda: grouped(torch.int8, torch.float32, **scaled), NAME, "bias")


def check_experts_of_feed_forward() -> None:
    x, w, rows = torch.randn(4, 8).half(), torch.randn(2, 8, 8).half(), torch.randn(2, 8).half()
    npu = x.npu(), w.npu(), w.npu()

    def call(tokens: list[int], **more: torch.Tensor) -> torch.Tensor:
        return torch_npu.npu_ffn(*npu, "relu", expert_tokens=tokens, **{k: v.npu() for k, v in more.items()})

    inner = [F.relu(x[i : i + 2].float() @ w[i // 2].float() + rows[i // 2].float()).half() for i in (0, 2)]
    expected = torch.cat([one.float() @ each.float() for one, each in zip(inner, w)])
    torch.testing.assert_close(call([2, 2], bias1=rows).cpu().float(), expected, atol=0.05, rtol=0.01)
    raises(lambda: call([4]), "npu_ffn", "expert_tokens")
    raises(lambda: call([2, 1, 1]), "npu_ffn", "expert_tokens")
    raises(lambda: call([2, 2], bias1=rows[0]), "npu_ffn", "bias1")
    raises(lambda: call([2, 2], bias2=rows[:, 0]), "npu_ffn", "bias2")
    raises(lambda: torch_npu.npu_ffn(npu[0], npu[1][0], npu[2][0], "relu", bias1=rows[:, 0].npu()), "npu_ffn", "bias1")
    small = [tensor.to(torch.int8).npu() for tensor in (x, w, w)]
    scales = {"scale": torch.ones(2), "offset": torch.ones(2), "deq_scale1": torch.ones(2, 8)}
    scales = {name: value.npu() for name, value in {**scales, "deq_scale2": torch.ones(2, 8)}.items()}
    torch_npu.npu_ffn(*small, "relu", expert_tokens=[2, 2], **scales)
    for name, wrong in (("deq_scale1", 8), ("deq_scale2", 2), ("scale", 1), ("offset", 8)):
        given = {**scales, name: torch.ones(wrong).npu()}
        raises(partial(torch_npu.npu_ffn, *small, "relu", expert_tokens=[2, 2], **given), "npu_ffn", name)
    only = {f"antiquant_scale{i}": torch.ones(2, 8).half().npu() for i in (1, 2)}
    only["antiquant_scale1"] = torch.ones(2).half().npu()
    raises(lambda: torch_npu.npu_ffn(npu[0], *small[1:], "relu", expert_tokens=[2, 2], **only), "antiquant_scale1")


def check_offset_besides_a_packed_scale() -> None:
    x, w, scale, offset = torch.randn(3, 64).half(), torch.randint(-9, 9, (64, 8)), torch.rand(8), torch.full((8,), 5.0)
    npu = x.npu(), w.to(torch.int8).npu(), torch.full((8,), 0.01).half().npu()
    packed = torch_npu.npu_trans_quant_param(scale.npu(), offset.npu())
    call = torch_npu.npu_weight_quant_batchmatmul
    expected = call(*npu, quant_scale=packed)
    assert torch.equal(call(*npu, quant_scale=packed, quant_offset=offset.npu()), expected)
    assert torch.equal(call(*npu, quant_scale=scale.npu(), quant_offset=offset.npu()), expected)
    bare = torch_npu.npu_trans_quant_param(scale.npu())
    raises(lambda: call(*npu, quant_scale=bare, quant_offset=offset.npu()), "npu_weight_quant_batchmatmul", "offset")


def check_large_biases_are_exact() -> None:
    """float32 would take 2**24 + 1 for 2**24."""
    x, w = (torch.full(shape, -128, dtype=torch.int8).npu() for shape in ((1, 1024), (1024, 8)))
    ones, bias = torch.ones(8).npu(), torch.full((8,), -(2**24) - 1, dtype=torch.int32).npu()
    ours = torch_npu.npu_quant_matmul(x, w, ones, bias=bias, output_dtype=torch.int32)
    assert (ours.cpu() == -1).all(), ours
    call: dict[str, Any] = {"split_item": 3, "group_type": 0, "group_list": torch.tensor([0, 1]).npu()}
    both: dict[str, Any] = {"scale": [ones.expand(2, 8).contiguous()], "bias": [bias.expand(2, 8).contiguous()]}
    ours = torch_npu.npu_grouped_matmul([x], [w.expand(2, 1024, 8)], output_dtype=torch.float16, **both, **call)[0]
    near(ours, -torch.ones(1, 8), torch.float16)
    scales = {"scale": ones[:1] * 100, "offset": ones[:1] * 0, "deq_scale1": ones, "deq_scale2": torch.ones(1024).npu()}
    second = torch.ones(8, 1024, dtype=torch.int8).npu()
    ours = torch_npu.npu_ffn(x, w, second, "silu", bias1=bias, **scales)
    near(ours, torch.full((1, 1024), 8.0 * (F.silu(torch.tensor(-1.0)) * 100).round()), torch.float16)


def check_default_dtype_does_not_matter() -> None:
    x = torch.randint(-99, 99, (4, 64), dtype=torch.int8)
    w, scale = torch.randint(-99, 99, (2, 64, 32), dtype=torch.int8), torch.rand(2, 32) / 99
    npu = x.npu(), [w.npu()], [scale.npu()], torch.rand(4).npu(), torch.tensor([2, 4]).npu()
    half = torch.randn(4, 64).half().npu()
    static: dict[str, Any] = {"quant_scale": torch.rand(1).npu() + 0.5, "quant_offset": torch.rand(1).npu()}

    def results() -> list[torch.Tensor]:
        gated = torch_npu.npu_grouped_matmul_swiglu_quant_v2(*npu)
        return [one.cpu() for one in (*gated, *torch_npu.npu_dequant_swiglu_quant(half, quant_mode=0, **static))]

    expected = results()
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = results()
    finally:
        torch.set_default_dtype(torch.float32)
    assert [one.dtype for one in found] == [one.dtype for one in expected]
    assert all(torch.equal(a, b) for a, b in zip(found, expected))
