"""One matrix product per group of rows, as mixtures of experts use. Formulas: npu_grouped_matmul.md and neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .grouped_products import NAME, Group, product, refuse
from .low_bits import asked_dtype
from .numeric import wide
from .registry import FLOATS, reference

STORED = (*FLOATS, torch.int8, torch.int32)
TYPES = {"x": STORED, "weight": STORED}
ADDED = {"x": FLOATS, "weight": FLOATS}
RESULTS = (*FLOATS, torch.int8)
ACTIVATIONS = {1: "relu", 2: "gelu_tanh", 4: "fast_gelu", 5: "silu"}
EACH = ("bias", "scale", "antiquant_scale", "antiquant_offset")  # one entry per group


def ends_of(group_list: Tensor | Sequence[int], kind: int) -> list[int]:
    """Cumulative sizes of the groups: kind 0 is cumulative already, kind 1 gives sizes."""
    values = group_list.tolist() if isinstance(group_list, Tensor) else list(group_list)
    if kind == 0:
        return [int(value) for value in values]
    if kind != 1:
        raise NotImplementedError(f"the NPU simulator lacks grouped matmul with group_list_type {kind}")
    return [sum(values[: i + 1]) for i in range(len(values))]


def spans_of(group_list: Tensor | Sequence[int], kind: int, name: str = NAME) -> list[tuple[int, int, int]]:
    """(group, its first row, the row after its last), in the order of the rows; kind 2 gives (group, size) pairs."""
    if kind == 2 and isinstance(group_list, Tensor):
        numbers, ends = group_list[:, 0].tolist(), ends_of(group_list[:, 1], 1)
    else:
        ends = ends_of(group_list, kind)
        numbers = list(range(len(ends)))
    refuse(not ends, "group_list should not be empty", name)
    starts = [0, *ends[:-1]]
    refuse(any(start > end for start, end in zip(starts, ends)), "group_list should not decrease", name)
    return list(zip(numbers, starts, ends))


def _activated(x: Tensor, kind: int) -> Tensor:
    if kind == 0:
        return x
    if kind not in ACTIVATIONS:
        raise RuntimeError(f"act_type should be 0, 1, 2, 4 or 5, but got {kind}")
    if kind == 2:
        return functional.gelu(x, approximate="tanh")
    return {1: functional.relu, 4: lambda value: value * torch.sigmoid(1.702 * value), 5: functional.silu}[kind](x)


def _check(given: dict[str, Any]) -> None:
    for name in ("offset", "activation_input", "activation_quant_scale", "activation_quant_offset"):
        if given.get(name):
            raise NotImplementedError(f"the NPU simulator lacks {NAME} with {name}")
    if not given["x"] or not given["weight"]:
        raise RuntimeError("Invalid inputs: neither x nor weight could be empty.")
    dtypes = {given["x"][0].dtype, given["weight"][0].dtype}
    refuse(given["group_list_type"] == 2 and dtypes != {torch.int8}, "group_list_type 2 takes int8 only")
    refuse(bool(given["act_type"]) and not given["per_token_scale"], "act_type needs per_token_scale")
    _check_mode(given)
    if given["group_type"] == 2:
        _check_by_columns(given, dtypes)


def _check_mode(given: dict[str, Any]) -> None:
    """What goes together with group_type, which is None where group_list is a list of numbers."""
    kind, split, listed = given["group_type"], given["split_item"] or 0, given["group_list"] is not None
    refuse(split not in (0, 1, 2, 3), f"split_item {split}, not 0, 1, 2 or 3")
    refuse(kind == 0 and split not in (2, 3), "group_type 0 needs split_item 2 or 3")
    refuse(kind == -1 and split not in (0, 1), "group_type -1 needs split_item 0 or 1")
    refuse(kind == -1 and listed, "group_type -1 takes no group_list")
    refuse(kind in (0, 2) and len(given["x"]) == 1 and not listed, f"group_type {kind} with one x needs group_list")
    refuse(given["group_list_type"] == 2 and kind != 0, "group_list_type 2 needs group_type 0")


def _check_by_columns(given: dict[str, Any], dtypes: set[torch.dtype]) -> None:
    refuse(not dtypes <= {*FLOATS} or len(dtypes) != 1, "group_type 2 takes x and weight of one floating dtype")
    for name in ("scale", "per_token_scale", "antiquant_scale", "antiquant_offset"):
        refuse(bool(given[name]), f"group_type 2 takes no {name}")
    if given["bias"]:
        raise NotImplementedError(f"the NPU simulator lacks {NAME} in group_type 2 with bias")
    if len(given["x"]) != 1:
        raise NotImplementedError(f"the NPU simulator lacks {NAME} in group_type 2 with more than one x")


def _entries(values: Sequence[Tensor] | None, count: int, stacked: bool, name: str) -> list[Tensor | None]:
    """One entry per group, of a list or of the only tensor of a list where the weights are one tensor."""
    if not values:
        return [None] * count
    found = list(values[0].unbind(0)) if stacked and len(values) == 1 and values[0].dim() > 1 else list(values)
    refuse(len(found) != count, f"{name} has {len(found)} entries for {count} groups")
    return [*found]


def _groups(given: dict[str, Any]) -> list[Group]:
    """The groups along the rows of x, in the order of the rows."""
    x, weights, token = list(given["x"]), list(given["weight"]), list(given["per_token_scale"] or [])
    stacked = len(weights) == 1 and weights[0].dim() == 3
    weights = list(weights[0].unbind(0)) if stacked else weights
    each = {name: _entries(given[name], len(weights), stacked, name) for name in EACH}
    if given["group_list"] is None:
        refuse(len(x) != len(weights), f"{len(x)} x for {len(weights)} weights, without group_list")
        parts = [(i, x[i], token[i] if token else None) for i in range(len(x))]
    else:
        rows, tokens = torch.cat(x), torch.cat(token) if token else None
        spans = spans_of(given["group_list"], given["group_list_type"] or 0)
        _check_spans(spans, x, len(weights), given["group_list_type"] == 2)
        parts = [(i, rows[a:b], None if tokens is None else tokens[a:b]) for i, a, b in spans]
    return [
        Group(part, weights[i], token=scales, **{name: each[name][i] for name in EACH}) for i, part, scales in parts
    ]


def _check_spans(spans: list[tuple[int, int, int]], x: list[Tensor], weights: int, numbered: bool) -> None:
    """A group per weight, up to the last row of x; the page's example leaves rows of an int4 x out."""
    rows, end = sum(one.shape[0] for one in x), spans[-1][2]
    fits = len(spans) <= weights if numbered else len(spans) == weights
    refuse(not fits or any(not 0 <= i < weights for i, _, _ in spans), f"group_list {spans} for {weights} weights")
    left_out = end < rows and x[0].dtype == torch.int32
    refuse(end != rows and not left_out, f"group_list ends at {end}, not at the last of the {rows} rows of x")
    sizes = [stop - start for _, start, stop in spans]
    refuse(len(x) > 1 and sizes != [one.shape[0] for one in x], f"groups of {sizes} rows do not fit the tensors of x")


def _grouped_matmul(given: dict[str, Any]) -> list[Tensor]:
    _check(given)
    x, split = list(given["x"]), given["split_item"] or 0
    asked = given["output_dtype"]
    asked = None if asked is None else asked_dtype(asked, torch.float16, RESULTS, f"{NAME}: output_dtype")
    if given["group_type"] == 2:
        refuse(asked not in (None, x[0].dtype), f"group_type 2 gives {x[0].dtype}, not {asked}")
        spans = spans_of(given["group_list"], given["group_list_type"] or 0)
        results = [part.to(x[0].dtype) for part in _by_columns(x[0], list(given["weight"]), spans)]
        return [torch.stack(results)] if split in (2, 3) else results
    pairs = [product(group, asked) for group in _groups(given)]
    results = [_activated(result, given["act_type"] or 0).to(dtype) for result, dtype in pairs]
    return [torch.cat(_all_rows(results, x))] if split in (2, 3) else results


def _all_rows(results: list[Tensor], x: list[Tensor]) -> list[Tensor]:
    """Rows of x beyond the last group have no product; here they are zero."""
    missing = sum(one.shape[0] for one in x) - sum(result.shape[0] for result in results)
    return [*results, results[0].new_zeros(missing, results[0].shape[-1])] if missing > 0 else results


def _by_columns(x: Tensor, weight: list[Tensor], spans: list[tuple[int, int, int]]) -> list[Tensor]:
    """Groups along the inner dimension: columns of x (K, M transposed by the caller) times rows of the weight."""
    refuse(spans[-1][2] > x.shape[1], f"group_list ends beyond the {x.shape[1]} columns of x")
    refuse(len(weight) not in (1, len(spans)), f"{len(weight)} weights for {len(spans)} groups")
    return [wide(x[:, start:end]) @ wide(_inner(weight, i, start, end)) for i, start, end in spans]


def _inner(weight: list[Tensor], index: int, start: int, end: int) -> Tensor:
    return weight[index] if len(weight) > 1 else weight[0][start:end]


@reference("npu::npu_grouped_matmul", dtypes=TYPES)
def npu_grouped_matmul(
    x: Sequence[Tensor], weight: Sequence[Tensor], *, bias: Sequence[Tensor] | None = None,
    scale: Sequence[Tensor] | None = None, offset: Sequence[Tensor] | None = None,
    antiquant_scale: Sequence[Tensor] | None = None, antiquant_offset: Sequence[Tensor] | None = None,
    per_token_scale: Sequence[Tensor] | None = None, group_list: Tensor | None = None,
    activation_input: Sequence[Tensor] | None = None, activation_quant_scale: Sequence[Tensor] | None = None,
    activation_quant_offset: Sequence[Tensor] | None = None, split_item: int | None = 0,
    group_type: int | None = None, group_list_type: int | None = 0, act_type: int | None = 0,
    tuning_config: Sequence[int] | None = None, output_dtype: torch.dtype | int | None = None,
) -> list[Tensor]:  # fmt: skip
    """A product per group; split_item 2 or 3 joins the results to one tensor. `tuning_config` is about speed only."""
    if group_type is None:
        raise RuntimeError("Requires manual passing group_type, current is None.")
    if group_type not in (-1, 0, 2):
        raise RuntimeError(f"The group type must be -1, 0 or 2, but now is [{group_type}]")
    return _grouped_matmul(locals())


@reference("npu::npu_grouped_matmul.List", dtypes=TYPES)
def npu_grouped_matmul_list(
    x: Sequence[Tensor], weight: Sequence[Tensor], *, bias: Sequence[Tensor] | None = None,
    scale: Sequence[Tensor] | None = None, offset: Sequence[Tensor] | None = None,
    antiquant_scale: Sequence[Tensor] | None = None, antiquant_offset: Sequence[Tensor] | None = None,
    per_token_scale: Sequence[Tensor] | None = None, group_list: Sequence[int] | None = None,
    activation_input: Sequence[Tensor] | None = None, activation_quant_scale: Sequence[Tensor] | None = None,
    activation_quant_offset: Sequence[Tensor] | None = None, split_item: int | None = 0,
    group_type: int | None = None, group_list_type: int | None = 0, act_type: int | None = 0,
    output_dtype: torch.dtype | None = None,
) -> list[Tensor]:  # fmt: skip
    return _grouped_matmul(dict(locals(), group_list=list(group_list) if group_list else None))


def _added(
    input: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, kinds: tuple[int, int], transposed: tuple[bool, bool]
) -> Tensor:
    kind, name = kinds[1], "npu_grouped_matmul_add"
    refuse(kinds[0] != 2, f"group_type {kinds[0]}, not 2", name)
    if transposed != (True, False):
        raise RuntimeError("npu_grouped_matmul_add supports transpose_x=True and transpose_weight=False only")
    spans = spans_of(group_list, kind, name)
    refuse(spans[-1][2] > x.shape[0], f"group_list ends beyond the {x.shape[0]} rows of x", name)
    products = [wide(x[start:end]).t() @ wide(weight[start:end]) for _, start, end in spans]
    return (wide(input) + torch.stack(products).reshape(input.shape)).to(input.dtype)


@reference("npu::npu_grouped_matmul_add", dtypes=ADDED)
def npu_grouped_matmul_add(
    input: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, *, transpose_x: bool = True,
    transpose_weight: bool = False, group_type: int = 2, group_list_type: int | None = 0,
) -> Tensor:  # fmt: skip
    """input + the product x_g^T @ weight_g of each group of rows: a weight's gradient, accumulated."""
    return _added(input, x, weight, group_list, (group_type, group_list_type or 0), (transpose_x, transpose_weight))


@reference("npu::npu_grouped_matmul_add_", dtypes=ADDED, writes=("input",))
def npu_grouped_matmul_add_(
    input: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, *, transpose_x: bool = True,
    transpose_weight: bool = False, group_type: int = 2, group_list_type: int | None = 0,
) -> Tensor:  # fmt: skip
    return _added(input, x, weight, group_list, (group_type, group_list_type or 0), (transpose_x, transpose_weight))
