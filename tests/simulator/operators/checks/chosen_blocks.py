"""Attention over chosen blocks of keys, rotary positions by section, and what writes into caches."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
import torch_npu
from comparing import DTYPES, near, raises

HALF = torch.float16


def sparse(q: Any, k: Any, v: Any, mask: torch.Tensor, scale: float) -> torch.Tensor:
    """(N, S, D) each; mask (N, S, S) of what is seen."""
    scores = (q @ k.transpose(-1, -2) * scale).masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v


def check_block_sparse_attention_with_gradients() -> None:
    lengths, other = [20, 9], [130, 140]
    chosen = torch.tensor([[1, 0], [0, 1], [1, 1]]).expand(2, 4, 3, 2).to(torch.int8).contiguous()
    q, k, v, grad = (torch.randn(n, heads, 128).to(HALF) for n, heads in ((29, 4), (270, 2), (270, 2), (29, 4)))
    ours = [x.npu().requires_grad_() for x in (q, k, v)]
    theirs = [x.float().requires_grad_() for x in (q, k, v)]
    options: dict[str, Any] = {"num_key_value_heads": 2, "scale_value": 0.09, "softmax_lse_flag": 1}
    ends: dict[str, Any] = {"actual_seq_lengths": lengths, "actual_seq_lengths_kv": other}
    call = torch_npu.npu_block_sparse_attention
    out, lse = call(*ours, chosen.npu(), [8, 128], **ends, **options)
    seen = chosen[0].bool().repeat_interleave(8, 1).repeat_interleave(128, 2)
    parts = zip(theirs[0].split(lengths), theirs[1].split(other), theirs[2].split(other))
    expected = torch.cat(
        [
            sparse(
                a.transpose(0, 1),
                *(x.transpose(0, 1).repeat_interleave(2, 0) for x in (b, c)),
                seen[:, : len(a), : len(b)],
                0.09,
            ).transpose(0, 1)
            for a, b, c in parts
        ]
    )
    near(out, expected, HALF)
    assert lse.shape == (29, 4, 1) and lse.dtype == torch.float32
    out.backward(grad.npu())
    expected.backward(grad.float())
    for one, another in zip(ours, theirs):
        near(one.grad, another.grad, HALF)
    raises(lambda: call(*ours, chosen.npu(), [8, 128], **options), "actual_seq_lengths must be specified")
    raises(lambda: call(*ours, chosen.npu(), [8, 64], **ends, **options), "block_shape")


def check_native_sparse_attention_over_selected_blocks() -> None:
    q, k, v = (torch.randn(n, heads, size).to(HALF) for n, heads, size in ((3, 4, 192), (1088, 2, 192), (1088, 2, 128)))
    chosen = torch.stack([torch.randperm(17)[:16] for _ in range(6)]).reshape(3, 2, 16).int()
    out, largest, total = torch_npu.npu_nsa_select_attention(
        q.npu(), k.npu(), v.npu(), chosen.npu(), 0.07, 4, 64, 16, actual_seq_qlen=[3], actual_seq_kvlen=[1088]
    )
    for token in range(3):
        for head in range(4):
            keys = (chosen[token, head // 2][:, None] * 64 + torch.arange(64)).flatten().long()
            scores = k[keys, head // 2].float() @ q[token, head].float() * 0.07
            near(out[token, head], scores.softmax(0) @ v[keys, head // 2].float(), HALF)
            near(largest[token, head], scores.max().expand(8))
            near(total[token, head], (scores - scores.max()).exp().sum().expand(8))
    ends: dict[str, Any] = {"actual_seq_qlen": [3], "actual_seq_kvlen": [1088]}
    wrong = (q.npu(), k.npu(), v.npu(), chosen.npu(), 0.07, 4, 32, 16)
    raises(lambda: torch_npu.npu_nsa_select_attention(*wrong, **ends), "16 blocks of 64")


def check_rotary_positions_by_section() -> None:
    sections = [8, 12, 12]
    positions = torch.randint(0, 50, (3, 5))
    for dtype in DTYPES:
        cache, q = torch.randn(50, 64).to(dtype), torch.randn(5, 2 * 96).to(dtype)
        cos, sin = cache.float()[positions].chunk(2, -1)
        row = torch.tensor([0] * 8 + [1] * 12 + [2] * 12)
        c, s = (x[row, :, torch.arange(32)].t()[:, None] for x in (cos, sin))
        heads = q.float().reshape(5, 2, 96)
        a, b, rest = heads.split([32, 32, 32], -1)
        expected = torch.cat((a * c - b * s, b * c + a * s, rest), -1).flatten(1)
        given = (positions.npu(), q.npu(), q[:, :96].contiguous().npu(), cache.npu(), 96)
        ours = torch_npu.npu_mrope(*given, mrope_section=sections)
        near(ours[0], expected, dtype)
        near(ours[1], expected[:, :96], dtype)
        row = torch.arange(32) % 3
        c, s = (x[row, :, torch.arange(32)].t()[:, None] for x in (cos, sin))
        a, b = heads[..., :64:2], heads[..., 1:64:2]
        turned = torch.stack((a * c - b * s, b * c + a * s), -1).flatten(2)
        mixed = {"mrope_section": sections, "rotary_mode": "interleave", "cache_mode": "interleave"}
        near(torch_npu.npu_mrope(*given, **mixed)[0], torch.cat((turned, rest), -1).flatten(1), dtype)
    raises(lambda: torch_npu.npu_mrope(*given, mrope_section=[8, 8, 8]), "mrope_section")


def check_latent_cache() -> None:
    kv, gamma, cos, sin = (torch.randn(s).to(HALF) for s in ((2, 1, 3, 576), (512,), (2, 1, 3, 64), (2, 1, 3, 64)))
    x = kv.float()
    latent = torch.nn.functional.rms_norm(x[..., :512], (512,), gamma.float(), 1e-5)
    pairs = x[..., 512:].unflatten(-1, (32, 2)).transpose(-1, -2).flatten(-2)
    turned = torch.cat((-pairs[..., 32:], pairs[..., :32]), -1)
    rope = pairs * cos.float() + turned * sin.float()
    given = [t.npu() for t in (kv, gamma, cos, sin)]
    index = torch.tensor([5, 2, -1, 9, 0, 7])
    for mode in ("PA_BNSD", "PA_NZ"):
        caches = [torch.zeros(3, 4, 1, size).to(HALF).npu() for size in (64, 512)]
        options: dict[str, Any] = {"cache_mode": mode, "is_output_kv": True}
        ours = torch_npu.npu_kv_rmsnorm_rope_cache(*given, index.npu(), *caches, **options)
        near(ours[2], rope, HALF)
        near(ours[3], latent, HALF)
        for cache, returned, rows in zip(caches, ours, (rope, latent)):
            assert cache.data_ptr() == returned.data_ptr()
            size = rows.shape[-1]
            if mode == "PA_NZ":
                cache = cache.reshape(3, size // 16, 4, 16).transpose(1, 2).reshape(3, 4, 1, size)
            expected = torch.zeros(12, size)
            expected[index[index >= 0]] = rows.reshape(6, size)[index >= 0]
            near(cache.reshape(12, size), expected, HALF)
    normal, places = [torch.zeros(2, 1, 8, size).to(HALF).npu() for size in (64, 512)], index.reshape(2, 3) % 8
    unasked = torch_npu.npu_kv_rmsnorm_rope_cache(*given, places.npu(), *normal)
    near(normal[0][0, 0, 5], rope[0, 0, 0], HALF)
    assert unasked[3].isnan().all()  # not asked for
    scales = {"k_rope_scale": torch.full((64,), 20.0).npu(), "c_kv_scale": torch.full((512,), 20.0).npu()}
    small = [torch.zeros(3, 4, 1, size, dtype=torch.int8).npu() for size in (64, 512)]
    torch_npu.npu_kv_rmsnorm_rope_cache(*given, index.npu(), *small, cache_mode="PA", **scales)
    assert small[0][1, 1, 0].tolist() == (rope[0, 0, 0] * 20).round().clamp(-128, 127).tolist()
    raises(lambda: torch_npu.npu_kv_rmsnorm_rope_cache(*given, index.npu(), *small, cache_mode="PA"), "caches of")


def check_scattering_into_caches() -> None:
    key, value, slots = torch.randn(3, 2, 32).to(HALF), torch.randn(3, 2, 16).to(HALF), torch.tensor([6, 1, 4])
    whole = [torch.zeros(2, 4, 2, size).to(HALF).npu() for size in (32, 16)]
    torch_npu.npu_scatter_pa_kv_cache(key.npu(), value.npu(), *whole, slots.npu(), cache_mode="Norm")
    parts = [torch.zeros(2, 2 * size // 16, 4, 16).to(HALF).npu() for size in (32, 16)]
    torch_npu.npu_scatter_pa_kv_cache(key.npu(), value.npu(), *parts, slots.npu())
    for cache, part, rows in zip(whole, parts, (key, value)):
        expected = torch.zeros(8, 2, rows.shape[-1]).to(HALF)
        expected[slots] = rows
        assert torch.equal(cache.cpu().flatten(0, 1), expected)
        assert torch.equal(part.cpu().transpose(1, 2).flatten(0, 1).flatten(1), expected.flatten(1))
    tensors, updates = [torch.randn(2, 5, 3) for _ in range(2)], torch.randn(2, 2, 1, 3)
    listed = torch_npu.npu_scatter_list([t.npu() for t in tensors], torch.tensor([4, 0]).npu(), updates.npu())
    for tensor, ours, place, update in zip(tensors, listed, (4, 0), updates):
        expected = tensor.clone()
        expected[:, place] = update[:, 0]
        assert torch.equal(ours.cpu(), expected)
    four = (key[None].npu(), value[None].npu(), *whole, slots.npu())
    raises(lambda: torch_npu.npu_scatter_pa_kv_cache(*four), "lacks", "4 dimensions")


def check_updates_that_do_not_fit_a_list() -> None:
    tensors, updates = [torch.zeros(2, 5, 3).npu() for _ in range(2)], torch.ones(2, 2, 1, 3).npu()
    cases = (
        ([4, 0], updates.half(), "torch.float16"),
        ([4, -1], updates, "index -1"),
        ([4, 5], updates, "index 5"),
        ([4, 0], updates[..., :1], "[2, 1, 1]"),
    )
    for call in (torch_npu.npu_scatter_list, torch_npu.npu_scatter_list_):
        for places, values, told in cases:
            raises(functools.partial(call, tensors, torch.tensor(places).npu(), values), "npu_scatter_list", told)
    assert not any(bool(tensor.any()) for tensor in tensors)


def check_top_k_and_top_p() -> None:
    logits, p, k = torch.randn(4, 30), torch.tensor([0.1, 0.5, 0.9, 1.0]), torch.tensor([1, 7, 30, 12]).int()
    ours = torch_npu.npu_top_k_top_p(logits.npu(), p.npu(), k.npu()).cpu()
    for row, share, count, found in zip(logits, p, k, ours):
        kept = row.sort(descending=True)[1][:count]
        probabilities = row[kept].softmax(0)
        before = probabilities.cumsum(0) - probabilities  # what is more probable
        kept = kept[before < share]
        assert sorted(kept.tolist()) == found.isfinite().nonzero().flatten().tolist()
        assert torch.equal(found[kept], row[kept])
    raises(lambda: torch_npu.npu_top_k_top_p(logits.npu(), None, None), "p or k")


def check_obfuscation_ends_as_without_its_engine() -> None:
    fd, x = torch.tensor([3], dtype=torch.int32).npu(), torch.randn(2, 8).npu()
    raises(lambda: torch_npu.obfuscation_calculate(fd, x, fd), "507018", "PMCC")
    raises(lambda: torch_npu.obfuscation_finalize(fd), "507018")
