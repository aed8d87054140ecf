"""Operators of ATB (CANN's NNAL package) against plain formulas; what is not here says so."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch_npu
from comparing import near, raises

HALF = torch.float16


def attention(q: Any, k: Any, v: Any, scale: float, mask: Any = 0.0) -> torch.Tensor:
    """(S, N, D), (S2, N2, D): heads of k and v repeat; the mask is added."""
    repeats = q.shape[1] // k.shape[1]
    q, k, v = (x.float().transpose(0, 1) for x in (q, k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)))
    return ((q @ k.transpose(-1, -2) * scale + mask).softmax(-1) @ v).transpose(0, 1)


def check_writing_to_caches_and_reading_them_back() -> None:
    key, value, slots = torch.randn(3, 2, 32).to(HALF), torch.randn(3, 2, 24).to(HALF), torch.tensor([5, -1, 2]).int()
    plain = [torch.zeros(2, 4, 2, size).to(HALF).npu() for size in (32, 24)]
    torch_npu._npu_reshape_and_cache(key.npu(), value.npu(), *plain, slots.npu())
    for cache, rows in zip(plain, (key, value)):
        expected = torch.zeros(8, *rows.shape[1:]).to(HALF)
        expected[5], expected[2] = rows[0], rows[2]
        assert torch.equal(cache.cpu().flatten(0, 1), expected)
    parts = torch.zeros(2, 4, 4, 16).to(HALF).npu()
    torch_npu._npu_reshape_and_cache_siso(key.npu(), parts, slots.npu())
    assert torch.equal(parts.cpu().transpose(1, 2).flatten(0, 1).flatten(1), plain[0].cpu().flatten(0, 1).flatten(1))
    table, lengths = torch.tensor([[1, 0], [0, 1]]).int(), torch.tensor([6, 2]).int()
    loaded = torch_npu.atb.npu_paged_cache_load(*plain, table.npu(), lengths.npu())
    for cache, rows in zip(plain, loaded):
        assert torch.equal(rows.cpu(), torch.cat((cache[1], cache[0, :2], cache[0, :2])).cpu())
    starts = torch.tensor([0, 4]).int().npu()
    later = torch_npu.atb.npu_paged_cache_load(*plain, table.npu(), lengths.npu(), seq_starts=starts)
    assert torch.equal(later[0][6:], plain[0][1, :2])
    raises(
        lambda: torch_npu._npu_reshape_and_cache_siso(key.npu(), parts[:, :3], slots.npu()), "_npu_reshape_and_cache"
    )


def check_positions_products_and_int8() -> None:
    positions, cache = torch.tensor([3, 0, 7]), torch.randn(9, 16)
    cos, sin = (x[positions][:, None] for x in cache.to(HALF).float().chunk(2, -1))
    for neox in (True, False):
        query, key = (torch.randn(3, 2 * 20).to(HALF) for _ in range(2))
        ours = [x.npu() for x in (query, key)]
        torch_npu._npu_rotary_embedding(positions.npu(), *ours, 20, cache.npu(), neox)
        for x, found in zip((query, key), ours):
            heads = x.float().reshape(3, 2, 20)
            a, b = heads[..., :16].chunk(2, -1) if neox else (heads[..., :16:2], heads[..., 1:16:2])
            turned = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
            if not neox:
                turned = turned.unflatten(-1, (2, 8)).transpose(-1, -2).flatten(-2)
            near(found, torch.cat((turned, heads[..., 16:]), -1).flatten(1), HALF)
    x, weight, total = torch.randn(4, 6).to(HALF), torch.randn(4, 5).to(HALF), torch.randn(6, 5)
    added = total.npu()
    torch_npu._npu_matmul_add_fp32(x.npu(), weight.npu(), added)
    near(added, total + x.float().t() @ weight.float())
    scale, zero, y = torch.tensor([0.25, 0.5]).to(HALF), torch.tensor([1, -2]).to(torch.int8), torch.empty(2, 2)
    given, rounded = torch.tensor([[1.0, 1.25], [99.0, -0.75]]).to(HALF), y.to(torch.int8).npu()
    torch_npu._npu_quantize_per_tensor(given.npu(), scale.npu(), zero.npu(), rounded)
    assert rounded.tolist() == [[5, 0], [127, -4]]


def check_packed_attention() -> None:
    q, k, v = (torch.randn(7, heads, size).to(HALF) for heads, size in ((4, 16), (2, 16), (2, 8)))
    mask = torch.triu(torch.full((4, 4), -10000.0), 1).to(HALF)
    lengths, out = torch.tensor([3, 4]).int(), torch.empty(7, 4, 8).to(HALF).npu()
    npu = [x.npu() for x in (q, k, v)]
    torch_npu._npu_flash_attention(*npu, mask.npu(), lengths, 0.25, 4, 2, out)
    for a, b in ((0, 3), (3, 7)):
        near(out[a:b], attention(q[a:b], k[a:b], v[a:b], 0.25, mask[: b - a, : b - a].float()), HALF)
    torch_npu._npu_flash_attention_unpad(*npu, lengths, 0.25, 4, 2, out)
    near(out[:3], attention(q[:3], k[:3], v[:3], 0.25), HALF)
    raises(lambda: torch_npu._npu_flash_attention_unpad(*npu, lengths + 1, 0.25, 4, 2, out), "seq_len")
    options: dict[str, Any] = {"num_heads": 4, "num_kv_heads": 2, "scale_value": 0.25, "out": out}
    bias = torch.randn(2, 4, 4, 4).to(HALF)
    torch_npu.atb._npu_flash_attention_v2(*npu, [3, 4], mask=bias.npu(), **options)
    near(out[:3], attention(q[:3], k[:3], v[:3], 0.25, bias[0, :, :3, :3].float()), HALF)
    near(out[3:], attention(q[3:], k[3:], v[3:], 0.25, bias[1].float()), HALF)
    flat, wide_out = [x.flatten(1) for x in npu], torch.empty(7, 32).to(HALF).npu()
    torch_npu.atb._npu_flash_attention_v2(*flat, [3, 4], mask_type=0, **{**options, "out": wide_out})
    near(wide_out[:3], attention(q[:3], k[:3], v[:3], 0.25).flatten(1), HALF)
    compressed = {**options, "mask": bias.npu(), "mask_type": 4}
    raises(lambda: torch_npu.atb._npu_flash_attention_v2(*npu, [3, 4], **compressed), "lacks", "mask_type 4")
    wrong = (*npu, lengths, 0.25, 4, 2, out)
    raises(lambda: torch_npu._npu_flash_attention_unpad_v2(*wrong[:-1], out=out), "lacks", "NNAL")


def check_attention_over_pages() -> None:
    table, lengths = torch.tensor([[2, 0], [1, 3]]).int(), torch.tensor([6, 3]).int()
    q, k, v = (torch.randn(*shape).to(HALF) for shape in ((2, 4, 16), (4, 4, 2, 16), (4, 4, 2, 8)))
    rows = [torch.cat([k[b] for b in blocks])[:n] for blocks, n in ((table[0], 6), (table[1], 3))]
    values = [torch.cat([v[b] for b in blocks])[:n] for blocks, n in ((table[0], 6), (table[1], 3))]
    out = torch.empty(2, 4, 8).to(HALF).npu()
    npu = [x.npu() for x in (q, k, v)]
    torch_npu._npu_paged_attention(*npu, 2, 4, 0.25, table.npu(), lengths, out)
    for i in range(2):
        near(out[i : i + 1], attention(q[i : i + 1], rows[i], values[i], 0.25), HALF)
    torch_npu._npu_paged_attention_mla(npu[0], npu[1], 2, 4, 0.25, table.npu(), lengths, 8, out)
    near(out[:1], attention(q[:1], rows[0], rows[0][..., :8], 0.25), HALF)
    tokens, seen = torch.randn(5, 4, 16).to(HALF), torch.tensor([4, 1]).int()
    mask = torch.where(torch.rand(5, 6) < 0.3, -10000.0, 0.0).to(HALF)
    mask[:, 0], fused = 0, torch.empty(5, 4, 8).to(HALF).npu()
    torch_npu._npu_paged_attention_splitfuse(
        tokens.npu(), *npu[1:], table.npu(), lengths, mask.npu(), seen, 2, 4, 0.25, fused
    )
    near(fused[:4], attention(tokens[:4], rows[0], values[0], 0.25, mask[:4].float()), HALF)
    near(fused[4:], attention(tokens[4:], rows[1], values[1], 0.25, mask[4:, :3].float()), HALF)


def check_attention_of_latent_heads() -> None:
    nope, rope, latent, key = (
        torch.randn(*s).to(HALF) for s in ((1, 4, 512), (1, 4, 64), (2, 8, 1, 512), (2, 8, 1, 64))
    )
    whole = torch.cat((latent, key), -1).flatten(0, 1)[:11]
    call, table = torch_npu.atb.npu_multi_head_latent_attention, torch.tensor([[0, 1]]).int().npu()
    given = (nope.npu(), rope.npu(), latent.npu(), key.npu(), table, [11], 4, 0.04, 1)
    expected = attention(torch.cat((nope, rope), -1), whole, whole[..., :512], 0.04)
    near(call(*given), expected, HALF)
    out, lse = call(*given, True, calc_type="calc_type_ring")
    near(out, expected, HALF)
    scores = torch.cat((nope, rope), -1)[0].float() @ whole[:, 0].float().t() * 0.04
    near(lse[0, :, 0], scores.logsumexp(-1), HALF)
    raises(lambda: call(*given, cache_mode="int8_nzcache"), "lacks", "int8_nzcache")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call(*given[:5], [17], 4, 0.04, 1)
    assert any("17 tokens, and the block table names blocks of 16" in str(one.message) for one in told)
