"""npu_fusion_attention against the plain formula: layouts, masks, statistics, gradients, dropout, errors."""

from __future__ import annotations

import functools
import math
from typing import Any, Callable

import torch
import torch.nn.functional as F
import torch_npu
from comparing import DTYPES, compare, leaves

B, N, S, D = 2, 4, 9, 8
SCALE = 1 / math.sqrt(D)
COMPRESSED = torch.ones(2048, 2048, dtype=torch.bool).triu(1)


def attention(query: Any, key: Any, value: Any, hidden: Any = None, pse: Any = 0.0) -> torch.Tensor:
    """(B, N, S, D) by the formula."""
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = SCALE * (query @ key.transpose(-1, -2) + pse)
    scores = scores if hidden is None else scores.masked_fill(hidden, -math.inf)
    return scores.softmax(-1) @ value


def fused(layout: str = "BNSD", heads: int = N, **options: Any) -> Callable[..., torch.Tensor]:
    return lambda *qkv: torch_npu.npu_fusion_attention(*qkv, heads, layout, scale=SCALE, **options)[0]


def check_layouts_and_dtypes() -> None:
    orders = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (2, 0, 1, 3)}
    for layout, order in orders.items():
        for dtype in DTYPES:
            inputs = leaves((B, N, S, D), (B, 2, 7, D), (B, 2, 7, D), dtype=dtype)
            flat = layout in ("BSH", "SBH")

            def call(*qkv: torch.Tensor, order: Any = order, layout: str = layout, flat: bool = flat) -> torch.Tensor:
                arranged = [tensor.permute(order) for tensor in qkv]
                arranged = [tensor.flatten(2) for tensor in arranged] if flat else arranged
                out = fused(layout)(*arranged)
                out = out.unflatten(2, (N, D)) if flat else out
                return out.permute([order.index(axis) for axis in range(4)])

            compare(call, attention, inputs, dtype)


def check_a_causal_mask_as_scaled_dot_product_attention() -> None:
    plain = functools.partial(F.scaled_dot_product_attention, is_causal=True)
    mask = COMPRESSED.npu()
    compare(fused(atten_mask=mask, sparse_mode=2), plain, leaves(*[(B, N, S, D)] * 3))
    compare(fused(atten_mask=mask[:S, :S], next_tockens=0), plain, leaves(*[(B, N, S, D)] * 3))


def check_every_sparse_mode() -> None:
    rows, columns, mask = 5, 7, COMPRESSED.npu()
    i, j = torch.arange(rows)[:, None], torch.arange(columns)[None, :]
    shapes = [(B, N, rows, D), (B, N, columns, D), (B, N, columns, D)]
    given = (torch.rand(B, 1, rows, columns) > 0.6) & (i != j)  # no row is hidden as a whole
    prefix = torch.tensor([3, 5])[:, None, None, None]
    both = torch.cat([COMPRESSED, torch.arange(2048).expand(1024, 2048) >= 1024]).npu()
    cases: list[tuple[Any, dict[str, Any]]] = [
        (given, {"atten_mask": given.npu()}),
        (given | (j > i + 2) | (j < i - 1), {"atten_mask": given.npu(), "pre_tockens": 1, "next_tockens": 2}),
        (given, {"atten_mask": given.npu().to(torch.uint8), "sparse_mode": 1}),
        (j > i, {"atten_mask": mask, "sparse_mode": 2}),
        (j > i + 2, {"atten_mask": mask, "sparse_mode": 3}),
        ((j > i + 3) | (j < i - 1), {"atten_mask": mask, "sparse_mode": 4, "pre_tockens": 3, "next_tockens": 1}),
        (given, {"atten_mask": given.npu(), "sparse_mode": 5, "prefix": [3, 5]}),
        ((j > i + 2) & (j >= prefix), {"atten_mask": both, "sparse_mode": 6, "prefix": [3, 5]}),
        (None, {"sparse_mode": 3}),
    ]
    for hidden, options in cases:
        compare(fused(**options), functools.partial(attention, hidden=hidden), leaves(*shapes))


def check_varlen() -> None:
    query_ends, key_ends, mask = [3, 3, 8], [4, 6, 12], COMPRESSED.npu()
    shapes = [(9, N, D), (12, 2, D), (12, 2, D)]
    bands = {7: (2, (100, -1)), 8: (0, (100, 1))}
    for mode in (None, 2, 3, 7, 8):

        def plain(query: Any, key: Any, value: Any, mode: Any = mode) -> torch.Tensor:
            parts, q0, k0 = [], 0, 0
            for batch, (q1, k1) in enumerate(zip(query_ends, key_ends)):
                q, k, v = query[q0:q1], key[k0:k1], value[k0:k1]
                i, j = torch.arange(q1 - q0)[:, None], torch.arange(k1 - k0)[None, :]
                corner = (k1 - k0) - (q1 - q0)
                hidden = None if mode is None else j > i + (corner if mode in (3, 7) else 0)
                if mode in bands and bands[mode][0] == batch:
                    hidden = j > i + corner + bands[mode][1][1]
                parts.append(attention(*(x.transpose(0, 1)[None] for x in (q, k, v)), hidden)[0].transpose(0, 1))
                q0, k0 = q1, k1
            return torch.cat([*parts, query.new_zeros(len(query) - q0, *query.shape[1:])])

        options = {} if mode is None else {"atten_mask": mask, "sparse_mode": mode}
        if mode in bands:
            options.update(zip(("pre_tockens", "next_tockens"), bands[mode][1]))
        lengths = {"actual_seq_qlen": query_ends, "actual_seq_kvlen": key_ends}
        for softmax_layout in ("", "TND"):
            call = fused("TND", softmax_layout=softmax_layout, **lengths, **options)
            compare(call, plain, leaves(*shapes))


def check_pse_and_sink_with_gradients() -> None:
    shapes = [(B, N, S, D)] * 3
    compare(
        lambda q, k, v, pse: fused(pse=pse)(q, k, v),
        lambda q, k, v, pse: attention(q, k, v, pse=pse),
        leaves(*shapes, (1, N, S, S)),
    )
    compare(
        lambda q, k, v, pse: torch_npu.npu_fusion_attention_v2(q, k, v, N, "BNSD", pse=pse, scale=SCALE, pse_type=0)[0],
        lambda q, k, v, pse: attention(q, k, v, pse=pse / SCALE),
        leaves(*shapes, (B, N, 1, S)),
    )

    def with_sink(q: Any, k: Any, v: Any, sink: Any) -> torch.Tensor:
        scores = torch.cat([SCALE * q @ k.transpose(-1, -2), sink[None, :, None, None].expand(B, N, S, 1)], -1)
        return scores.softmax(-1)[..., :-1] @ v

    compare(lambda q, k, v, sink: fused(sink=sink)(q, k, v), with_sink, leaves(*shapes, (N,)))


def check_statistics() -> None:
    query, key, value = leaves(*[(B, N, S, D)] * 3)
    out = torch_npu.npu_fusion_attention(query.npu(), key.npu(), value.npu(), N, "BNSD", scale=SCALE)
    scores = SCALE * query @ key.transpose(-1, -2)
    largest = scores.amax(-1, keepdim=True)
    assert out[1].shape == out[2].shape == (B, N, S, 8) and out[1].dtype == torch.float32
    torch.testing.assert_close(out[1].cpu(), largest.expand(-1, -1, -1, 8))
    total = (scores - largest).exp().sum(-1, keepdim=True).expand(-1, -1, -1, 8)
    torch.testing.assert_close(out[2].cpu(), total)
    assert out[3].numel() == 0 and out[4:] == (0, 0, B * N * S * S)


def check_dropout_is_reproducible_and_its_gradient_uses_the_same_mask() -> None:
    query, key, value = (tensor.npu().requires_grad_() for tensor in leaves(*[(1, 2, 16, D)] * 3))

    def call(**options: Any) -> Any:
        return torch_npu.npu_fusion_attention(query, key, value, 2, "BNSD", scale=SCALE, keep_prob=0.7, **options)

    torch.npu.manual_seed(5)
    first, second = call(), call()
    torch.npu.manual_seed(5)
    assert torch.equal(first[0], call()[0]) and not torch.equal(first[0], second[0])
    seed, offset = first[4:6]
    assert (seed, offset) == (5, 0)  # the NPU generator's own in its first call
    bits = torch_npu._npu_dropout_gen_mask(query, [1, 2, 16, 16], p=0.3, seed=seed, offset=offset)
    assert torch.equal(first[0], call(dropout_mask=bits, seed=seed, offset=offset)[0])
    unpacked = (bits.cpu()[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1
    mask = unpacked.flatten()[: 2 * 256].reshape(1, 2, 16, 16)
    assert 0.6 < mask.float().mean() < 0.8
    plain = [tensor.detach().cpu().requires_grad_() for tensor in (query, key, value)]
    expected = ((SCALE * plain[0] @ plain[1].transpose(-1, -2)).softmax(-1) * mask / 0.7) @ plain[2]
    torch.testing.assert_close(first[0].detach().cpu(), expected.detach(), atol=2e-5, rtol=1e-4)
    first[0].sum().backward()
    expected.sum().backward()
    for one, other in zip((query, key, value), plain):
        torch.testing.assert_close(one.grad.cpu(), other.grad, atol=2e-5, rtol=1e-4)


def check_v3() -> None:
    compare(
        lambda *qkv: torch_npu.npu_fusion_attention_v3(*qkv, N, "BNSD", scale=SCALE)[0],
        attention,
        leaves(*[(B, N, S, D)] * 3),
    )


def raises(part: str, *args: Any, **options: Any) -> None:
    try:
        torch_npu.npu_fusion_attention(*args, **options)
    except (RuntimeError, NotImplementedError) as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"nothing raised; expected {part}")


def check_documented_errors() -> None:
    query = torch.randn(B, N, S, D, device="npu")
    same = (query, query, query)
    raises("head_num must > 0", *same, 0, "BNSD")
    raises("input_layout should be", *same, N, "NBSD")
    raises("3 or 4 dimensional", *(query[0, 0],) * 3, N, "BNSD")
    raises("keep_prob", *same, N, "BNSD", keep_prob=0.0)
    raises("sparse_mode", *same, N, "BNSD", sparse_mode=7)
    raises("one dtype", query, query.half(), query, N, "BNSD")
    raises("int32", *(query.int(),) * 3, N, "BNSD")
    raises("actual_seq_qlen", *(query[0],) * 3, S, "TND")
    raises("2048", *same, N, "BNSD", sparse_mode=2, atten_mask=COMPRESSED[:S, :S].npu())
    raises("softmax_layout", *same, N, "BNSD", softmax_layout="TND")
    raises("multiple of", query, query[:, :3], query[:, :3], N, "BNSD")
    raises("same device", query, query.cpu(), query, N, "BNSD")
