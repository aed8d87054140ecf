"""One matrix product per group of rows, as mixtures of experts use. Formulas: npu_grouped_matmul.md and its neighbours.

Not here, and raised: quantised weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import wide
from .registry import FLOATS, reference

TYPES = {"x": FLOATS, "weight": FLOATS}
ACTIVATIONS = {1: "relu", 2: "gelu_tanh", 4: "fast_gelu", 5: "silu"}


def grouped(
    x: Tensor, weights: Sequence[Tensor], ends: Sequence[int], biases: Sequence[Tensor | None] | None = None
) -> list[Tensor]:
    """Rows of x up to each end, times the weight of that group."""
    starts, results = [0, *ends[:-1]], []
    for index, (start, end) in enumerate(zip(starts, ends)):
        result = wide(x[start:end]) @ wide(weights[index])
        bias = None if biases is None else biases[index]
        results.append(result if bias is None else result + wide(bias))
    return results


def ends_of(group_list: Tensor | Sequence[int], kind: int) -> list[int]:
    """Cumulative sizes of the groups: kind 0 is cumulative already, kind 1 gives sizes, kind 2 (group, size) pairs."""
    values = group_list.tolist() if isinstance(group_list, Tensor) else list(group_list)
    if kind == 0:
        return [int(value) for value in values]
    if kind != 1:
        raise NotImplementedError(f"the NPU simulator lacks grouped matmul with group_list_type {kind}")
    return [sum(values[: i + 1]) for i in range(len(values))]


def _activated(x: Tensor, kind: int) -> Tensor:
    if kind == 0:
        return x
    if kind not in ACTIVATIONS:
        raise RuntimeError(f"act_type should be 0, 1, 2, 4 or 5, but got {kind}")
    if kind == 2:
        return functional.gelu(x, approximate="tanh")
    return {1: functional.relu, 4: lambda value: value * torch.sigmoid(1.702 * value), 5: functional.silu}[kind](x)


def _refuse_quantised(given: dict[str, Any]) -> None:
    names = ("scale", "offset", "antiquant_scale", "antiquant_offset", "per_token_scale", "activation_input")
    for name in (*names, "activation_quant_scale", "activation_quant_offset"):
        if given.get(name):
            raise NotImplementedError(f"the NPU simulator lacks npu_grouped_matmul with {name}")


def _grouped_matmul(given: dict[str, Any]) -> list[Tensor]:
    _refuse_quantised(given)
    x, weight, biases = list(given["x"]), list(given["weight"]), given["bias"]
    group_list, split, group_type = given["group_list"], given["split_item"] or 0, given["group_type"]
    dtype, kind = x[0].dtype, given["group_list_type"] or 0
    if group_list is None:
        results = [wide(one) @ wide(other) for one, other in zip(x, weight)]
        results = results if not biases else [one + wide(bias) for one, bias in zip(results, biases)]
    elif group_type == 2:
        results = _by_columns(x[0], weight, ends_of(group_list, kind))
    else:
        weights = list(weight[0].unbind(0)) if len(weight) == 1 and weight[0].dim() == 3 else weight
        parts = biases if not biases or len(biases) > 1 else list(biases[0].unbind(0))
        results = grouped(_rows(x), weights, ends_of(group_list, kind), parts)
    asked = _dtype(given["output_dtype"], dtype)
    results = [_activated(result, given["act_type"] or 0).to(asked) for result in results]
    if split not in (2, 3):
        return results
    return [torch.stack(results) if group_type == 2 else torch.cat(_all_rows(results, x, group_list))]


def _dtype(asked: torch.dtype | int | None, otherwise: torch.dtype) -> torch.dtype:
    """PyTorch passes a dtype for an int argument as its number (c10/core/ScalarType.h)."""
    if asked is None or isinstance(asked, torch.dtype):
        return asked or otherwise
    numbers = {5: torch.float16, 6: torch.float32, 15: torch.bfloat16}
    if asked not in numbers:
        raise NotImplementedError(f"the NPU simulator lacks npu_grouped_matmul with output_dtype {asked}")
    return numbers[asked]


def _all_rows(results: list[Tensor], x: list[Tensor], group_list: Any) -> list[Tensor]:
    """Rows of x beyond the last group have no product; here they are zero."""
    missing = sum(one.shape[0] for one in x) - sum(result.shape[0] for result in results)
    return [*results, results[0].new_zeros(missing, results[0].shape[-1])] if missing > 0 else results


def _rows(x: list[Tensor]) -> Tensor:
    return x[0] if len(x) == 1 else torch.cat(x)


def _by_columns(x: Tensor, weight: list[Tensor], ends: list[int]) -> list[Tensor]:
    """Groups along the inner dimension: columns of x (K, M transposed by the caller) times rows of the weight."""
    bounds = enumerate(zip([0, *ends[:-1]], ends))
    return [wide(x[:, start:end]) @ wide(_inner(weight, i, start, end)) for i, (start, end) in bounds]


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
    output_dtype: torch.dtype | int | None = None,
) -> list[Tensor]:  # fmt: skip
    """A product per group; split_item 2 or 3 joins the results to one tensor."""
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
    input: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, kind: int, transposed: tuple[bool, bool]
) -> Tensor:
    if transposed != (True, False):
        raise RuntimeError("npu_grouped_matmul_add supports transpose_x=True and transpose_weight=False only")
    ends = ends_of(group_list, kind)
    pairs = zip([0, *ends[:-1]], ends)
    products = [wide(x[start:end]).t() @ wide(weight[start:end]) for start, end in pairs]
    return (wide(input) + torch.stack(products).reshape(input.shape)).to(input.dtype)


@reference("npu::npu_grouped_matmul_add", dtypes=TYPES)
def npu_grouped_matmul_add(
    input: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, *, transpose_x: bool = True,
    transpose_weight: bool = False, group_type: int = 2, group_list_type: int | None = 0,
) -> Tensor:  # fmt: skip
    """input + the product x_g^T @ weight_g of each group of rows: a weight's gradient, accumulated."""
    return _added(input, x, weight, group_list, group_list_type or 0, (transpose_x, transpose_weight))


@reference("npu::npu_grouped_matmul_add_", dtypes=TYPES, writes=("input",))
def npu_grouped_matmul_add_(
    input: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, *, transpose_x: bool = True,
    transpose_weight: bool = False, group_type: int = 2, group_list_type: int | None = 0,
) -> Tensor:  # fmt: skip
    return _added(input, x, weight, group_list, group_list_type or 0, (transpose_x, transpose_weight))
