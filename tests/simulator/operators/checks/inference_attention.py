"""The attention operators of inference: layouts, lengths, masks and pages against softmax(scale * q k^T) v."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
import torch_npu
from comparing import near, raises

HALF = torch.float16


def inputs(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.randn(shape).to(HALF) for shape in shapes]


def plain(q: Any, k: Any, v: Any, scale: float, hidden: Any = None) -> torch.Tensor:
    """(B, N, S, D) in float32; heads of k and v repeat."""
    repeats = q.shape[1] // k.shape[1]
    k, v = (x.float().repeat_interleave(repeats, 1) for x in (k, v))
    scores = q.float() @ k.transpose(-1, -2) * scale
    scores = scores if hidden is None else scores.masked_fill(hidden, -math.inf)
    return scores.softmax(-1) @ v


def check_prompt_attention_layouts_and_lengths() -> None:
    q, k, v = inputs((2, 4, 6, 16), (2, 2, 8, 16), (2, 2, 8, 16))
    expected = plain(q, k, v, 0.25)
    options: dict[str, Any] = {"num_heads": 4, "num_key_value_heads": 2, "scale_value": 0.25}
    call = torch_npu.npu_prompt_flash_attention
    near(call(q.npu(), k.npu(), v.npu(), input_layout="BNSD", **options), expected, HALF)
    rows = [x.transpose(1, 2).contiguous().npu() for x in (q, k, v)]
    near(call(*rows, input_layout="BSND", **options), expected.transpose(1, 2), HALF)
    near(call(*(x.flatten(2) for x in rows), **options), expected.transpose(1, 2).flatten(2), HALF)
    near(call(q.npu(), k.npu(), v.npu(), input_layout="BNSD_BSND", **options), expected.transpose(1, 2), HALF)
    lengths = {"actual_seq_lengths": [4, 6], "actual_seq_lengths_kv": [5, 8]}
    cut = call(q.npu(), k.npu(), v.npu(), input_layout="BNSD", **lengths, **options).cpu()
    near(cut[:1, :, :4], plain(q[:1, :, :4], k[:1, :, :5], v[:1, :, :5], 0.25), HALF)
    near(cut[1:], expected[1:], HALF)
    assert not cut[0, :, 4:].any()


def check_prompt_attention_masks() -> None:
    q, k, v = inputs((2, 2, 6, 16), (2, 2, 8, 16), (2, 2, 8, 16))
    options: dict[str, Any] = {"num_heads": 2, "input_layout": "BNSD", "scale_value": 0.25}
    i, j = torch.arange(6)[:, None], torch.arange(8)[None]
    mask = torch.rand(2, 6, 8) < 0.3
    mask[..., 0] = False
    call, npu = torch_npu.npu_prompt_flash_attention, [x.npu() for x in (q, k, v)]
    near(call(*npu, atten_mask=mask.npu(), next_tokens=9, **options), plain(q, k, v, 0.25, mask[:, None]), HALF)
    near(call(*npu, atten_mask=mask[0].npu(), **options), plain(q, k, v, 0.25, mask[0] | (j > i)), HALF)
    triangle = torch.triu(torch.ones(2048, 2048), 1).bool().npu()
    near(call(*npu, atten_mask=triangle, sparse_mode=2, **options), plain(q, k, v, 0.25, j > i), HALF)
    near(call(*npu, atten_mask=triangle, sparse_mode=3, **options), plain(q, k, v, 0.25, j > i + 2), HALF)
    band = call(*npu, atten_mask=triangle, sparse_mode=4, pre_tokens=1, next_tokens=0, **options)
    near(band, plain(q, k, v, 0.25, (j > i + 2) | (j < i + 1)), HALF)
    bias = torch.randn(1, 2, 6, 8).to(HALF)
    expected = (q.float() @ k.float().transpose(-1, -2) * 0.25 + bias.float()).softmax(-1) @ v.float()
    near(call(*npu, pse_shift=bias.npu(), **options), expected, HALF)
    raises(lambda: call(*npu, sparse_mode=3, **options), "sparse_mode 3", "atten_mask")
    raises(lambda: call(*npu, quant_scale2=torch.ones(1).npu(), **options), "lacks", "quant_scale2")
    raises(lambda: call(*(x.float() for x in npu), **options), "npu_prompt_flash_attention", "float32")


def check_incremental_attention_with_pages() -> None:
    q, k, v = inputs((2, 4, 1, 16), (2, 2, 48, 16), (2, 2, 48, 16))
    lengths, hidden = [20, 48], torch.rand(2, 48) < 0.3
    beyond = torch.arange(48)[None] >= torch.tensor(lengths)[:, None]
    hidden[:, 0] = False
    options: dict[str, Any] = {"num_heads": 4, "num_key_value_heads": 2, "scale_value": 0.25}
    call = torch_npu.npu_incre_flash_attention
    expected = plain(q, k, v, 0.25, beyond[:, None, None])
    out = call(q.npu(), k.npu(), v.npu(), input_layout="BNSD", actual_seq_lengths=lengths, **options)
    near(out, expected, HALF)
    masked = call(q.npu(), k.npu(), v.npu(), input_layout="BNSD", atten_mask=hidden.npu(), **options)
    near(masked, plain(q, k, v, 0.25, hidden[:, None, None]), HALF)
    table = torch.tensor([[4, 1, 0], [2, 5, 3]], dtype=torch.int32)
    pages = [torch.randn(6, 2, 16, 16).to(HALF) for _ in range(2)]
    for page, x in zip(pages, (k, v)):
        for batch in range(2):
            for block in range(3):
                page[table[batch, block]] = x[batch, :, 16 * block : 16 * block + 16]
    paged: dict[str, Any] = {"block_table": table.npu(), "block_size": 16, "actual_seq_lengths": lengths, **options}
    near(call(q.npu(), *(x.npu() for x in pages), input_layout="BNSD", **paged), expected, HALF)
    flat = [page.transpose(1, 2).flatten(2).npu() for page in pages]
    rows = q.transpose(1, 2).flatten(2).npu()
    near(call(rows, *flat, **paged), expected.transpose(1, 2).flatten(2), HALF)
    raises(lambda: call(rows, *flat, **{**paged, "block_size": 32}), "cache")
    raises(lambda: call(k[:, :, :2].npu(), k.npu(), v.npu(), input_layout="BNSD", **options), "sequence length 1")


def check_fused_inference_attention() -> None:
    q, k, v = inputs((2, 4, 6, 16), (2, 2, 8, 16), (2, 2, 8, 16))
    options: dict[str, Any] = {"num_heads": 4, "num_key_value_heads": 2, "scale": 0.25}
    call, npu = torch_npu.npu_fused_infer_attention_score, [x.npu() for x in (q, k, v)]
    out, lse = call(*npu, input_layout="BNSD_NBSD", softmax_lse_flag=True, **options)
    near(out, plain(q, k, v, 0.25).transpose(0, 1), HALF)
    scores = q.float() @ k.float().repeat_interleave(2, 1).transpose(-1, -2) * 0.25
    near(lse, scores.logsumexp(-1, keepdim=True), HALF)
    assert call(*npu, input_layout="BNSD", **options)[1].tolist() == [0.0]
    _, lse = call(*npu, input_layout="BNSD", softmax_lse_flag=True, actual_seq_lengths=[4, 6], **options)
    assert lse[0, :, 4:].isinf().all() and lse[1].isfinite().all() and lse.shape == (2, 4, 6, 1)
    packed, sizes = inputs((7, 4, 128), (9, 2, 128), (9, 2, 128)), ((0, 3, 0, 5), (3, 7, 5, 9))
    ends: dict[str, Any] = {"actual_seq_lengths": [3, 7], "actual_seq_lengths_kv": [5, 9]}
    ours = call(*(x.npu() for x in packed), input_layout="TND", **ends, **options)[0]
    for a, b, c, d in sizes:
        rows = [x[s:e].transpose(0, 1)[None] for x, (s, e) in zip(packed, ((a, b), (c, d), (c, d)))]
        near(ours[a:b], plain(*rows, 0.25)[0].transpose(0, 1), HALF)
    second = torch_npu.npu_fused_infer_attention_score_v2(
        *npu, input_layout="BNSD", num_query_heads=4, num_key_value_heads=2, softmax_scale=0.25
    )
    near(second[0], plain(q, k, v, 0.25), HALF)
    raises(lambda: call(*npu, input_layout="SBH", **options), "input_layout", "SBH")


def check_fused_inference_attention_of_latent_heads() -> None:
    q, k, query_rope, key_rope = inputs((1, 4, 1, 512), (1, 1, 32, 512), (1, 4, 1, 64), (1, 1, 32, 64))
    expected = F.scaled_dot_product_attention(
        torch.cat((q, query_rope), -1).float(),
        torch.cat((k, key_rope), -1).float().expand(1, 4, -1, -1),
        k.float().expand(1, 4, -1, -1),
        scale=0.05,
    )
    call = torch_npu.npu_fused_infer_attention_score
    options: dict[str, Any] = {"num_heads": 4, "num_key_value_heads": 1, "scale": 0.05, "input_layout": "BNSD"}
    options["query_rope"], options["key_rope"] = query_rope.npu(), key_rope.npu()
    near(call(q.npu(), k.npu(), k.npu(), **options)[0], expected, HALF)
    blocks = [x[0, 0].unflatten(-1, (-1, 16)).transpose(0, 1)[None, None].contiguous().npu() for x in (k, key_rope)]
    assert blocks[0].shape == (1, 1, 32, 32, 16)  # FRACTAL_NZ: (blocks, heads, D / 16, block, 16)
    options.update(key_rope=blocks[1], block_table=torch.zeros(1, 1, dtype=torch.int32).npu(), block_size=32)
    near(call(q.npu(), blocks[0], blocks[0], actual_seq_lengths_kv=[32], **options)[0], expected, HALF)
    raises(lambda: call(q.npu(), k.npu(), k.npu(), **{**options, "key_rope": None}), "query_rope and key_rope")
