"""Tokens on their way to experts, with and without int8, a capacity, and a range of experts: counted by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch_npu
from comparing import near, raises

EXPERTS = torch.tensor([[3, 0], [1, 3], [0, 1], [3, 2], [1, 0]], dtype=torch.int32)
#: Choices in the order of their experts: expert 0 has choices 1, 4, 9, expert 1 has 2, 5, 8, ...
ORDER = [1, 4, 9, 2, 5, 8, 7, 0, 3, 6]


def check_tokens_in_the_order_of_experts() -> None:
    x, scale = torch.randn(5, 8), torch.rand(5)
    call, source = torch_npu.npu_moe_init_routing_v2, [choice // 2 for choice in ORDER]
    options: dict[str, Any] = {"expert_num": 4, "expert_tokens_num_flag": True}
    tokens, places, sums, scales = call(x.npu(), EXPERTS.npu(), scale=scale.npu(), **options)
    assert torch.equal(tokens.cpu(), x[source]) and torch.equal(scales.cpu(), scale[source])
    assert places.tolist() == [ORDER.index(choice) for choice in range(10)] and places.dtype == torch.int32
    assert sums.tolist() == [3, 6, 7, 10] and sums.dtype == torch.int64
    part = call(x.npu(), EXPERTS.npu(), active_expert_range=[1, 3], expert_tokens_num_type=1, active_num=3, **options)
    assert torch.equal(part[0].cpu(), x[source[3:6]]) and part[2].tolist() == [3, 1] and part[3].isnan().all()
    assert part[1].tolist() == [-1, -1, 0, -1, -1, 1, -1, 3, 2, -1]
    pairs = call(
        x.npu(), EXPERTS.npu(), active_expert_range=[2, 4], expert_tokens_num_type=2, row_idx_type=1, **options
    )
    assert pairs[1].tolist()[:4] == [7, 0, 3, 6] and pairs[2].tolist() == [[2, 1], [3, 3], [0, 0], [0, 0]]
    assert torch.equal(pairs[0].cpu()[:4], x[source[6:]]) and not pairs[0][4:].any()
    padded = call(x.npu(), EXPERTS.npu(), drop_pad_mode=1, expert_capacity=2, expert_tokens_num_type=1, **options)
    expected = torch.zeros(4, 2, 8)
    for place, choice in {0: 1, 1: 4, 2: 2, 3: 5, 4: 7, 6: 0, 7: 3}.items():
        expected[place // 2, place % 2] = x[choice // 2]
    assert torch.equal(padded[0].cpu(), expected) and padded[2].tolist() == [3, 3, 1, 3]
    assert padded[1].tolist() == [6, 0, 2, 7, 1, 3, -1, 4, -1, -1]
    raises(lambda: call(x.npu(), EXPERTS.npu(), quant_mode=3, **options), "lacks", "quant_mode 3")


def check_tokens_as_int8() -> None:
    x, source = torch.randn(5, 8), [choice // 2 for choice in ORDER]
    by_expert = torch.rand(4, 8) + 0.5
    weighed = x[source] * by_expert[EXPERTS.flatten()[ORDER].long()]
    for rows, options in ((x[source], {}), (weighed, {"scale": by_expert.npu()})):
        scale = rows.abs().amax(-1) / 127
        second = torch_npu.npu_moe_init_routing_v2(x.npu(), EXPERTS.npu(), expert_num=4, quant_mode=1, **options)
        counted: dict[str, Any] = {"expert_tokens_num_mode": 2, "expert_num": 4, **options}
        third = torch_npu.npu_moe_init_routing_quant(x.npu(), EXPERTS.npu(), **counted)
        for tokens, places, found in ((second[0], second[1], second[3]), (third[0], third[1], third[4])):
            assert tokens.dtype == torch.int8 and places.tolist() == [ORDER.index(choice) for choice in range(10)]
            near(found, scale)
            assert (tokens.cpu() - (rows / scale[:, None]).round()).abs().max() <= 1
        assert third[2].tolist() == [3, 3, 1, 3] and third[2].dtype == torch.int32 and third[3] is None
    given = {"scale": torch.tensor([20.0]).npu(), "offset": torch.tensor([1.5]).npu()}
    static = torch_npu.npu_moe_init_routing_quant(x.npu(), EXPERTS.npu(), expert_num=4, quant_mode=0, **given)
    assert static[0].tolist() == (x[source] * 20 + 1.5).round().clamp(-128, 127).tolist() and static[4] is None
    wrong = {"expert_num": 4, "quant_mode": 0, "scale": given["scale"]}
    raises(lambda: torch_npu.npu_moe_init_routing_quant(x.npu(), EXPERTS.npu(), **wrong), "scale and offset")


def check_a_rank_without_tokens() -> None:
    x, chosen = torch.empty(0, 8).npu(), torch.empty(0, 2, dtype=torch.int32).npu()
    static = {"scale": torch.tensor([20.0]).npu(), "offset": torch.tensor([1.5]).npu()}
    options: dict[str, Any] = {"expert_num": 4, "expert_tokens_num_type": 1, "expert_tokens_num_flag": True}
    for mode, given, dtype in ((-1, {}, torch.float32), (0, static, torch.int8), (1, {}, torch.int8)):
        found = torch_npu.npu_moe_init_routing_v2(x, chosen, quant_mode=mode, **given, **options)
        assert found[0].shape == (0, 8) and found[0].dtype == dtype, mode
        assert found[1].numel() == 0 and found[2].tolist() == [0] * 4 and found[3].numel() == 0, mode
    raises(lambda: torch_npu.npu_moe_init_routing_v2(x, chosen, quant_mode=0, **options), "scale and offset")


def check_tokens_of_ranks_by_expert() -> None:
    counts = torch.tensor([[1, 2], [3, 1]], dtype=torch.int32)
    tokens, scales = torch.randn(7, 4).half(), torch.rand(7)
    order = [0, 3, 4, 5, 1, 2, 6]
    moved = torch_npu.npu_moe_re_routing(tokens.npu(), counts.npu(), per_token_scales=scales.npu())
    assert torch.equal(moved[0].cpu(), tokens[order]) and torch.equal(moved[1].cpu(), scales[order])
    assert moved[2].tolist() == order and moved[3].tolist() == [4, 3] and moved[3].dtype == torch.int32
    raises(lambda: torch_npu.npu_moe_re_routing(tokens[:6].npu(), counts.npu()), "adds up to 7", "6 tokens")
