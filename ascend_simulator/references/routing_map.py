"""Tokens to experts and back by a map (token, expert) of bools, without dropping or padding.

Formulas: npu_moe_token_permute_with_routing_map; Megatron-LM's permute and unpermute
(https://github.com/NVIDIA/Megatron-LM, megatron/core/transformer/moe/moe_utils.py). drop_and_pad is raised.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, reference


def _require_map(padded: bool, routing_map: Tensor | None) -> Tensor:
    if padded or routing_map is None:
        raise NotImplementedError("the NPU simulator lacks permutation of tokens with drop_and_pad")
    return routing_map


def _list_choices(routing_map: Tensor) -> tuple[Tensor, Tensor]:
    """Return (expert, token) of each choice, expert by expert."""
    experts, tokens = routing_map.bool().t().nonzero(as_tuple=True)
    return experts, tokens


@reference("npu::npu_moe_token_permute_with_routing_map", dtypes={"tokens": FLOATS, "probs": FLOATS})
def npu_moe_token_permute_with_routing_map(
    tokens: Tensor,
    routing_map: Tensor,
    *,
    probs: Tensor | None = None,
    num_out_tokens: int | None = None,
    drop_and_pad: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor]:
    """(tokens expert by expert, their probabilities, where the choices went, token by token)."""
    experts, rows = _list_choices(_require_map(drop_and_pad, routing_map))
    permuted = None if probs is None else probs[rows, experts]
    return tokens[rows], permuted, rows.argsort(stable=True).to(torch.int32)


@reference("npu::npu_moe_token_permute_with_routing_map_grad", dtypes={"permuted_token_out_grad": FLOATS})
def npu_moe_token_permute_with_routing_map_grad(
    permuted_token_out_grad: Tensor,
    probs_grad: Tensor | None,
    sorted_indices: Tensor,
    routing_map: Tensor,
    experts_num: int,
    tokens_num: int,
    drop_and_pad: bool,
) -> tuple[Tensor, Tensor | None]:
    experts, rows = _list_choices(_require_map(drop_and_pad, routing_map))
    grad = as_wide(permuted_token_out_grad)
    dtokens = grad.new_zeros(tokens_num, grad.shape[1]).index_add(0, rows, grad).to(permuted_token_out_grad.dtype)
    if probs_grad is None:
        return dtokens, None
    dprobs = probs_grad.new_zeros(tokens_num, experts_num)
    dprobs[rows, experts] = probs_grad
    return dtokens, dprobs


@reference("npu::_npu_moe_token_unpermute_with_routing_map", dtypes={"permuted_tokens": FLOATS})
def npu_moe_token_unpermute_with_routing_map(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    restore_shape: Sequence[int],
    *,
    probs: Tensor | None = None,
    routing_map: Tensor | None = None,
    drop_and_pad: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """(the sum over each token's experts, two indices that only padding uses, the probabilities of the choices)."""
    experts, rows = _list_choices(_require_map(drop_and_pad, routing_map))
    results = as_wide(permuted_tokens)
    picked = None if probs is None else probs[rows, experts]
    results = results if picked is None else results * as_wide(picked)[:, None]
    total = results.new_zeros(list(restore_shape)).index_add(0, rows, results)
    return total.to(permuted_tokens.dtype), sorted_indices.clone(), sorted_indices.clone(), picked


@reference("npu::npu_moe_token_unpermute_with_routing_map_grad", dtypes={"unpermuted_tokens_grad": FLOATS})
def npu_moe_token_unpermute_with_routing_map_grad(
    unpermuted_tokens_grad: Tensor,
    out_index: Tensor,
    permuted_token_id: Tensor,
    routing_map: Tensor | None,
    permuted_tokens: Tensor | None,
    probs: Tensor | None,
    drop_and_pad: bool,
    restore_shape: Sequence[int],
) -> tuple[Tensor, Tensor | None]:
    experts, rows = _list_choices(_require_map(drop_and_pad, routing_map))
    grad = as_wide(unpermuted_tokens_grad)[rows]
    dtype = unpermuted_tokens_grad.dtype
    if probs is None:
        return grad.to(dtype), None
    assert permuted_tokens is not None
    dprobs = grad.new_zeros(probs.shape)
    dprobs[rows, experts] = (grad * as_wide(permuted_tokens)).sum(-1)
    return (grad * as_wide(probs[rows, experts])[:, None]).to(dtype), dprobs.to(dtype)
