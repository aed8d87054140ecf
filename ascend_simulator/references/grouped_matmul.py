"""The product of one group of a grouped product, in every precision that an Ascend A2 takes.

Formulas: npu_grouped_matmul.md (registry.DOCUMENTS), int8 with int4 included.

One matrix product per group of rows, as mixtures of experts use. Formulas: npu_grouped_matmul.md and neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide
from .quantisation import (
    asked_dtype,
    offset_of,
    round_to_dtype,
    scale_of,
    unpack_int4,
    unpacked_matrix,
    whole_product,
    with_bias,
)
from .quantised_products import BIASES, by_rows, dequantise
from .registry import FLOATS, HALVES, Arguments, derived_from, reference, takes

NAME = "npu_grouped_matmul"


@dataclass(frozen=True)
class Group:
    """One group: its rows of x, its weight (K, N), and what else there is for it."""

    x: Tensor
    weight: Tensor
    bias: Tensor | None = None
    scale: Tensor | None = None
    token: Tensor | None = None
    antiquant_scale: Tensor | None = None
    antiquant_offset: Tensor | None = None


def refuse_if(condition: bool, text: str, name: str = NAME) -> None:
    if condition:
        raise RuntimeError(f"{name}: {text} ({name}.md)")


def compute_product(group: Group, asked: torch.dtype | None) -> tuple[Tensor, torch.dtype]:
    """Return (the product in float32 or wider, the dtype to give it)."""
    x, weight = group.x, group.weight
    quantised, weight_only = group.scale is not None, group.antiquant_scale is not None
    pair = f"x of {x.dtype} and weight of {weight.dtype}"
    _check_bias(group)
    if x.dtype == torch.int8:
        refuse_if(not quantised or weight_only, f"{pair} need scale, and no antiquant_scale")
        return _product_int8(group, asked) if weight.dtype == torch.int8 else _int8_with_int4(group, asked)
    if x.dtype == torch.int32:
        return _product_int4(group, asked)
    refuse_if(quantised or group.token is not None, f"{pair} take no scale and no per_token_scale")
    if weight.dtype == x.dtype:
        refuse_if(weight_only or asked not in (None, x.dtype), f"{pair} take no antiquant_scale and give {x.dtype}")
        return _add_bias(as_wide(x) @ as_wide(weight), group.bias), x.dtype
    refuse_if(x.dtype not in HALVES or weight.dtype not in (torch.int8, torch.int32), f"{pair} do not go together")
    fits = weight_only and asked in (None, x.dtype)
    refuse_if(not fits, f"{pair} need antiquant_scale, and a result of {x.dtype}")
    return _weight_only(group), x.dtype


def _check_bias(group: Group) -> None:
    """Check that the bias has the one dtype for each dtype of x; int8 with int4 has a float32 bias, int4 none."""
    if group.bias is None or group.x.dtype == torch.int32:
        return
    assisted = (group.x.dtype, group.weight.dtype) == (torch.int8, torch.int32)
    expected = torch.float32 if assisted else BIASES[group.x.dtype]
    refuse_if(group.bias.dtype != expected, f"bias of {group.bias.dtype} with x of {group.x.dtype}, not {expected}")


def _add_bias(values: Tensor, bias: Tensor | None) -> Tensor:
    return values if bias is None else values + as_wide(bias)


def _product_int8(group: Group, asked: torch.dtype | None) -> tuple[Tensor, torch.dtype]:
    scale, bias, token = group.scale, group.bias, group.token
    assert scale is not None
    result = asked or torch.int8
    expected = {torch.int8: torch.int64, torch.float16: torch.float32, torch.bfloat16: torch.bfloat16}.get(result)
    refuse_if(scale.dtype != expected, f"scale of {scale.dtype} for a result of {result}")
    refuse_if(token is not None and result == torch.int8, "per_token_scale for a result of int8")
    values = with_bias(whole_product(group.x, group.weight), bias).float() * scale_of(scale)
    values = values if token is None else values * token.reshape(-1, 1)
    if result == torch.int8:
        return round_to_dtype(values.round() + offset_of(scale), torch.int8).float(), result
    return values, result


def scaled_by_groups(x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """Return x @ (weight * scale) of whole numbers; `scale` is (N,), or has a row for each of equal groups of rows."""
    rows = torch.atleast_2d(scale)
    size, rest = divmod(weight.shape[0], rows.shape[0])
    refuse_if(rest != 0, f"{rows.shape[0]} rows of scale for {weight.shape[0]} of the weight")
    parts = zip(x.split(size, 1), weight.split(size), rows)
    return torch.stack([whole_product(a, b).float() * row for a, b, row in parts]).sum(0)


def _int8_with_int4(group: Group, asked: torch.dtype | None) -> tuple[Tensor, torch.dtype]:
    """Return ((x - 8) @ (weight * scale) + bias) * scale per token: the bias gives back what the 8 took."""
    scale, bias, token = group.scale, group.bias, group.token
    assert scale is not None
    whole = scale.dtype == torch.int64 and bias is not None and token is not None
    refuse_if(not whole, "int4 weights need int64 scale, bias and token")
    refuse_if(asked not in HALVES, "int8 with int4 gives float16 or bfloat16")
    assert bias is not None and token is not None and asked is not None
    values = scaled_by_groups(group.x.to(torch.int16) - 8, unpacked_matrix(group.weight), scale_of(scale))
    return (values + bias.float()) * token.reshape(-1, 1), asked


def _product_int4(group: Group, asked: torch.dtype | None) -> tuple[Tensor, torch.dtype]:
    scale, pair = group.scale, (group.weight.dtype, group.bias, group.antiquant_scale)
    refuse_if(pair != (torch.int32, None, None) or scale is None, "int4 x needs int4 weight, scale, and no bias")
    assert scale is not None
    fits = scale.dtype == torch.int64 and asked in HALVES
    refuse_if(not fits, "int4 needs int64 scale, and gives float16 or bfloat16")
    assert asked is not None
    values = scaled_by_groups(unpack_int4(group.x), unpacked_matrix(group.weight), scale_of(scale))
    return (values if group.token is None else values * group.token.reshape(-1, 1)), asked


def _weight_only(group: Group) -> Tensor:
    weight = unpacked_matrix(group.weight) if group.weight.dtype == torch.int32 else group.weight
    scale, offset = group.antiquant_scale, group.antiquant_offset
    assert scale is not None
    refuse_if(scale.dtype != group.x.dtype, f"antiquant_scale of {scale.dtype} with x of {group.x.dtype}")
    fits = offset is not None and offset.shape == scale.shape
    refuse_if(not fits, "antiquant_offset should have the shape of antiquant_scale")
    assert offset is not None
    if scale.dim() == 2:
        size, rest = divmod(weight.shape[0], scale.shape[0])
        refuse_if(group.weight.dtype != torch.int32 or rest != 0, "groups of rows of weight")
        scale, offset = by_rows(scale, weight, size), by_rows(offset, weight, size)
    return _add_bias(group.x.float() @ dequantise(weight, scale, offset).float(), group.bias)


STORED = (*FLOATS, torch.int8, torch.int32)
TYPES = {"x": STORED, "weight": STORED}
ADDED = {"x": FLOATS, "weight": FLOATS}
RESULTS = (*FLOATS, torch.int8)
ACTIVATIONS: dict[int, Callable[[Tensor], Tensor]] = {
    0: lambda x: x,
    1: functional.relu,
    2: lambda x: functional.gelu(x, approximate="tanh"),
    4: lambda x: x * torch.sigmoid(1.702 * x),
    5: functional.silu,
}
EACH = ("bias", "scale", "antiquant_scale", "antiquant_offset")  # one entry per group


def ends_of(group_list: Tensor | Sequence[int], kind: int) -> list[int]:
    """Return cumulative sizes of the groups: kind 0 is cumulative already, kind 1 gives sizes."""
    values = group_list.tolist() if isinstance(group_list, Tensor) else list(group_list)
    if kind == 0:
        return [int(value) for value in values]
    if kind != 1:
        raise NotImplementedError(f"the NPU simulator lacks grouped matmul with group_list_type {kind}")
    return [sum(values[: i + 1]) for i in range(len(values))]


def spans_of(group_list: Tensor | Sequence[int], kind: int, name: str = NAME) -> list[tuple[int, int, int]]:
    """Return (group, first row, row after its last), in the order of the rows; kind 2 gives (group, size) pairs."""
    if kind == 2 and isinstance(group_list, Tensor):
        numbers, ends = group_list[:, 0].tolist(), ends_of(group_list[:, 1], 1)
    else:
        ends = ends_of(group_list, kind)
        numbers = list(range(len(ends)))
    refuse_if(not ends, "group_list should not be empty", name)
    starts = [0, *ends[:-1]]
    refuse_if(any(start > end for start, end in zip(starts, ends)), "group_list should not decrease", name)
    return list(zip(numbers, starts, ends))


def _check_arguments(arguments: dict[str, Any]) -> None:
    for name in ("offset", "activation_input", "activation_quant_scale", "activation_quant_offset"):
        if arguments.get(name):
            raise NotImplementedError(f"the NPU simulator lacks {NAME} with {name}")
    if not arguments["x"] or not arguments["weight"]:
        raise RuntimeError("Invalid inputs: neither x nor weight could be empty.")
    dtypes = {arguments["x"][0].dtype, arguments["weight"][0].dtype}
    refuse_if(arguments["group_list_type"] == 2 and dtypes != {torch.int8}, "group_list_type 2 takes int8 only")
    refuse_if(bool(arguments["act_type"]) and not arguments["per_token_scale"], "act_type needs per_token_scale")
    _check_mode(arguments)
    if arguments["group_type"] == 2:
        _check_by_columns(arguments, dtypes)


def _check_mode(arguments: dict[str, Any]) -> None:
    """Check what goes together with group_type, which is None where group_list is a list of numbers."""
    kind, split, listed = arguments["group_type"], arguments["split_item"] or 0, arguments["group_list"] is not None
    refuse_if(split not in (0, 1, 2, 3), f"split_item {split}, not 0, 1, 2 or 3")
    refuse_if(kind == 0 and split not in (2, 3), "group_type 0 needs split_item 2 or 3")
    refuse_if(kind == -1 and split not in (0, 1), "group_type -1 needs split_item 0 or 1")
    refuse_if(kind == -1 and listed, "group_type -1 takes no group_list")
    unlisted = len(arguments["x"]) == 1 and not listed
    refuse_if(kind in (0, 2) and unlisted, f"group_type {kind} with one x needs group_list")
    refuse_if(arguments["group_list_type"] == 2 and kind != 0, "group_list_type 2 needs group_type 0")


def _check_by_columns(arguments: dict[str, Any], dtypes: set[torch.dtype]) -> None:
    refuse_if(not dtypes <= {*FLOATS} or len(dtypes) != 1, "group_type 2 takes x and weight of one floating dtype")
    for name in ("scale", "per_token_scale", "antiquant_scale", "antiquant_offset"):
        refuse_if(bool(arguments[name]), f"group_type 2 takes no {name}")
    if arguments["bias"]:
        raise NotImplementedError(f"the NPU simulator lacks {NAME} in group_type 2 with bias")
    if len(arguments["x"]) != 1:
        raise NotImplementedError(f"the NPU simulator lacks {NAME} in group_type 2 with more than one x")


def _entries_of(values: Sequence[Tensor] | None, count: int, stacked: bool, name: str) -> list[Tensor | None]:
    """Return one entry per group, of a list or of the only tensor of a list where the weights are one tensor."""
    if not values:
        return [None] * count
    entries = list(values[0].unbind(0)) if stacked and len(values) == 1 and values[0].dim() > 1 else list(values)
    refuse_if(len(entries) != count, f"{name} has {len(entries)} entries for {count} groups")
    return [*entries]


def _make_groups(arguments: dict[str, Any]) -> list[Group]:
    """Return the groups along the rows of x, in the order of the rows."""
    x, weights, token = list(arguments["x"]), list(arguments["weight"]), list(arguments["per_token_scale"] or [])
    stacked = len(weights) == 1 and weights[0].dim() == 3
    weights = list(weights[0].unbind(0)) if stacked else weights
    by_name = {name: _entries_of(arguments[name], len(weights), stacked, name) for name in EACH}
    if arguments["group_list"] is None:
        refuse_if(len(x) != len(weights), f"{len(x)} x for {len(weights)} weights, without group_list")
        parts = [(i, x[i], token[i] if token else None) for i in range(len(x))]
    else:
        rows, tokens = torch.cat(x), torch.cat(token) if token else None
        spans = spans_of(arguments["group_list"], arguments["group_list_type"] or 0)
        _check_spans(spans, x, len(weights), arguments["group_list_type"] == 2)
        parts = [(i, rows[a:b], None if tokens is None else tokens[a:b]) for i, a, b in spans]
    return [
        Group(part, weights[i], token=scales, **{name: by_name[name][i] for name in EACH}) for i, part, scales in parts
    ]


def _check_spans(spans: list[tuple[int, int, int]], x: list[Tensor], weights: int, numbered: bool) -> None:
    """Check that there is a group per weight, up to the last row of x; the page's example leaves int4 rows out."""
    rows, end = sum(tensor.shape[0] for tensor in x), spans[-1][2]
    fits = len(spans) <= weights if numbered else len(spans) == weights
    refuse_if(not fits or any(not 0 <= i < weights for i, _, _ in spans), f"group_list {spans} for {weights} weights")
    left_out = end < rows and x[0].dtype == torch.int32
    refuse_if(end != rows and not left_out, f"group_list ends at {end}, not at the last of the {rows} rows of x")
    sizes, lengths = [stop - start for _, start, stop in spans], [tensor.shape[0] for tensor in x]
    refuse_if(len(x) > 1 and sizes != lengths, f"groups of {sizes} rows do not fit the tensors of x")


def _grouped_matmul(arguments: dict[str, Any]) -> list[Tensor]:
    _check_arguments(arguments)
    x, split = list(arguments["x"]), arguments["split_item"] or 0
    asked = arguments["output_dtype"]
    asked = None if asked is None else asked_dtype(asked, torch.float16, RESULTS, f"{NAME}: output_dtype")
    if arguments["group_type"] == 2:
        refuse_if(asked not in (None, x[0].dtype), f"group_type 2 gives {x[0].dtype}, not {asked}")
        spans = spans_of(arguments["group_list"], arguments["group_list_type"] or 0)
        results = [part.to(x[0].dtype) for part in _by_columns(x[0], list(arguments["weight"]), spans)]
        return [torch.stack(results)] if split in (2, 3) else results
    pairs = [compute_product(group, asked) for group in _make_groups(arguments)]
    kind = arguments["act_type"] or 0
    if kind not in ACTIVATIONS:
        raise RuntimeError(f"act_type should be 0, 1, 2, 4 or 5, but got {kind}")
    results = [ACTIVATIONS[kind](result).to(dtype) for result, dtype in pairs]
    if split not in (2, 3):
        return results
    joined = torch.cat(results)  # rows of x beyond the last group have no product: they are zero
    return [functional.pad(joined, (0, 0, 0, max(sum(tensor.shape[0] for tensor in x) - joined.shape[0], 0)))]


def _by_columns(x: Tensor, weight: list[Tensor], spans: list[tuple[int, int, int]]) -> list[Tensor]:
    """Multiply groups of columns of x (K, M transposed by the caller) with rows of the weight."""
    refuse_if(spans[-1][2] > x.shape[1], f"group_list ends beyond the {x.shape[1]} columns of x")
    refuse_if(len(weight) not in (1, len(spans)), f"{len(weight)} weights for {len(spans)} groups")
    weights = weight if len(weight) > 1 else [weight[0][start:end] for _, start, end in spans]
    return [as_wide(x[:, start:end]) @ as_wide(weights[i]) for i, start, end in spans]


@reference("npu::npu_grouped_matmul", dtypes=TYPES)
@takes(
    "Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None, Tensor[]? offset=None, "
    "Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None, Tensor[]? per_token_scale=None, "
    "Tensor? group_list=None, Tensor[]? activation_input=None, Tensor[]? activation_quant_scale=None, "
    "Tensor[]? activation_quant_offset=None, int? split_item=0, int? group_type=None, int? group_list_type=0, "
    "int? act_type=0, int[]? tuning_config=None, int? output_dtype=None"
)
def npu_grouped_matmul(call: Arguments) -> list[Tensor]:
    """A product per group; split_item 2 or 3 joins the results to one tensor. `tuning_config` is about speed only."""
    if call.group_type is None:
        raise RuntimeError("Requires manual passing group_type, current is None.")
    if call.group_type not in (-1, 0, 2):
        raise RuntimeError(f"The group type must be -1, 0 or 2, but now is [{call.group_type}]")
    return _grouped_matmul(vars(call))


@reference("npu::npu_grouped_matmul.List", dtypes=TYPES)
@derived_from(npu_grouped_matmul, without=("tuning_config",))
def npu_grouped_matmul_list(**arguments: Any) -> list[Tensor]:
    """As npu_grouped_matmul, with the ends of the groups as numbers."""
    return _grouped_matmul({**arguments, "group_list": list(arguments["group_list"] or ()) or None})


@reference("npu::npu_grouped_matmul_add", dtypes=ADDED)
@reference("npu::npu_grouped_matmul_add_", dtypes=ADDED, writes=("input",))
@takes(
    "Tensor input, Tensor x, Tensor weight, Tensor group_list, *, bool transpose_x=True, bool transpose_weight=False, "
    "int group_type=2, int? group_list_type=0"
)
def npu_grouped_matmul_add(call: Arguments) -> Tensor:
    """input + the product x_g^T @ weight_g of each group of rows: a weight's gradient, accumulated."""
    name = "npu_grouped_matmul_add"
    refuse_if(call.group_type != 2, f"group_type {call.group_type}, not 2", name)
    if not call.transpose_x or call.transpose_weight:
        raise RuntimeError("npu_grouped_matmul_add supports transpose_x=True and transpose_weight=False only")
    spans = spans_of(call.group_list, call.group_list_type or 0, name)
    refuse_if(spans[-1][2] > call.x.shape[0], f"group_list ends beyond the {call.x.shape[0]} rows of x", name)
    products = [as_wide(call.x[start:end]).t() @ as_wide(call.weight[start:end]) for _, start, end in spans]
    return (as_wide(call.input) + torch.stack(products).reshape(call.input.shape)).to(call.input.dtype)
