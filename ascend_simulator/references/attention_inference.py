"""torch_npu.npu_prompt_flash_attention, npu_incre_flash_attention, npu_fused_infer_attention_score and its _v2.

Formula, layouts, limits and shapes: their pages under registry.DOCUMENTS. Rows beyond a length have the result zero;
their log-sum-exp, and that of rows that see no key, is inf. Not here, and raised: quantisation of any kind, padding on
the left, shared prefixes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from .attention_core import Entry, Masking, repeat_heads, to_entries
from .numeric import as_wide, wide_or_none
from .registry import HALVES, Arguments, derived_from, reference, takes

FAR = 2147483647

#: input_layout -> how query, key and value lie, how the result lies.
LAYOUTS = {
    **{name: (name, name) for name in ("BSH", "BSND", "BNSD", "TND", "NTD", "NSD")},
    **{f"{layout}_{out}": (layout, out) for layout in ("BSH", "BSND", "BNSD") for out in ("BNSD", "NBSD")},
    "BNSD_BSND": ("BNSD", "BSND"),
    "TND_NTD": ("TND", "NTD"),
    "NTD_TND": ("NTD", "TND"),
}
del LAYOUTS["BNSD_BNSD"]
PLAIN = ("BSH", "BSND", "BNSD", "TND", "BNSD_BSND")


@dataclass
class Inference:
    """One call, as npu_fused_infer_attention_score names its arguments."""

    operator: str
    masking: Masking
    query: Tensor
    key: Tensor
    value: Tensor
    num_heads: int
    num_key_value_heads: int
    input_layout: str
    scale: float
    actual_seq_lengths: Sequence[int] | None
    actual_seq_lengths_kv: Sequence[int] | None
    pse_shift: Tensor | None = None
    inner_precise: int = 0
    block_table: Tensor | None = None
    block_size: int = 0
    query_rope: Tensor | None = None
    key_rope: Tensor | None = None
    learnable_sink: Tensor | None = None

    def __post_init__(self) -> None:
        self.num_key_value_heads = self.num_key_value_heads or self.num_heads
        if self.input_layout not in LAYOUTS:
            raise RuntimeError(
                f"{self.operator}: input_layout only supports {', '.join(LAYOUTS)}, got {self.input_layout}"
            )
        if self.num_heads <= 0 or self.num_heads % self.num_key_value_heads:
            raise RuntimeError(
                f"{self.operator}: num_heads {self.num_heads} must be a multiple of {self.num_key_value_heads}"
            )
        if (self.query_rope is None) != (self.key_rope is None):
            raise RuntimeError(f"{self.operator}: query_rope and key_rope must be given together")
        if self.key.dtype != self.query.dtype or self.value.dtype != self.query.dtype:
            raise RuntimeError(f"{self.operator}: query, key and value must have one dtype")
        self.masking.check_mode()

    @property
    def packed(self) -> bool:
        return LAYOUTS[self.input_layout][0] in ("TND", "NTD")

    def split_tensor(self, tensor: Tensor, heads: int, lengths: Sequence[int]) -> list[Tensor]:
        """Return per batch entry (heads, S, D), padding included; with TND exactly the entry's tokens."""
        layout = LAYOUTS[self.input_layout][0]
        if layout == "NTD":
            tensor, layout = tensor.transpose(0, 1), "TND"
        if layout == "NSD":
            tensor, layout = tensor[None], "BNSD"
        entries = to_entries(tensor, layout, heads, lengths)
        if any(entry.shape[0] != heads for entry in entries):
            raise RuntimeError(
                f"{self.operator}: {self.input_layout} with {entries[0].shape[0]} heads, but {heads} are named"
            )
        return entries


def run_inference(name: str, masking: Masking, arguments: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Return (attention in the output's layout, log-sum-exp (B, N, S, 1) or (T, N, 1) in float32)."""
    named = {field.name: arguments[field.name] for field in fields(Inference) if field.name in arguments}
    call = Inference(name, masking, **named)
    counts = _packed_lengths(call, call.actual_seq_lengths, "query") if call.packed else []
    queries = call.split_tensor(call.query, call.num_heads, counts)
    if call.query_rope is not None:
        ropes = call.split_tensor(call.query_rope, call.num_heads, counts)
        queries = [torch.cat(pair, -1) for pair in zip(queries, ropes)]
    rows = counts or lengths_of(call, call.actual_seq_lengths, len(queries), queries[0].shape[1])
    keys, values = _keys_and_values(call, len(queries))
    results = [
        _attend_entry(call, batch, len(queries), query, key, value, count)
        for batch, (query, key, value, count) in enumerate(zip(queries, keys, values, rows))
    ]
    return _join_entries([out for out, _ in results], call), _log_sum_exp([lse for _, lse in results], call)


def _attend_entry(
    call: Inference, batch: int, batches: int, query: Tensor, key: Tensor, value: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    rows, columns = count, key.shape[1]
    hidden = call.masking.hidden_scores(batch, batches, rows, columns, query.device)
    entry = Entry(
        query[:, :rows],
        repeat_heads(key, call.num_heads),
        repeat_heads(value, call.num_heads),
        hidden,
        call.scale,
        pse=_bias_of(call, batch, rows, columns),
        sink=wide_or_none(call.learnable_sink),
        zero_rows=call.masking.zero_rows(rows, columns, 2 if call.inner_precise in (2, 3) else 0),
    )
    out, largest, total = entry.attend_forward()
    lse = largest + total.log()
    unseen = torch.full_like(lse, columns == 0, dtype=torch.bool)
    if hidden is not None:
        unseen = unseen | hidden.all(-1)
    lse = lse.masked_fill(unseen, math.inf)
    rest = query.shape[1] - rows
    return torch.nn.functional.pad(out, (0, 0, 0, rest)), torch.nn.functional.pad(lse, (0, rest), value=math.inf)


def _bias_of(call: Inference, batch: int, rows: int, columns: int) -> Tensor | None:
    if call.pse_shift is None:
        return None
    pse = as_wide(call.pse_shift[batch if call.pse_shift.shape[0] > 1 else 0])
    if pse.shape[-2] < rows or pse.shape[-1] < columns:
        raise RuntimeError(f"{call.operator}: pse_shift {list(call.pse_shift.shape)} is smaller than {rows}x{columns}")
    return pse[:, :rows, :columns]


def lengths_of(call: Inference, listed: Sequence[int] | None, batches: int, size: int) -> list[int]:
    """Return one length for all entries, or one for each; none means the whole size."""
    lengths = [size] if not listed else list(listed)
    if len(lengths) == 1:
        lengths = lengths * batches
    if len(lengths) < batches or any(not 0 <= length <= size for length in lengths[:batches]):
        raise RuntimeError(f"{call.operator}: sequence lengths {lengths} for {batches} entries of length {size}")
    return lengths[:batches]


def _packed_lengths(call: Inference, ends: Sequence[int] | None, name: str) -> list[int]:
    if not ends:
        raise RuntimeError(f"{call.operator}: {call.input_layout} needs the sequence lengths of {name}")
    lengths = [end - start for start, end in zip([0, *ends[:-1]], ends)]
    if min(lengths) < 0:
        raise RuntimeError(f"{call.operator}: {call.input_layout} takes cumulative sequence lengths, got {list(ends)}")
    return lengths


def _keys_and_values(call: Inference, batches: int) -> tuple[list[Tensor], list[Tensor]]:
    """Return per batch entry (key heads, S, D), as long as it counts; the rope's part is behind the key's."""
    tensors = [call.key, call.value, *([] if call.key_rope is None else [call.key_rope])]
    if call.block_table is not None:
        parts = [_read_paged(call, tensor, batches) for tensor in tensors]
    else:
        counts = _packed_lengths(call, call.actual_seq_lengths_kv, "key") if call.packed else []
        parts = [call.split_tensor(tensor, call.num_key_value_heads, counts) for tensor in tensors]
        if len(parts[0]) != batches:
            raise RuntimeError(f"{call.operator}: {batches} entries of query, but {len(parts[0])} of key")
        counts = counts or lengths_of(call, call.actual_seq_lengths_kv, batches, parts[0][0].shape[1])
        parts = [[entry[:, :count] for entry, count in zip(entries, counts)] for entries in parts]
    keys, values = parts[:2]
    if call.key_rope is not None:
        keys = [torch.cat(pair, -1) for pair in zip(keys, parts[2])]
    return keys, values


def _read_paged(call: Inference, cache: Tensor, batches: int) -> list[Tensor]:
    """Read the blocks (n, block, H), (n, N, block, D) or (n, N, D / 16, block, 16) that each row of the table names."""
    assert call.block_table is not None
    if cache.dim() == 5:
        cache = cache.permute(0, 1, 3, 2, 4).flatten(3)
    elif cache.dim() == 3:
        cache = cache.unflatten(-1, (call.num_key_value_heads, -1)).transpose(1, 2)
    elif LAYOUTS[call.input_layout][0] in ("BSH", "BSND"):
        raise RuntimeError(
            f"{call.operator}: {call.input_layout} takes a paged cache of shape (blocks, block_size, H) only"
        )
    if cache.shape[1] != call.num_key_value_heads or cache.shape[2] != call.block_size:
        shape = list(cache.shape)
        raise RuntimeError(
            f"{call.operator}: cache {shape} is not (blocks, {call.num_key_value_heads}, {call.block_size}, D)"
        )
    if not call.actual_seq_lengths_kv:
        raise RuntimeError(f"{call.operator}: block_table needs the sequence lengths of key")
    if len(call.block_table) != batches:
        raise RuntimeError(f"{call.operator}: block_table {list(call.block_table.shape)} for {batches} entries")
    counts = lengths_of(call, call.actual_seq_lengths_kv, batches, call.block_table.shape[1] * call.block_size)
    needed = [-(-count // call.block_size) for count in counts]
    rows = [row[:blocks].long() for row, blocks in zip(call.block_table, needed)]
    return [as_wide(cache[row].transpose(0, 1).flatten(1, 2)[:, :count]) for row, count in zip(rows, counts)]


def _join_entries(entries: list[Tensor], call: Inference) -> Tensor:
    layout = LAYOUTS[call.input_layout][1]
    if call.packed:
        whole = torch.cat(entries, 1)
        tokens = call.query.shape[0 if LAYOUTS[call.input_layout][0] == "TND" else 1]
        whole = torch.nn.functional.pad(whole, (0, 0, 0, tokens - whole.shape[1]))
        return (whole.transpose(0, 1) if layout == "TND" else whole).to(call.query.dtype).contiguous()
    order = {"BSH": (0, 2, 1, 3), "BSND": (0, 2, 1, 3), "NBSD": (1, 0, 2, 3)}.get(layout, (0, 1, 2, 3))
    whole = torch.stack(entries).permute(order).to(call.query.dtype)
    return whole.flatten(2) if layout == "BSH" else whole[0] if layout == "NSD" else whole.contiguous()


def _log_sum_exp(rows: list[Tensor], call: Inference) -> Tensor:
    if not call.packed:
        return torch.stack(rows)[..., None].float()
    tokens = call.query.shape[0 if LAYOUTS[call.input_layout][0] == "TND" else 1]
    whole = torch.cat(rows, 1)
    whole = torch.nn.functional.pad(whole, (0, tokens - whole.shape[1]), value=math.inf)
    return whole.transpose(0, 1)[..., None].float().contiguous()


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
@takes(
    "Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, Tensor? atten_mask=None, "
    "Tensor? pse_shift=None, int[]? actual_seq_lengths=None, int num_heads=1, float scale_value=1.0, "
    'int pre_tokens=2147483647, int next_tokens=0, str input_layout="BSH", int num_key_value_heads=0, '
    "int[]? actual_seq_lengths_kv=None, int sparse_mode=0"
)
def npu_prompt_flash_attention(call: Arguments) -> Tensor:
    """padding_mask is reserved. next_tokens is 0: a mask without it counts up to the diagonal only."""
    arguments, name = dict(vars(call), scale=call.scale_value), "npu_prompt_flash_attention"
    _check_layout(name, call.input_layout, PLAIN)
    _check_packed(name, call.input_layout, call.sparse_mode, call.atten_mask)
    masking = masking_of(name, call.sparse_mode, call.atten_mask, call.pre_tokens, call.next_tokens, False)
    return run_inference(name, masking, arguments)[0]


@reference("npu::npu_incre_flash_attention", dtypes={**QKV, "block_table": (torch.int32,)})
@takes(
    "Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, Tensor? atten_mask=None, "
    "Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? block_table=None, int num_heads=1, "
    'float scale_value=1.0, str input_layout="BSH", int num_key_value_heads=0, int block_size=0, int inner_precise=1'
)
def npu_incre_flash_attention(call: Arguments) -> Tensor:
    """One row of query for each entry; the lengths are those of key and value."""
    arguments, name = dict(vars(call), scale=call.scale_value), "npu_incre_flash_attention"
    arguments.update(actual_seq_lengths=None, actual_seq_lengths_kv=call.actual_seq_lengths)
    _check_layout(name, call.input_layout, ("BSH", "BSND", "BNSD"))
    if call.inner_precise not in (0, 1):
        raise RuntimeError(f"{name} supports inner_precise 0 and 1, but got {call.inner_precise}")
    if call.query.shape[2 if call.input_layout == "BNSD" else 1] != 1:
        raise RuntimeError(f"{name} takes a query of sequence length 1, but got {list(call.query.shape)}")
    masking = masking_of(name, 0, call.atten_mask, FAR, FAR, True)
    return run_inference(name, masking, arguments)[0]


@reference("npu::npu_fused_infer_attention_score", dtypes=FUSED)
@takes(
    "Tensor query, Tensor key, Tensor value, *, Tensor? pse_shift=None, Tensor? atten_mask=None, "
    "int[]? actual_seq_lengths=None, int[]? actual_seq_lengths_kv=None, Tensor? block_table=None, "
    "Tensor? query_rope=None, Tensor? key_rope=None, int num_heads=1, float scale=1.0, int pre_tokens=2147483647, "
    'int next_tokens=2147483647, str input_layout="BSH", int num_key_value_heads=0, int sparse_mode=0, '
    "int inner_precise=0, int block_size=0, bool softmax_lse_flag=False"
)
def npu_fused_infer_attention_score(call: Arguments) -> tuple[Tensor, Tensor]:
    """(attention, log-sum-exp, or one zero where it is not asked for)."""
    return _run_fused("npu_fused_infer_attention_score", dict(vars(call)))


@reference("npu::npu_fused_infer_attention_score.out", dtypes=FUSED, writes=("out",))
@derived_from(npu_fused_infer_attention_score)
def npu_fused_infer_attention_score_out(
    *, workspace: Tensor | None = None, out: Sequence[Tensor], **arguments: Any
) -> tuple[Tensor, Tensor]:
    """The workspace is memory for the hardware's kernel; nothing is read from it. A log-sum-exp not asked for is 0."""
    if len(out) != 2:
        raise RuntimeError(f"npu_fused_infer_attention_score.out writes two tensors, but out has {len(out)}")
    attention, sums = npu_fused_infer_attention_score(**arguments)
    return attention, sums if arguments["softmax_lse_flag"] else torch.zeros_like(out[1])


@reference("npu::npu_fused_infer_attention_score_v2", dtypes={**FUSED, "learnable_sink": (torch.bfloat16,)})
@derived_from(
    npu_fused_infer_attention_score,
    actual_seq_lengths="actual_seq_qlen",
    actual_seq_lengths_kv="actual_seq_kvlen",
    scale="softmax_scale",
    num_heads="num_query_heads",
    softmax_lse_flag="return_softmax_lse",
)
def npu_fused_infer_attention_score_v2(
    *, learnable_sink: Tensor | None = None, **arguments: Any
) -> tuple[Tensor, Tensor]:
    """As the first version, with other names and a learnable sink."""
    name = "npu_fused_infer_attention_score_v2"
    if learnable_sink is not None:
        _check_layout(f"{name} with learnable_sink", arguments["input_layout"], ("TND", "NTD_TND"))
        if arguments["value"].shape[-1] > 128 and arguments["block_table"] is None:
            raise RuntimeError(f"{name}: learnable_sink needs a value dimension of at most 128")
    return _run_fused(name, {**arguments, "learnable_sink": learnable_sink})


def _run_fused(name: str, arguments: dict[str, Any]) -> tuple[Tensor, Tensor]:
    query, mask, mode = arguments["query"], arguments["atten_mask"], arguments["sparse_mode"]
    _check_layout(name, arguments["input_layout"], tuple(LAYOUTS))
    _check_packed(name, arguments["input_layout"], mode, mask)
    if arguments["inner_precise"] not in (0, 1, 2, 3):
        raise RuntimeError(f"{name} supports inner_precise 0, 1, 2 and 3, but got {arguments['inner_precise']}")
    of_query = LAYOUTS[arguments["input_layout"]][0]
    one_row = of_query in ("BSH", "BSND", "BNSD") and query.shape[2 if of_query == "BNSD" else 1] == 1
    if one_row and mode not in ((0, 3) if arguments["query_rope"] is not None else (0, 1)):
        raise NotImplementedError(f"the NPU simulator lacks {name} with one row of query and sparse_mode {mode}")
    _check_rope(name, arguments)
    masking = masking_of(name, mode, mask, arguments["pre_tokens"], arguments["next_tokens"], one_row)
    lengths = None if one_row else arguments["actual_seq_lengths"]
    out, lse = run_inference(name, masking, {**arguments, "actual_seq_lengths": lengths})
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
