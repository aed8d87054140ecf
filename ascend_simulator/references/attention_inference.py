"""torch_npu.npu_prompt_flash_attention, npu_incre_flash_attention, npu_fused_infer_attention_score and its _v2.

Formula, layouts and limits: their pages under registry.DOCUMENTS; inference_call has what they share. Not here, and
raised: quantisation of any kind, padding on the left, shared prefixes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .attention_masks import Masking
from .inference_call import FAR, LAYOUTS, PLAIN, Inference, run_inference
from .registry import HALVES, reference

MASKS = (torch.bool, torch.int8, torch.uint8)
QKV = {"query": HALVES, "key": HALVES, "value": HALVES, "atten_mask": MASKS, "pse_shift": HALVES}
FUSED = {**QKV, "query_rope": HALVES, "key_rope": HALVES, "block_table": (torch.int32,)}


def masking_of(operator: str, mode: int, mask: Tensor | None, before: int, after: int, one_row: bool) -> Masking:
    """Return the mask as (B or 1, 1, rows, columns), or compressed. With one row a matrix is (B, columns)."""
    if not 0 <= mode <= 4:
        raise RuntimeError(f"{operator} supports sparse_mode 0, 1, 2, 3 and 4, but got {mode}")
    if mask is None and mode != 0:
        raise RuntimeError(f"{operator}: sparse_mode {mode} needs atten_mask")
    if mask is None or mode >= 2:
        return Masking(mode, mask, before, after, [])
    if mask.dim() == 2:
        mask = mask[:, None] if one_row else mask[None]
    mask = mask[:, None] if mask.dim() == 3 else mask
    return Masking(1 if one_row else mode, mask, before, after, [])


@reference("npu::npu_prompt_flash_attention", dtypes=QKV)
def npu_prompt_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None,
    actual_seq_lengths: Sequence[int] | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = FAR,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: Sequence[int] | None = None,
    sparse_mode: int = 0,
) -> Tensor:
    """padding_mask is reserved. next_tokens is 0: a mask without it counts up to the diagonal only."""
    name = "npu_prompt_flash_attention"
    _check_layout(name, input_layout, PLAIN)
    _check_packed(name, input_layout, sparse_mode, atten_mask)
    masking = masking_of(name, sparse_mode, atten_mask, pre_tokens, next_tokens, False)
    return run_inference(
        Inference(
            name,
            query,
            key,
            value,
            num_heads,
            num_key_value_heads,
            input_layout,
            scale_value,
            masking,
            actual_seq_lengths,
            actual_seq_lengths_kv,
            pse_shift,
        )
    )[0]


@reference("npu::npu_incre_flash_attention", dtypes={**QKV, "block_table": (torch.int32,)})
def npu_incre_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None,
    actual_seq_lengths: Sequence[int] | None = None,
    block_table: Tensor | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    block_size: int = 0,
    inner_precise: int = 1,
) -> Tensor:
    """One row of query for each entry; the lengths are those of key and value."""
    name = "npu_incre_flash_attention"
    _check_layout(name, input_layout, ("BSH", "BSND", "BNSD"))
    if inner_precise not in (0, 1):
        raise RuntimeError(f"{name} supports inner_precise 0 and 1, but got {inner_precise}")
    if query.shape[2 if input_layout == "BNSD" else 1] != 1:
        raise RuntimeError(f"{name} takes a query of sequence length 1, but got {list(query.shape)}")
    masking = masking_of(name, 0, atten_mask, FAR, FAR, True)
    return run_inference(
        Inference(
            name,
            query,
            key,
            value,
            num_heads,
            num_key_value_heads,
            input_layout,
            scale_value,
            masking,
            None,
            actual_seq_lengths,
            pse_shift,
            inner_precise,
            block_table,
            block_size,
        )
    )[0]


@reference("npu::npu_fused_infer_attention_score", dtypes=FUSED)
def npu_fused_infer_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_lengths: Sequence[int] | None = None,
    actual_seq_lengths_kv: Sequence[int] | None = None,
    block_table: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = FAR,
    next_tokens: int = FAR,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    softmax_lse_flag: bool = False,
) -> tuple[Tensor, Tensor]:
    """(attention, log-sum-exp, or one zero where it is not asked for)."""
    return _run_fused("npu_fused_infer_attention_score", dict(locals()))


@reference("npu::npu_fused_infer_attention_score.out", dtypes=FUSED, writes=("out",))
def npu_fused_infer_attention_score_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_lengths: Sequence[int] | None = None,
    actual_seq_lengths_kv: Sequence[int] | None = None,
    block_table: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = FAR,
    next_tokens: int = FAR,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    softmax_lse_flag: bool = False,
    workspace: Tensor | None = None,
    out: Sequence[Tensor],
) -> tuple[Tensor, Tensor]:
    """The workspace is memory for the hardware's kernel; nothing is read from it. A log-sum-exp not asked for is 0."""
    if len(out) != 2:
        raise RuntimeError(f"npu_fused_infer_attention_score.out writes two tensors, but out has {len(out)}")
    attention, sums = _run_fused("npu_fused_infer_attention_score", dict(locals()))
    return attention, sums if softmax_lse_flag else torch.zeros_like(out[1])


@reference("npu::npu_fused_infer_attention_score_v2", dtypes={**FUSED, "learnable_sink": (torch.bfloat16,)})
def npu_fused_infer_attention_score_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    block_table: Tensor | None = None,
    learnable_sink: Tensor | None = None,
    num_query_heads: int = 1,
    num_key_value_heads: int = 0,
    softmax_scale: float = 1.0,
    pre_tokens: int = FAR,
    next_tokens: int = FAR,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
    block_size: int = 0,
    inner_precise: int = 0,
    return_softmax_lse: bool = False,
) -> tuple[Tensor, Tensor]:
    """As the first version, with other names and a learnable sink."""
    arguments = dict(locals())
    names = {
        "actual_seq_qlen": "actual_seq_lengths",
        "actual_seq_kvlen": "actual_seq_lengths_kv",
        "softmax_scale": "scale",
        "num_query_heads": "num_heads",
        "return_softmax_lse": "softmax_lse_flag",
    }
    name = "npu_fused_infer_attention_score_v2"
    if learnable_sink is not None:
        _check_layout(f"{name} with learnable_sink", input_layout, ("TND", "NTD_TND"))
        if value.shape[-1] > 128 and block_table is None:
            raise RuntimeError(f"{name}: learnable_sink needs a value dimension of at most 128")
    return _run_fused(name, {names.get(key, key): value for key, value in arguments.items()})


def _run_fused(name: str, arguments: dict[str, Any]) -> tuple[Tensor, Tensor]:
    query, mask, mode, rope = (
        arguments["query"],
        arguments["atten_mask"],
        arguments["sparse_mode"],
        arguments["query_rope"],
    )
    _check_layout(name, arguments["input_layout"], tuple(LAYOUTS))
    _check_packed(name, arguments["input_layout"], mode, mask)
    if arguments["inner_precise"] not in (0, 1, 2, 3):
        raise RuntimeError(f"{name} supports inner_precise 0, 1, 2 and 3, but got {arguments['inner_precise']}")
    of_query = LAYOUTS[arguments["input_layout"]][0]
    one_row = of_query in ("BSH", "BSND", "BNSD") and query.shape[2 if of_query == "BNSD" else 1] == 1
    if one_row and mode not in ((0, 3) if rope is not None else (0, 1)):
        raise NotImplementedError(f"the NPU simulator lacks {name} with one row of query and sparse_mode {mode}")
    _check_rope(name, arguments)
    out, lse = run_inference(
        Inference(
            name,
            query,
            arguments["key"],
            arguments["value"],
            arguments["num_heads"],
            arguments["num_key_value_heads"],
            arguments["input_layout"],
            arguments["scale"],
            masking_of(name, mode, mask, arguments["pre_tokens"], arguments["next_tokens"], one_row),
            None if one_row else arguments["actual_seq_lengths"],
            arguments["actual_seq_lengths_kv"],
            arguments["pse_shift"],
            arguments["inner_precise"],
            arguments["block_table"],
            arguments["block_size"],
            rope,
            arguments["key_rope"],
            arguments.get("learnable_sink"),
        )
    )
    return out, lse if arguments["softmax_lse_flag"] else lse.new_zeros(1)


def _check_layout(name: str, layout: str, allowed: Sequence[str]) -> None:
    if layout not in allowed:
        raise RuntimeError(f"{name} supports input_layout {', '.join(allowed)}, but got {layout}")


def _check_packed(name: str, layout: str, mode: int, mask: Tensor | None) -> None:
    """Check that with TND there is no mask, or the compressed one of sparse_mode 3 or 4."""
    packed = LAYOUTS[layout][0] in ("TND", "NTD")
    if packed and (mode not in (0, 3, 4) or (mode == 0 and mask is not None)):
        raise RuntimeError(f"{name}: {layout} takes sparse_mode 0 without atten_mask, or 3 or 4, but got {mode}")


def _check_rope(name: str, arguments: dict[str, Any]) -> None:
    if arguments["query_rope"] is None:
        if arguments["key"].dim() == 5:
            raise NotImplementedError(f"the NPU simulator lacks {name} with a cache of 5 dimensions without key_rope")
        return
    if arguments["pse_shift"] is not None:
        raise RuntimeError(f"{name} does not support pse_shift with query_rope")
    wide_query = arguments["query"].shape[-1] == (
        512 if arguments["input_layout"][:3] != "BSH" else 512 * arguments["num_heads"]
    )
    if wide_query and arguments["softmax_lse_flag"]:
        raise RuntimeError(f"{name} does not support softmax_lse_flag with a query dimension of 512")
