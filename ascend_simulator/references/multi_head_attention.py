"""Attention with its four projections in one operator: npu_multi_head_attention.md (registry.DOCUMENTS).

Rounded to float16 where the operator's own test (Ascend/op-plugin, test_multi_head_attention.py) rounds: after every
product, the scaling, the sum with the mask and the dropout. The softmax is float32, and `attn_scores` keeps it so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from .dropout import _draw_mask, pack_bits, unpack_bits
from .registry import Arguments, reference, takes

HALF = (torch.float16,)
INPUTS = (
    *("query", "key", "value"),
    *(f"{name}_{kind}" for kind in ("weight", "bias") for name in ("query", "key", "value", "out_proj")),
)
ALIGNMENT = 16


def _check_arguments(name: str, arguments: Mapping[str, Any]) -> None:
    sizes = {size: arguments[size] for size in ("attn_head_num", "attn_dim_per_head", "src_len", "tgt_len")}
    if any(size <= 0 or size % ALIGNMENT for size in sizes.values()):
        raise RuntimeError(f"{name}: {', '.join(sizes)} must be multiples of {ALIGNMENT}, but got {sizes}")
    if not arguments["softmax_use_float"]:
        raise NotImplementedError(f"the NPU simulator lacks {name} with softmax_use_float=False")


def _compute_product(first: Tensor, second: Tensor) -> Tensor:
    return (first.float() @ second.float()).half()


def _project(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    y = x.float() @ weight.float().t()
    return (y if bias is None else y + bias.float()).half()


def _split_heads(x: Tensor, length: int, heads: int) -> Tensor:
    """Return (batch, heads, length, dim per head) of (batch * length, heads * dim per head)."""
    return x.reshape(-1, length, heads, x.shape[1] // heads).transpose(1, 2)


def _join_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).reshape(x.shape[0] * x.shape[2], -1)


def _apply_dropout(x: Tensor, mask: Tensor, dropout_prob: float) -> Tensor:
    if dropout_prob == 0:
        return x
    if mask.dtype != torch.uint8:
        raise RuntimeError(f"npu_multi_head_attention: dropout_mask must hold bits in uint8, but got {mask.dtype}")
    keep_mask = unpack_bits(mask, x.numel()).reshape(x.shape)
    return (x.float() * keep_mask / (1 - dropout_prob)).half() if dropout_prob < 1 else torch.zeros_like(x)


@reference("npu::npu_multi_head_attention", dtypes={**dict.fromkeys(INPUTS, HALF), "attn_mask": HALF}, random=True)
@takes(
    "Tensor query, Tensor key, Tensor value, Tensor query_weight, Tensor key_weight, Tensor value_weight, "
    "Tensor attn_mask, Tensor out_proj_weight, Tensor? query_bias, Tensor? key_bias, Tensor? value_bias, "
    "Tensor? out_proj_bias, Tensor? dropout_mask, int attn_head_num, int attn_dim_per_head, int src_len, int tgt_len, "
    "float dropout_prob, bool softmax_use_float, *, Generator? generator=None"
)
def npu_multi_head_attention(call: Arguments) -> tuple[Tensor, ...]:
    """(y, dropout mask in bits, query, key and value of the heads, softmax, that after dropout, context)."""
    _check_arguments("npu_multi_head_attention", vars(call))
    q = _project(call.query, call.query_weight, call.query_bias)
    q = _split_heads((q.float() * call.attn_dim_per_head**-0.5).half(), call.tgt_len, call.attn_head_num)
    k = _split_heads(_project(call.key, call.key_weight, call.key_bias), call.src_len, call.attn_head_num)
    v = _split_heads(_project(call.value, call.value_weight, call.value_bias), call.src_len, call.attn_head_num)
    scores = (_compute_product(q, k.transpose(2, 3)).float() + call.attn_mask.float()).half()
    softmax = scores.float().softmax(-1)
    if call.dropout_mask is None or call.dropout_prob == 0:
        call.dropout_mask = pack_bits(_draw_mask(softmax.numel(), call.dropout_prob, call.generator))
    attention = _apply_dropout(softmax.half(), call.dropout_mask, call.dropout_prob)
    context = _join_heads(_compute_product(attention, v))
    y = _project(context, call.out_proj_weight, call.out_proj_bias)
    return y, call.dropout_mask, q.contiguous(), k.contiguous(), v.contiguous(), softmax, attention, context


def _gradients_of(grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return a projection's gradients: (weight, input, bias (1, columns))."""
    return _compute_product(grad.t(), x), _compute_product(grad, weight), grad.float().sum(0, keepdim=True).half()


@reference("npu::npu_multi_head_attention_backward", dtypes={**dict.fromkeys(INPUTS, HALF), "y_grad": HALF})
@takes(
    "Tensor query, Tensor key, Tensor value, Tensor query_weight, Tensor key_weight, Tensor value_weight, "
    "Tensor out_proj_weight, Tensor? query_bias, Tensor? key_bias, Tensor? value_bias, Tensor? out_proj_bias, "
    "Tensor query_res, Tensor key_res, Tensor value_res, Tensor attn_scores, Tensor attn_res, Tensor context, "
    "Tensor y_grad, Tensor dropout_mask, int attn_head_num, int attn_dim_per_head, int src_len, int tgt_len, "
    "float dropout_prob, bool softmax_use_float"
)
def npu_multi_head_attention_backward(call: Arguments) -> tuple[Tensor, ...]:
    """Gradients: the four weights; query, key and value; the four biases (1, columns)."""
    _check_arguments("npu_multi_head_attention_backward", vars(call))
    dwo, dcontext, dbo = _gradients_of(call.y_grad, call.context, call.out_proj_weight)
    dheads = _split_heads(dcontext, call.tgt_len, call.attn_head_num)
    dv = _compute_product(call.attn_res.transpose(2, 3), dheads)
    dsoftmax = _apply_dropout(
        _compute_product(dheads, call.value_res.transpose(2, 3)), call.dropout_mask, call.dropout_prob
    ).float()
    dscores = (call.attn_scores * (dsoftmax - (call.attn_scores * dsoftmax).sum(-1, keepdim=True))).half()
    dq = (_compute_product(dscores, call.key_res).float() * call.attn_dim_per_head**-0.5).half()
    dk = _compute_product(dscores.transpose(2, 3), call.query_res)
    dwq, dquery, dbq = _gradients_of(_join_heads(dq), call.query, call.query_weight)
    dwk, dkey, dbk = _gradients_of(_join_heads(dk), call.key, call.key_weight)
    dwv, dvalue, dbv = _gradients_of(_join_heads(dv), call.value, call.value_weight)
    return dwq, dwk, dwv, dwo, dquery, dkey, dvalue, dbq, dbk, dbv, dbo
