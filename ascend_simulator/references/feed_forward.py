"""Two products with an activation between them, of one expert or of several. Formulas: npu_ffn.md (registry.DOCUMENTS).

What lies between the products has the precision that the second one takes: that of x, or int8. Quantised, with int64
scales, it is computed in float16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide
from .quantisation import asked_dtype, round_to_dtype, scale_of, whole_product, with_bias
from .quantised_products import BIASES, dequantise
from .registry import FLOATS, HALVES, Arguments, reference, takes

NAME = "npu_ffn"
PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "fastgelu": lambda x: x * torch.sigmoid(1.702 * x),
    "gelu": functional.gelu,
    "relu": torch.relu,
    "silu": functional.silu,
}
#: Not here: which half of the first product is activated is not in the page.
GATED = ("geglu", "swiglu", "reglu")
#: Arguments with one entry per expert.
QUANTISED = ("scale", "offset", "deq_scale1", "deq_scale2")
WEIGHT_ONLY = ("antiquant_scale1", "antiquant_scale2", "antiquant_offset1", "antiquant_offset2")
Given = dict[str, Tensor]


def _half_precision(x: Tensor, arguments: Given, activation: str, fast: bool) -> Tensor:
    first, second = arguments["weight1"], arguments["weight2"]
    if "antiquant_scale1" in arguments:
        first = dequantise(first, arguments["antiquant_scale1"], arguments.get("antiquant_offset1"))
        second = dequantise(second, arguments["antiquant_scale2"], arguments.get("antiquant_offset2"))
    inner = _add_bias(x.float() @ first.float(), arguments.get("bias1"))
    inner = inner.to(x.dtype).float() if fast else inner
    inner = PLAIN[activation](inner).to(x.dtype).float()
    return _add_bias(inner @ second.float(), arguments.get("bias2")).to(x.dtype)


def _add_bias(values: Tensor, bias: Tensor | None) -> Tensor:
    return values if bias is None else values + as_wide(bias)


def _run_quantised(x: Tensor, arguments: Given, activation: str, result: torch.dtype) -> Tensor:
    inner = with_bias(whole_product(x, arguments["weight1"]), arguments.get("bias1")).float()
    inner = inner * scale_of(arguments["deq_scale1"])
    precision = torch.float16 if arguments["deq_scale1"].dtype == torch.int64 else torch.float32
    inner = PLAIN[activation](inner.to(precision).float()).to(precision)
    moved = inner * arguments["scale"].to(precision) + arguments["offset"].to(precision)
    total = with_bias(
        whole_product(round_to_dtype(moved.float(), torch.int8), arguments["weight2"]), arguments.get("bias2")
    )
    return (total.float() * scale_of(arguments["deq_scale2"])).to(result)


def _rows_of_experts(tokens: Sequence[int] | None, ends: Sequence[int] | None, rows: int) -> list[int] | None:
    """Return the rows of each expert, or None without experts."""
    if tokens and ends:
        raise RuntimeError("expert_tokens and expert_tokens_index should not have the value simultaneously.")
    sizes = [end - start for start, end in zip([0, *(ends or [])], ends or [])] if ends else list(tokens or [])
    if sizes and (sum(sizes) != rows or min(sizes) < 0 or len(sizes) > 256):
        raise RuntimeError(f"{NAME}: the experts should have {rows} tokens in all and be at most 256, but got {sizes}")
    return sizes or None


def _check_arguments(x: Tensor, arguments: Given, activation: str, experts: bool) -> None:
    if activation in GATED:
        raise NotImplementedError(f"the NPU simulator lacks {NAME} with the gated activation {activation}")
    if activation not in PLAIN:
        raise RuntimeError(f"{NAME}: activation should be one of {[*PLAIN, *GATED]}, but got '{activation}'")
    first, second = arguments["weight1"], arguments["weight2"]
    if (x.shape[-1], first.shape[-1]) != (first.shape[-2], second.shape[-2]) or second.shape[-1] != x.shape[-1]:
        raise RuntimeError(f"{NAME}: weights of {tuple(first.shape)}, {tuple(second.shape)} do not fit x")
    if first.dim() != 2 + experts or second.dim() != first.dim():
        raise RuntimeError(f"{NAME}: the weights should have {2 + experts} dimensions")
    quantised, weight_only = (bool(set(arguments) & set(names)) for names in (QUANTISED, WEIGHT_ONLY))
    needed = {*QUANTISED} if x.dtype == torch.int8 else {*WEIGHT_ONLY[:2]} if first.dtype == torch.int8 else set()
    wrong = quantised != (x.dtype == torch.int8) or weight_only != bool(needed and x.dtype != torch.int8)
    if wrong or needed - set(arguments) or second.dtype != first.dtype or (not needed and first.dtype != x.dtype):
        raise RuntimeError(f"{NAME}: x of {x.dtype} and weights of {first.dtype} with {sorted(arguments)} (npu_ffn.md)")


def _check_each(x: Tensor, arguments: Given, sizes: list[int] | None) -> None:
    """Check the shape of each argument beside the weights, which has a row per expert, and the dtype of the biases."""
    experts = () if sizes is None else (len(sizes),)
    if sizes is not None and any(arguments[name].shape[0] != len(sizes) for name in ("weight1", "weight2")):
        raise RuntimeError(f"{NAME}: {len(sizes)} entries in expert_tokens do not fit the experts of the weights")
    for name in sorted({*arguments} - {"weight1", "weight2"}):
        columns = arguments["weight2" if name.endswith("2") else "weight1"].shape[-1]
        whole = experts or (1,)
        allowed = [whole] if name == "offset" else [whole, (*experts, columns)] if name == "scale" else []
        allowed = allowed or [(*experts, columns)]
        if tuple(arguments[name].shape) not in allowed:
            raise RuntimeError(f"{NAME}: {name} of the shape {tuple(arguments[name].shape)}, not one of {allowed}")
        if name.startswith("bias") and arguments[name].dtype != BIASES[x.dtype]:
            raise RuntimeError(f"{NAME}: {name} of {arguments[name].dtype} with x of {x.dtype}, not {BIASES[x.dtype]}")


SCALES = (torch.int64, torch.float32, torch.bfloat16)


@reference(
    "npu::npu_ffn",
    dtypes={
        "x": (*HALVES, torch.int8),
        "weight1": (*HALVES, torch.int8),
        "weight2": (*HALVES, torch.int8),
        "bias1": (*FLOATS, torch.int32),
        "bias2": (*FLOATS, torch.int32),
        "scale": (torch.float32,),
        "offset": (torch.float32,),
        "deq_scale1": SCALES,
        "deq_scale2": SCALES,
        **dict.fromkeys(WEIGHT_ONLY, HALVES),
    },
)
@takes(
    "Tensor x, Tensor weight1, Tensor weight2, str activation, *, int[]? expert_tokens=None, "
    "int[]? expert_tokens_index=None, Tensor? bias1=None, Tensor? bias2=None, Tensor? scale=None, "
    "Tensor? offset=None, Tensor? deq_scale1=None, Tensor? deq_scale2=None, Tensor? antiquant_scale1=None, "
    "Tensor? antiquant_scale2=None, Tensor? antiquant_offset1=None, Tensor? antiquant_offset2=None, "
    "int? inner_precise=None, int? output_dtype=None"
)
def npu_ffn(call: Arguments) -> Tensor:
    """activation(x @ weight1 + bias1) @ weight2 + bias2, expert by expert."""
    every = vars(call)
    names = ("weight1", "weight2", "bias1", "bias2", *QUANTISED, *WEIGHT_ONLY)
    arguments: Given = {name: every[name] for name in names if every[name] is not None}
    sizes = _rows_of_experts(call.expert_tokens, call.expert_tokens_index, call.x.shape[:-1].numel())
    _check_arguments(call.x, arguments, call.activation, sizes is not None)
    _check_each(call.x, arguments, sizes)
    result = asked_dtype(call.output_dtype, torch.float16, HALVES, f"{NAME}: output_dtype")
    if call.x.dtype == torch.int8:
        first, second = arguments["deq_scale1"].dtype, arguments["deq_scale2"].dtype
        if first != second or (first == torch.bfloat16) != (result == torch.bfloat16):
            raise RuntimeError(f"{NAME}: deq_scale1 of {first} and deq_scale2 of {second} for a result of {result}")
    fast, rows = call.inner_precise == 1 and call.x.dtype == torch.float16, call.x.reshape(-1, call.x.shape[-1])

    def run_expert(part: Tensor, of: Given) -> Tensor:
        if call.x.dtype == torch.int8:
            return _run_quantised(part, of, call.activation, result)
        return _half_precision(part, of, call.activation, fast)

    if sizes is None:
        return run_expert(rows, arguments).reshape(call.x.shape)
    parts = enumerate(rows.split(sizes))
    return torch.cat(
        [run_expert(part, {name: each[i] for name, each in arguments.items()}) for i, part in parts]
    ).reshape(call.x.shape)
