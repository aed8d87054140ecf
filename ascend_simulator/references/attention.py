"""torch_npu.npu_fusion_attention, _v2 and _v3 and their gradients: the operators of training.

Formula, layouts and limits: npu_fusion_attention.md and npu_fusion_attention_v3.md (registry.DOCUMENTS), and the
docstring of torch_npu.npu_fusion_attention_v2. Not here, and raised: pse_type 2 and 3, compressed pse, pse with TND.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .attention_core import LAYOUTS, Entry, Masking, from_entries, lengths_of, repeat_heads, sum_heads, to_entries
from .dropout import draw_keep_mask, seed_of, unpack_bits
from .numeric import as_wide, wide_or_none
from .registry import FLOATS, Arguments, derived_from, reference, takes

Forward = tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]
Backward = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
REPEATS = 8  # softmax_max and softmax_sum hold each number eight times


@dataclass
class Call:
    """One call: arguments as the operators name them, checked; entries are made batch by batch."""

    query: Tensor
    key: Tensor
    value: Tensor
    head_num: int
    layout: str
    pse: Tensor | None
    masking: Masking
    scale: float
    keep_prob: float
    inner_precise: int
    query_lengths: list[int]
    key_lengths: list[int]
    softmax_layout: str
    sink: Tensor | None
    pse_type: int = 1
    kept: Tensor | None = None

    def __post_init__(self) -> None:
        self.layout = self.layout.upper()
        _check_call(self)
        self.masking.check_mode()

    @property
    def key_heads(self) -> int:
        """Return the heads of key and value: with BSH and SBH from the sizes of query and key."""
        if self.layout in ("BSH", "SBH"):
            return max(int(self.key.shape[-1]) * self.head_num // int(self.query.shape[-1]), 1)
        return int(self.key.shape[1 if self.layout in ("BNSD", "TND") else 2])

    def split_queries(self) -> list[Tensor]:
        return to_entries(self.query, self.layout, self.head_num, self.query_lengths)

    def split_keys(self, tensor: Tensor) -> list[Tensor]:
        return to_entries(tensor, self.layout, self.key_heads, self.key_lengths)

    def count_scores(self) -> list[int]:
        """Return the number of scores of each entry."""
        pairs = zip(self.split_queries(), self.split_keys(self.key))
        return [self.head_num * query.shape[1] * key.shape[1] for query, key in pairs]

    def make_entries(self) -> Iterator[Entry]:
        triples = list(zip(self.split_queries(), self.split_keys(self.key), self.split_keys(self.value)))
        masks = self.kept.split(self.count_scores()) if self.kept is not None else [None] * len(triples)
        for batch, ((query, key, value), mask) in enumerate(zip(triples, masks)):
            rows, columns = query.shape[1], key.shape[1]
            yield Entry(
                query,
                repeat_heads(key, self.head_num),
                repeat_heads(value, self.head_num),
                self.masking.hidden_scores(batch, len(triples), rows, columns, query.device),
                self.scale,
                pse=None if self.pse is None else as_wide(self.pse[batch if self.pse.shape[0] > 1 else 0]),
                sink=wide_or_none(self.sink),
                kept=None if mask is None else mask.reshape(self.head_num, rows, columns),
                keep_prob=self.keep_prob,
                add_first=self.pse_type == 1,
                zero_rows=self.masking.zero_rows(rows, columns, self.inner_precise),
            )


def _check_call(call: Call) -> None:
    if call.head_num <= 0:
        raise RuntimeError(f"head_num must > 0, but got {call.head_num}")
    for name, tensor in (("query", call.query), ("key", call.key), ("value", call.value)):
        if tensor.dim() not in (3, 4):
            raise RuntimeError(
                f"The shapes of the input {name} should be 3 or 4 dimensional, but got {tensor.dim()}-dimensional"
            )
        if tensor.dtype != call.query.dtype:
            dtypes = f"{call.query.dtype} and {tensor.dtype}"
            raise RuntimeError(f"query, key and value must have one dtype, but got {dtypes}")
    if not 0 < call.keep_prob <= 1:
        raise RuntimeError(f"The keep_prob value must be in range of (0, 1], but got {call.keep_prob}")
    _check_layout(call)
    _check_sizes(call)
    _check_pse(call)


def _check_layout(call: Call) -> None:
    if call.layout not in LAYOUTS:
        raise RuntimeError(f"The input_layout should be BSH/SBH/BNSD/BSND/TND(case-insensitive), but got {call.layout}")
    if call.softmax_layout not in ("", "TND"):
        raise RuntimeError("only supported softmax_layout=TND")
    if call.softmax_layout == "TND" and call.layout != "TND":
        raise RuntimeError("softmax_layout=TND only supported when input_layout_str=TND")
    mode = call.masking.mode
    if call.layout == "TND":
        if mode not in (0, 1, 2, 3, 4, 6, 7, 8):
            raise RuntimeError(f"The sparse_mode value must be in range of [0,5) or (5,8], but got {mode}")
        if not call.query_lengths or len(call.query_lengths) != len(call.key_lengths):
            raise RuntimeError("the size of actual_seq_qlen and actual_seq_kvlen must be the same and cannot be empty.")
    elif not 0 <= mode <= 6:
        raise RuntimeError(f"The sparse_mode value must be in range of [0,6], but got {mode}")


def _check_sizes(call: Call) -> None:
    heads = call.key_heads
    if call.head_num % heads:
        raise RuntimeError(f"the heads of query ({call.head_num}) must be a multiple of those of key ({heads})")
    if call.layout not in ("BSH", "SBH"):
        axis = 1 if call.layout in ("BNSD", "TND") else 2
        if call.query.shape[axis] != call.head_num:
            raise RuntimeError(f"head_num is {call.head_num}, but query has {call.query.shape[axis]} heads")
        if call.query.shape[-1] != call.key.shape[-1] or call.value.shape[-1] > call.key.shape[-1]:
            raise RuntimeError("the head dimensions must be equal for query and key, and no larger for value")
    if call.masking.mode == 6 and not call.masking.prefix:
        raise RuntimeError("sparse_mode 6 needs prefix")


def _check_pse(call: Call) -> None:
    if call.pse_type not in (0, 1, 2, 3):
        raise RuntimeError(f"The pse_type value must be in range of [0,3], but got {call.pse_type}")
    if call.pse is None:
        return
    if call.pse_type in (2, 3):
        raise NotImplementedError(f"the NPU simulator lacks npu_fusion_attention_v2 with pse_type {call.pse_type}")
    rows = call.query.shape[{"BSH": 1, "SBH": 0, "BSND": 1, "BNSD": 2, "TND": 0}[call.layout]]
    if call.layout == "TND" or call.pse.shape[-2] not in (1, rows):
        raise NotImplementedError("the NPU simulator lacks npu_fusion_attention with compressed pse, or pse with TND")
    if call.pse.dtype != call.query.dtype:
        raise RuntimeError(f"pse must have the dtype of query, but got {call.pse.dtype} and {call.query.dtype}")


def _arrange_statistics(rows: Sequence[Tensor], call: Call) -> Tensor:
    """Return (B, N, Sq, 8), or with TND (T, N, 8), where softmax_layout "" keeps heads before tokens in memory."""
    if call.layout != "TND":
        return torch.stack(list(rows))[..., None].repeat(1, 1, 1, REPEATS).to(torch.float32)
    whole = torch.cat(list(rows), 1)
    whole = torch.cat([whole, whole.new_zeros(whole.shape[0], call.query.shape[0] - whole.shape[1])], 1)
    whole = whole.transpose(0, 1) if call.softmax_layout == "TND" else whole.reshape(whole.shape[1], whole.shape[0])
    return whole[..., None].repeat(1, 1, REPEATS).to(torch.float32)


def _rows_of(statistics: Tensor, call: Call) -> list[Tensor]:
    """Reverse _arrange_statistics: (N, Sq) for each entry."""
    if call.layout != "TND":
        return list(statistics[..., 0].unbind(0))
    whole = statistics[..., 0]
    whole = whole.transpose(0, 1) if call.softmax_layout == "TND" else whole.reshape(whole.shape[1], whole.shape[0])
    return list(whole[:, : sum(call.query_lengths)].split(call.query_lengths, 1))


def _run_forward(arguments: dict[str, Any]) -> Forward:
    """Return (out, softmax_max, softmax_sum, an empty tensor, seed, offset, the number of scores)."""
    call, seed, offset = call_of(arguments), arguments["seed"], arguments["offset"]
    if not seed and call.keep_prob != 1:
        seed = seed_of(arguments["generator"])
    numels = sum(call.count_scores())
    call.kept = _dropout_mask(call, numels, arguments["dropout_mask"], seed, offset)
    results = [entry.attend_forward() for entry in call.make_entries()]
    out = from_entries([result[0] for result in results], call.layout, call.query)
    largest, total = (_arrange_statistics([result[i] for result in results], call) for i in (1, 2))
    return out, largest, total, call.query.new_empty(0), seed, offset, numels


def _dropout_mask(call: Call, numels: int, mask: Tensor | None, seed: int, offset: int) -> Tensor | None:
    if call.keep_prob == 1:
        return None
    bits = draw_keep_mask(numels, 1 - call.keep_prob, seed, offset) if mask is None else unpack_bits(mask, numels)
    return bits.to(call.query.device)


def _run_backward(arguments: dict[str, Any]) -> Backward:
    """Return (dq, dk, dv, dpse, dsink), the last two empty where there is none, from the statistics that the caller
    passes: those of a ring's whole sequence serve.
    """
    call = call_of(arguments)
    for name in ("softmax_max", "softmax_sum", "attention_in"):
        if arguments[name] is None:
            raise RuntimeError(f"npu_fusion_attention_grad needs {name}")
    seed, offset = int(arguments["seed"] or 0), int(arguments["offset"] or 0)
    call.kept = _dropout_mask(call, sum(call.count_scores()), None, seed, offset)
    tensors = [
        to_entries(arguments[name], call.layout, call.head_num, call.query_lengths) for name in ("dy", "attention_in")
    ]
    statistics = [_rows_of(as_wide(arguments[name]), call) for name in ("softmax_max", "softmax_sum")]
    gradients = [entry.attend_backward(*rest) for entry, *rest in zip(call.make_entries(), *tensors, *statistics)]
    heads = call.key_heads
    dq = from_entries([grads["query"] for grads in gradients], call.layout, call.query)
    dk, dv = (
        from_entries([sum_heads(grads[name], heads) for grads in gradients], call.layout, like)
        for name, like in (("key", call.key), ("value", call.value))
    )
    dpse = call.query.new_empty(0)
    if call.pse is not None:
        dpse = torch.stack([grads["pse"] for grads in gradients]).sum_to_size(call.pse.shape).to(call.pse.dtype)
    dsink = call.key.new_empty(0, dtype=torch.float32)
    if call.sink is not None:
        dsink = sum((grads["sink"] for grads in gradients), torch.zeros_like(call.sink)).to(call.sink.dtype)
    return dq, dk, dv, dpse, dsink


#: Arguments that a call takes as they are.
SAME = ("query", "key", "value", "head_num", "pse", "keep_prob", "inner_precise", "softmax_layout", "sink")


def call_of(arguments: dict[str, Any]) -> Call:
    """Make the call from the operator's arguments, whose names differ a little between versions."""
    for name in ("query_rope", "key_rope"):
        if arguments.get(name) is not None:
            raise NotImplementedError(f"the NPU simulator lacks npu_fusion_attention with {name}")
    if any(arguments.get("q_start_idx") or ()) or any(arguments.get("kv_start_idx") or ()):
        raise NotImplementedError("the NPU simulator lacks npu_fusion_attention with q_start_idx or kv_start_idx")
    before, after = ("pre_tokens", "next_tokens") if "pre_tokens" in arguments else ("pre_tockens", "next_tockens")
    mode, mask, prefix = arguments["sparse_mode"], arguments["atten_mask"], list(arguments["prefix"] or ())
    return Call(
        **{name: arguments[name] for name in SAME},
        layout=arguments["input_layout"],
        masking=Masking(mode, mask, arguments[before], arguments[after], prefix),
        scale=arguments["scale"] if "scale" in arguments else arguments["scale_value"],
        query_lengths=_read_lengths(arguments["actual_seq_qlen"]),
        key_lengths=_read_lengths(arguments["actual_seq_kvlen"]),
        pse_type=arguments.get("pse_type", 1),
    )


def _read_lengths(cumulative: Tensor | Sequence[int] | None) -> list[int]:
    return lengths_of(cumulative.tolist() if isinstance(cumulative, Tensor) else cumulative)


QKV = {"query": FLOATS, "key": FLOATS, "value": FLOATS, "atten_mask": (torch.bool, torch.uint8)}
FAR = 2147483647


@reference("npu::npu_fusion_attention", dtypes=QKV, random=True)
@takes(
    "Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse=None, "
    "Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1.0, float keep_prob=1.0, "
    "int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int[]? prefix=None, "
    "int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, "
    'bool sync=False, str softmax_layout="", Tensor? sink=None, Tensor? dropout_mask=None, int seed=0, int offset=0, '
    "*, Generator? generator=None"
)
def npu_fusion_attention(call: Arguments) -> Forward:
    return _run_forward(vars(call))


@reference("npu::npu_fusion_attention_grad", dtypes={**QKV, "dy": FLOATS})
@takes(
    "Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str input_layout, *, Tensor? pse=None, "
    "Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? softmax_max=None, Tensor? softmax_sum=None, "
    "Tensor? softmax_in=None, Tensor? attention_in=None, float scale_value=1.0, float keep_prob=1.0, "
    "int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int seed=0, int offset=0, "
    "int numels=0, int[]? prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, "
    'bool gen_mask_parallel=True, bool sync=False, str softmax_layout="", Tensor? sink=None'
)
def npu_fusion_attention_grad(call: Arguments) -> Backward:
    return _run_backward(vars(call))


@reference("npu::npu_fusion_attention_v2", dtypes=QKV, random=True)
@takes(
    "Tensor query, Tensor key, Tensor value, int head_num, str input_layout, *, Tensor? pse=None, "
    "Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? query_rope=None, Tensor? key_rope=None, "
    "float scale=1.0, float keep_prob=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, "
    "int inner_precise=0, int[]? prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, "
    "int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, int pse_type=1, int[]? q_start_idx=None, "
    'int[]? kv_start_idx=None, str softmax_layout="", Tensor? sink=None, Tensor? dropout_mask=None, int seed=0, '
    "int offset=0, Generator? generator=None"
)
def npu_fusion_attention_v2(call: Arguments) -> Forward:
    return _run_forward(vars(call))


@reference("npu::npu_fusion_attention_grad_v2", dtypes={**QKV, "dy": FLOATS})
@derived_from(npu_fusion_attention_grad, pre_tockens="pre_tokens", next_tockens="next_tokens")
def npu_fusion_attention_grad_v2(
    *,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    pse_type: int = 1,
    q_start_idx: Sequence[int] | None = None,
    kv_start_idx: Sequence[int] | None = None,
    **arguments: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """As the first version, with empty gradients of query_rope and key_rope before that of sink."""
    dq, dk, dv, dpse, dsink = _run_backward({**arguments, **locals()})
    return dq, dk, dv, dpse, arguments["query"].new_empty(0), arguments["key"].new_empty(0), dsink


@reference("npu::npu_fusion_attention_v3", dtypes=QKV, random=True)
@derived_from(npu_fusion_attention, without=("dropout_mask", "seed", "offset"))
def npu_fusion_attention_v3(**arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """As the first version, with lengths, seed and offset as tensors."""
    out, largest, total, empty, seed, offset, _ = npu_fusion_attention(**arguments)
    return out, largest, total, empty, torch.tensor([seed]), torch.tensor([offset])


@reference("npu::npu_fusion_attention_grad_v3", dtypes={**QKV, "dy": FLOATS})
@derived_from(npu_fusion_attention_grad, without=("numels",))
def npu_fusion_attention_grad_v3(
    *, seed: Tensor | None = None, offset: Tensor | None = None, **arguments: Any
) -> Backward:
    return npu_fusion_attention_grad(**arguments, seed=int(seed or 0), offset=int(offset or 0))
