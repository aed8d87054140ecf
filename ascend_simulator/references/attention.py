"""torch_npu.npu_fusion_attention, _v2 and _v3 and their gradients: the operators of training.

attention_call has the formula's source and what is not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .attention_call import attention_backward, attention_forward, call_of
from .bitmask import seed_of
from .registry import FLOATS, reference

QKV = {"query": FLOATS, "key": FLOATS, "value": FLOATS, "atten_mask": (torch.bool, torch.uint8)}
FAR = 2147483647

Forward = tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]
Backward = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def _run_forward(arguments: dict[str, Any]) -> Forward:
    """Return (out, softmax_max, softmax_sum, an empty tensor, seed, offset, the number of scores)."""
    seed, generator = arguments["seed"], arguments["generator"]
    if not seed and arguments["keep_prob"] != 1:
        seed = seed_of(generator)
    return attention_forward(call_of(arguments), arguments["dropout_mask"], seed, arguments["offset"])


def _run_backward(arguments: dict[str, Any]) -> Backward:
    """Return (dq, dk, dv, dpse, dsink), from the statistics that the caller passes: those of a ring's whole sequence
    serve.
    """
    call = call_of(arguments)
    for name in ("softmax_max", "softmax_sum", "attention_in"):
        if arguments[name] is None:
            raise RuntimeError(f"npu_fusion_attention_grad needs {name}")
    statistics = arguments["softmax_max"], arguments["softmax_sum"], arguments["attention_in"]
    return attention_backward(
        call, arguments["dy"], *statistics, int(arguments["seed"] or 0), int(arguments["offset"] or 0)
    )


@reference("npu::npu_fusion_attention", dtypes=QKV, random=True)
def npu_fusion_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = FAR,
    next_tockens: int = FAR,
    inner_precise: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
    *,
    generator: torch.Generator | None = None,
) -> Forward:
    return _run_forward(locals())


@reference("npu::npu_fusion_attention_grad", dtypes={**QKV, "dy": FLOATS})
def npu_fusion_attention_grad(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dy: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    softmax_max: Tensor | None = None,
    softmax_sum: Tensor | None = None,
    softmax_in: Tensor | None = None,
    attention_in: Tensor | None = None,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = FAR,
    next_tockens: int = FAR,
    inner_precise: int = 0,
    seed: int = 0,
    offset: int = 0,
    numels: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
) -> Backward:
    return _run_backward(locals())


@reference("npu::npu_fusion_attention_v2", dtypes=QKV, random=True)
def npu_fusion_attention_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = FAR,
    next_tokens: int = FAR,
    inner_precise: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    q_start_idx: Sequence[int] | None = None,
    kv_start_idx: Sequence[int] | None = None,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
    generator: torch.Generator | None = None,
) -> Forward:
    return _run_forward(locals())


@reference("npu::npu_fusion_attention_grad_v2", dtypes={**QKV, "dy": FLOATS})
def npu_fusion_attention_grad_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dy: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    softmax_max: Tensor | None = None,
    softmax_sum: Tensor | None = None,
    softmax_in: Tensor | None = None,
    attention_in: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = FAR,
    next_tokens: int = FAR,
    inner_precise: int = 0,
    seed: int = 0,
    offset: int = 0,
    numels: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    q_start_idx: Sequence[int] | None = None,
    kv_start_idx: Sequence[int] | None = None,
    softmax_layout: str = "",
    sink: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """As the first version, with empty gradients of query_rope and key_rope before that of sink."""
    dq, dk, dv, dpse, dsink = _run_backward(locals())
    return dq, dk, dv, dpse, query.new_empty(0), key.new_empty(0), dsink


def _list_numbers(lengths: Tensor | None) -> list[int] | None:
    return None if lengths is None else [int(length) for length in lengths.tolist()]


@reference("npu::npu_fusion_attention_v3", dtypes=QKV, random=True)
def npu_fusion_attention_v3(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = FAR,
    next_tockens: int = FAR,
    inner_precise: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Tensor | None = None,
    actual_seq_kvlen: Tensor | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    *,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """As the first version, with lengths, seed and offset as tensors."""
    arguments = dict(locals(), dropout_mask=None, seed=0, offset=0)
    arguments.update(actual_seq_qlen=_list_numbers(actual_seq_qlen), actual_seq_kvlen=_list_numbers(actual_seq_kvlen))
    out, largest, total, empty, seed, offset, _ = _run_forward(arguments)
    return out, largest, total, empty, torch.tensor([seed]), torch.tensor([offset])


@reference("npu::npu_fusion_attention_grad_v3", dtypes={**QKV, "dy": FLOATS})
def npu_fusion_attention_grad_v3(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dy: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    softmax_max: Tensor | None = None,
    softmax_sum: Tensor | None = None,
    softmax_in: Tensor | None = None,
    attention_in: Tensor | None = None,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = FAR,
    next_tockens: int = FAR,
    inner_precise: int = 0,
    seed: Tensor | None = None,
    offset: Tensor | None = None,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Tensor | None = None,
    actual_seq_kvlen: Tensor | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
) -> Backward:
    arguments = dict(locals())
    arguments.update(actual_seq_qlen=_list_numbers(actual_seq_qlen), actual_seq_kvlen=_list_numbers(actual_seq_kvlen))
    return _run_backward(arguments)
