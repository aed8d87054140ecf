"""One matrix product per group of rows, as mixtures of experts use. Formulas: npu_grouped_matmul.md and neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .grouped_products import NAME, Group, compute_product, refuse_if
from .low_bits import asked_dtype
from .numeric import as_wide
from .registry import FLOATS, reference

STORED = (*FLOATS, torch.int8, torch.int32)
TYPES = {"x": STORED, "weight": STORED}
ADDED = {"x": FLOATS, "weight": FLOATS}
RESULTS = (*FLOATS, torch.int8)
ACTIVATIONS = {1: "relu", 2: "gelu_tanh", 4: "fast_gelu", 5: "silu"}
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
    """Return (group, its first row, the row after its last), in the order of the rows; kind 2 gives (group, size)
    pairs.
    """
    if kind == 2 and isinstance(group_list, Tensor):
        numbers, ends = group_list[:, 0].tolist(), ends_of(group_list[:, 1], 1)
    else:
        ends = ends_of(group_list, kind)
        numbers = list(range(len(ends)))
    refuse_if(not ends, "group_list should not be empty", name)
    starts = [0, *ends[:-1]]
    refuse_if(any(start > end for start, end in zip(starts, ends)), "group_list should not decrease", name)
    return list(zip(numbers, starts, ends))


def _activate(x: Tensor, kind: int) -> Tensor:
    if kind == 0:
        return x
    if kind not in ACTIVATIONS:
        raise RuntimeError(f"act_type should be 0, 1, 2, 4 or 5, but got {kind}")
    if kind == 2:
        return functional.gelu(x, approximate="tanh")
    return {1: functional.relu, 4: lambda value: value * torch.sigmoid(1.702 * value), 5: functional.silu}[kind](x)


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
    refuse_if(
        kind in (0, 2) and len(arguments["x"]) == 1 and not listed, f"group_type {kind} with one x needs group_list"
    )
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
    sizes = [stop - start for _, start, stop in spans]
    refuse_if(
        len(x) > 1 and sizes != [tensor.shape[0] for tensor in x], f"groups of {sizes} rows do not fit the tensors of x"
    )


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
    results = [_activate(result, arguments["act_type"] or 0).to(dtype) for result, dtype in pairs]
    return [torch.cat(_all_rows(results, x))] if split in (2, 3) else results


def _all_rows(results: list[Tensor], x: list[Tensor]) -> list[Tensor]:
    """Add zero rows for those of x beyond the last group, which have no product."""
    missing = sum(tensor.shape[0] for tensor in x) - sum(result.shape[0] for result in results)
    return [*results, results[0].new_zeros(missing, results[0].shape[-1])] if missing > 0 else results


def _by_columns(x: Tensor, weight: list[Tensor], spans: list[tuple[int, int, int]]) -> list[Tensor]:
    """Multiply groups of columns of x (K, M transposed by the caller) with rows of the weight."""
    refuse_if(spans[-1][2] > x.shape[1], f"group_list ends beyond the {x.shape[1]} columns of x")
    refuse_if(len(weight) not in (1, len(spans)), f"{len(weight)} weights for {len(spans)} groups")
    return [as_wide(x[:, start:end]) @ as_wide(_inner_weight(weight, i, start, end)) for i, start, end in spans]


def _inner_weight(weight: list[Tensor], index: int, start: int, end: int) -> Tensor:
    return weight[index] if len(weight) > 1 else weight[0][start:end]


@reference("npu::npu_grouped_matmul", dtypes=TYPES)
def npu_grouped_matmul(
    x: Sequence[Tensor],
    weight: Sequence[Tensor],
    *,
    bias: Sequence[Tensor] | None = None,
    scale: Sequence[Tensor] | None = None,
    offset: Sequence[Tensor] | None = None,
    antiquant_scale: Sequence[Tensor] | None = None,
    antiquant_offset: Sequence[Tensor] | None = None,
    per_token_scale: Sequence[Tensor] | None = None,
    group_list: Tensor | None = None,
    activation_input: Sequence[Tensor] | None = None,
    activation_quant_scale: Sequence[Tensor] | None = None,
    activation_quant_offset: Sequence[Tensor] | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    tuning_config: Sequence[int] | None = None,
    output_dtype: torch.dtype | int | None = None,
) -> list[Tensor]:
    """A product per group; split_item 2 or 3 joins the results to one tensor. `tuning_config` is about speed only."""
    if group_type is None:
        raise RuntimeError("Requires manual passing group_type, current is None.")
    if group_type not in (-1, 0, 2):
        raise RuntimeError(f"The group type must be -1, 0 or 2, but now is [{group_type}]")
    return _grouped_matmul(locals())


@reference("npu::npu_grouped_matmul.List", dtypes=TYPES)
def npu_grouped_matmul_list(
    x: Sequence[Tensor],
    weight: Sequence[Tensor],
    *,
    bias: Sequence[Tensor] | None = None,
    scale: Sequence[Tensor] | None = None,
    offset: Sequence[Tensor] | None = None,
    antiquant_scale: Sequence[Tensor] | None = None,
    antiquant_offset: Sequence[Tensor] | None = None,
    per_token_scale: Sequence[Tensor] | None = None,
    group_list: Sequence[int] | None = None,
    activation_input: Sequence[Tensor] | None = None,
    activation_quant_scale: Sequence[Tensor] | None = None,
    activation_quant_offset: Sequence[Tensor] | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    output_dtype: torch.dtype | None = None,
) -> list[Tensor]:
    return _grouped_matmul(dict(locals(), group_list=list(group_list) if group_list else None))


def _add_products(
    input: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, kinds: tuple[int, int], transposed: tuple[bool, bool]
) -> Tensor:
    kind, name = kinds[1], "npu_grouped_matmul_add"
    refuse_if(kinds[0] != 2, f"group_type {kinds[0]}, not 2", name)
    if transposed != (True, False):
        raise RuntimeError("npu_grouped_matmul_add supports transpose_x=True and transpose_weight=False only")
    spans = spans_of(group_list, kind, name)
    refuse_if(spans[-1][2] > x.shape[0], f"group_list ends beyond the {x.shape[0]} rows of x", name)
    products = [as_wide(x[start:end]).t() @ as_wide(weight[start:end]) for _, start, end in spans]
    return (as_wide(input) + torch.stack(products).reshape(input.shape)).to(input.dtype)


@reference("npu::npu_grouped_matmul_add", dtypes=ADDED)
def npu_grouped_matmul_add(
    input: Tensor,
    x: Tensor,
    weight: Tensor,
    group_list: Tensor,
    *,
    transpose_x: bool = True,
    transpose_weight: bool = False,
    group_type: int = 2,
    group_list_type: int | None = 0,
) -> Tensor:
    """input + the product x_g^T @ weight_g of each group of rows: a weight's gradient, accumulated."""
    return _add_products(
        input, x, weight, group_list, (group_type, group_list_type or 0), (transpose_x, transpose_weight)
    )


@reference("npu::npu_grouped_matmul_add_", dtypes=ADDED, writes=("input",))
def npu_grouped_matmul_add_(
    input: Tensor,
    x: Tensor,
    weight: Tensor,
    group_list: Tensor,
    *,
    transpose_x: bool = True,
    transpose_weight: bool = False,
    group_type: int = 2,
    group_list_type: int | None = 0,
) -> Tensor:
    return _add_products(
        input, x, weight, group_list, (group_type, group_list_type or 0), (transpose_x, transpose_weight)
    )
