"""Attention of several sequences takes a length, a row of the table and a mask for each, or refuses the call."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch_npu
from comparing import raises

HALF = torch.float16


def halves(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.randn(shape).to(HALF).npu() for shape in shapes]


def check_a_length_for_each_token_over_pages() -> None:
    q, k, v, out = halves((4, 4, 16), (4, 4, 2, 16), (4, 4, 2, 16), (4, 4, 16))
    table, lengths = torch.tensor([[2, 0], [1, 3], [0, 1], [3, 2]]).int().npu(), torch.tensor([6, 3, 1, 8]).int()
    call, name = torch_npu._npu_paged_attention, "_npu_paged_attention"
    call(q, k, v, 2, 4, 0.25, table, lengths, out)
    raises(lambda: call(q, k, v, 2, 4, 0.25, table, lengths[:2], out), name, "4 entries", "2 lengths")
    raises(lambda: call(q, k, v, 2, 4, 0.25, table[:2], lengths, out), name, "[2, 2]")
    raises(lambda: call(q, k, v, 2, 4, 0.25, table, lengths + 1, out), "9 tokens in 2 blocks")
    seen, mask = torch.tensor([3, 1]).int(), torch.zeros(4, 8).to(HALF).npu()
    fused = torch_npu._npu_paged_attention_splitfuse
    raises(lambda: fused(q, k, v, table, lengths[:2], mask, seen, 2, 4, 0.25, out), "splitfuse", "2 lengths")
    raises(lambda: fused(q, k, v, table[:2], lengths[:2], mask, seen - 1, 2, 4, 0.25, out), "splitfuse", "4 tokens")


def check_a_length_for_each_token_of_latent_heads() -> None:
    parts = halves((3, 4, 512), (3, 4, 64), (2, 8, 1, 512), (2, 8, 1, 64))
    call, table = torch_npu.atb.npu_multi_head_latent_attention, torch.tensor([[0, 1]] * 3).int().npu()
    assert call(*parts, table, [11, 5, 16], 4, 0.04, 1).shape == (3, 4, 512)
    raises(lambda: call(*parts, table, [11], 4, 0.04, 1), "latent_attention", "1 lengths")
    raises(lambda: call(*parts, table[:1], [11, 5, 16], 4, 0.04, 1), "latent_attention", "[1, 2]")


def check_a_mask_for_each_sequence() -> None:
    q, k, v, out = halves((7, 4, 16), (7, 4, 16), (7, 4, 16), (7, 4, 16))
    options: dict[str, Any] = {"num_heads": 4, "num_kv_heads": 4, "out": out}
    call = torch_npu.atb._npu_flash_attention_v2
    for shape in ((3, 4, 4, 4), (2, 4, 1, 1)):
        wrong = functools.partial(call, q, k, v, [3, 4], mask=halves(shape)[0], **options)
        raises(wrong, "mask", str(list(shape)))
    lengths, mask = torch.tensor([3, 4]).int(), halves((1, 1))[0]
    raises(lambda: torch_npu._npu_flash_attention(q, k, v, mask, lengths, 0.25, 4, 4, out), "mask", "[1, 1]")


def check_lengths_of_block_sparse_attention() -> None:
    call, name = torch_npu.npu_block_sparse_attention, "npu_block_sparse_attention"
    q, k, v = halves((29, 4, 128), (270, 2, 128), (270, 2, 128))
    chosen = torch.ones(2, 4, 3, 2, dtype=torch.int8).npu()

    def packed(mask: torch.Tensor, rows: list[int], columns: list[int]) -> Any:
        ends: dict[str, Any] = {"actual_seq_lengths": rows, "actual_seq_lengths_kv": columns}
        return call(q, k, v, mask, [8, 128], num_key_value_heads=2, scale_value=0.09, **ends)

    assert packed(chosen, [20, 9], [130, 140])[0].any(-1).all()
    raises(lambda: packed(chosen[:1], [20, 9], [130, 140]), name, "1 entries")
    raises(lambda: packed(chosen, [20, 8], [130, 140]), name, "actual_seq_lengths [20, 8]")
    raises(lambda: packed(chosen, [20, 9], [130, 130]), name, "actual_seq_lengths_kv [130, 130]")
    raises(lambda: packed(chosen[:, :1], [20, 9], [130, 140]), name, "4 heads")
    q, k, v = halves((2, 4, 16, 128), (2, 4, 128, 128), (2, 4, 128, 128))
    mask = torch.ones(2, 4, 2, 1, dtype=torch.int8).npu()
    options: dict[str, Any] = {"q_input_layout": "BNSD", "kv_input_layout": "BNSD", "num_key_value_heads": 4}
    short: dict[str, Any] = {"actual_seq_lengths": [16], "actual_seq_lengths_kv": [128]}
    assert call(q, k, v, mask, [8, 128], scale_value=0.09, **options)[0].shape == q.shape
    raises(lambda: call(q, k, v, mask, [8, 128], scale_value=0.09, **options, **short), name, "BNSD [2, 4, 16, 128]")


def check_a_row_of_the_block_table_for_each_entry() -> None:
    q, k, v = halves((2, 1, 64), (6, 16, 64), (6, 16, 64))
    options: dict[str, Any] = {"num_heads": 4, "block_size": 16, "actual_seq_lengths": [20, 32]}
    table = torch.tensor([[4, 1], [2, 5]]).int().npu()
    assert torch_npu.npu_incre_flash_attention(q, k, v, block_table=table, **options).shape == q.shape
    raises(lambda: torch_npu.npu_incre_flash_attention(q, k, v, block_table=table[:1], **options), "block_table [1, 2]")
