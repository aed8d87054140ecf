"""Layers that give quantised rows. Formulas: npu_add_rms_norm_dynamic_quant.md, npu_swiglu_quant.md
(registry.DOCUMENTS).

What the NPU leaves without a value (an output that is switched off, the scale of a static quantisation) is zero here.

Whole numbers dequantised, gated and quantised again, row by row. Formulas: npu_dequant_swiglu_quant.md
(registry.DOCUMENTS). Rows beyond the groups are zero.

A grouped product of quantised matrices, gated and quantised row by row.

Formulas: npu_grouped_matmul_swiglu_quant_v2.md (registry.DOCUMENTS). There are no private layouts here: a weight is
(E, K, N), also where the NPU wants FRACTAL_NZ, and one given as five dimensions is refused. Rows beyond the last group,
which the NPU leaves as they were, are zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from .grouped_matmul import refuse_if, scaled_by_groups, spans_of
from .norms import rms_norm
from .numeric import as_wide
from .quantisation import (
    INT4,
    LARGEST,
    asked_dtype,
    by_largest,
    round_to_dtype,
    rows_of_groups,
    scale_of,
    unpack_int4,
    unpacked_matrix,
)
from .registry import FLOATS, HALVES, Arguments, reference, takes

NORM = "npu_add_rms_norm_dynamic_quant"


def _outputs_asked(mask: Sequence[bool] | None, first: Tensor | None, second: Tensor | None) -> tuple[bool, bool]:
    """Return which of the two quantised outputs are asked for."""
    if mask is None:
        return True, first is not None and second is not None
    if not any(mask):
        raise RuntimeError("When the output_mask is not empty, at least one of y1 and y2 must be output.")
    if (first is not None and not mask[0]) or (second is not None and not mask[1]):
        raise RuntimeError(f"{NORM}: output_mask should be True where there is a smooth_scale")
    return mask[0], mask[1]


@reference(
    "npu::npu_add_rms_norm_dynamic_quant",
    dtypes=dict.fromkeys(("x1", "x2", "gamma", "smooth_scale1", "smooth_scale2", "beta"), HALVES),
)
@takes(
    "Tensor x1, Tensor x2, Tensor gamma, *, Tensor? smooth_scale1=None, Tensor? smooth_scale2=None, "
    "Tensor? beta=None, float epsilon=1e-6, bool[]? output_mask=None, int? y_dtype=None"
)
def npu_add_rms_norm_dynamic_quant(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(y1, y2, x1 + x2, scale1, scale2): the normalised sum times each smoothing scale, quantised row by row."""
    if call.x1.shape != call.x2.shape or not 2 <= call.x1.dim() <= 8:
        raise RuntimeError(f"{NORM}: x1 and x2 should have one shape, of 2 to 8 dimensions")
    for vector in (call.gamma, call.smooth_scale1, call.smooth_scale2, call.beta):
        if vector is not None and (vector.shape != call.x1.shape[-1:] or vector.dtype != call.x1.dtype):
            raise RuntimeError(f"{NORM}: gamma, beta and the smooth scales should have the dtype and columns of x1")
    kind = asked_dtype(call.y_dtype, torch.int8, (torch.int8, INT4), f"{NORM}: y_dtype")
    total = as_wide(call.x1) + as_wide(call.x2)
    normal = rms_norm(total, call.gamma, call.epsilon)[0]
    normal = normal if call.beta is None else normal + as_wide(call.beta)
    nothing = torch.zeros((), dtype=torch.int32 if kind == INT4 else torch.int8), torch.zeros((), dtype=torch.float32)
    smooths = call.smooth_scale1, call.smooth_scale2
    results = [
        by_largest(normal if smooth is None else normal * as_wide(smooth), kind) if asked else nothing
        for asked, smooth in zip(_outputs_asked(call.output_mask, *smooths), smooths)
    ]
    return results[0][0], results[1][0], total.to(call.x1.dtype), results[0][1], results[1][1]


def of_rows(values: Tensor, groups: Tensor, neutral: float) -> Tensor:
    """Return the entry of each row's group; rows beyond the last group have the neutral one."""
    rows = values.float().reshape(values.shape[0], -1)
    return torch.cat([rows, torch.full_like(rows[:1], neutral)])[groups]


@reference(
    "npu::npu_swiglu_quant",
    dtypes={"x": FLOATS, "smooth_scales": (torch.float32,), "offsets": (torch.float32,), "group_index": (torch.int32,)},
)
@takes(
    "Tensor x, *, Tensor? smooth_scales=None, Tensor? offsets=None, Tensor? group_index=None, "
    "bool activate_left=False, int quant_mode=0, int group_list_type=0, int? dst_type=None"
)
def npu_swiglu_quant(call: Arguments) -> tuple[Tensor, Tensor]:
    """(silu(one half) * the other, smoothed, in int8 or two int4 in an int8; 127 over the largest of a row)."""
    kind = asked_dtype(call.dst_type, torch.int8, (torch.int8, INT4), "npu_swiglu_quant: dst_type")
    _check_swiglu(call, 4 if kind == INT4 else 2)
    first, second = as_wide(call.x).reshape(-1, call.x.shape[-1]).chunk(2, -1)
    gate, other = (first, second) if call.activate_left else (second, first)
    values = functional.silu(gate) * other
    ends = [values.shape[0]] if call.group_index is None else call.group_index.tolist()
    ends = torch.tensor(ends).cumsum(0).tolist() if call.group_list_type == 1 and call.group_index is not None else ends
    groups = rows_of_groups(ends, values.shape[0], "npu_swiglu_quant: group_index")
    values = values if call.smooth_scales is None else values * of_rows(call.smooth_scales, groups, 1)
    largest, scale = LARGEST[kind], values.new_zeros(values.shape[0])
    if call.quant_mode == 1:
        scale = largest / values.abs().amax(-1)
        values = values * scale[:, None]
    elif call.offsets is not None:
        values = values + of_rows(call.offsets, groups, 0)
    whole = round_to_dtype(values.clamp(-1 - largest, largest), torch.int8)
    if kind == INT4:  # pairs in an int8, the first in the lower bits
        whole = (whole[..., ::2] & 15) | (whole[..., 1::2] << 4)
    return whole.reshape(*call.x.shape[:-1], -1), scale.reshape(call.x.shape[:-1])


def _check_swiglu(call: Arguments, by: int) -> None:
    name, x, half, group_index = "npu_swiglu_quant", call.x, call.x.shape[-1] // 2, call.group_index
    smooth, offsets, mode, kind = call.smooth_scales, call.offsets, call.quant_mode, call.group_list_type
    if mode not in (0, 1) or kind not in (0, 1):
        raise RuntimeError(f"{name}: quant_mode and group_list_type should be 0 or 1, but got {mode} and {kind}")
    if x.dim() < 2 or x.shape[-1] % by or x.shape[-1] > 8192:
        raise RuntimeError(f"{name}: the last dimension of x should be divisible by {by} and at most 8192")
    groups = 1 if group_index is None else group_index.numel()
    if mode == 0 and (smooth is None or offsets is None or smooth.shape != offsets.shape):
        raise RuntimeError(f"{name}: smooth_scales and offsets should have the same shape when quant_mode is 0")
    shapes = [(groups, half)] + ([(groups,)] if mode == 0 or groups == half == 1 else [])
    if smooth is not None and tuple(smooth.shape) not in shapes:
        raise RuntimeError(f"{name}: smooth_scales of the shape {tuple(smooth.shape)}, not one of {shapes}")


SWIGLU = "npu_dequant_swiglu_quant"


@reference(
    "npu::npu_dequant_swiglu_quant",
    dtypes={
        "x": (torch.int32, *HALVES),
        "weight_scale": (torch.float32,),
        "activation_scale": (torch.float32,),
        "bias": (torch.int32,),
        "quant_scale": FLOATS,
        "quant_offset": FLOATS,
        "group_index": (torch.int64,),
    },
)
@takes(
    "Tensor x, *, Tensor? weight_scale=None, Tensor? activation_scale=None, Tensor? bias=None, "
    "Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? group_index=None, bool activate_left=False, "
    "int quant_mode=0, int swiglu_mode=0, float clamp_limit=7.0, float glu_alpha=1.702, float glu_bias=1.0"
)
def npu_dequant_swiglu_quant(call: Arguments) -> tuple[Tensor, Tensor]:
    """(int8 rows, their scales) of the gated, dequantised x; group_index holds the number of rows of each group."""
    if call.quant_mode not in (0, 1):
        raise RuntimeError(f"quant_mode only support 0 or 1, but got {call.quant_mode}")
    half = call.x.shape[-1] // 2
    if (
        call.x.dim() != 2
        or call.x.shape[-1] % 2
        or (call.group_index is not None and (half % 64 or half > 10496 or call.bias is not None))
    ):
        raise RuntimeError(
            f"{SWIGLU}: x of {call.x.shape} with this group_index and bias (npu_dequant_swiglu_quant.md)"
        )
    sizes = [call.x.shape[0]] if call.group_index is None else call.group_index.tolist()
    groups = rows_of_groups(
        torch.tensor(sizes).cumsum(0).tolist(), call.x.shape[0], f"{SWIGLU}: the sum of group_index"
    )
    values = _dequantise(call.x, call.weight_scale, call.activation_scale, call.bias, groups, len(sizes))
    values = _apply_gate(values, call.activate_left, call.swiglu_mode, call.clamp_limit, call.glu_alpha, call.glu_bias)
    values = values * (groups < len(sizes))[:, None]
    if call.quant_mode == 1:
        if call.quant_offset is not None:
            raise RuntimeError(f"{SWIGLU}: quant_offset is for quant_mode 0 (static) alone")
        if call.quant_scale is not None:
            _check_rows_of_groups("quant_scale", call.quant_scale, (len(sizes), half))
            values = values * of_rows(torch.atleast_2d(call.quant_scale), groups, 1)
        return by_largest(values, torch.int8)
    none = torch.zeros(call.x.shape[0], dtype=torch.float32)
    return _quantise_static(values, call.quant_scale, call.quant_offset, groups, len(sizes)), none


def _quantise_static(values: Tensor, scale: Tensor | None, offset: Tensor | None, groups: Tensor, count: int) -> Tensor:
    """Return round(values / scale + offset): unlike the dynamic one, the static quantisation divides."""
    if scale is None or offset is None or (scale.dtype, scale.shape) != (torch.float32, offset.shape):
        raise RuntimeError(f"{SWIGLU}: quant_mode 0 (static) needs quant_scale in float32 and a quant_offset like it")
    if tuple(scale.shape) not in ((count,), (count, values.shape[1])):
        raise RuntimeError(f"{SWIGLU}: quant_scale of the shape {tuple(scale.shape)} for quant_mode 0 (static)")
    return round_to_dtype(values / of_rows(scale, groups, 1) + of_rows(offset, groups, 0), torch.int8)


def _check_rows_of_groups(argument: str, values: Tensor, shape: tuple[int, int]) -> None:
    if tuple(torch.atleast_2d(values).shape) != shape:
        raise RuntimeError(f"{SWIGLU}: {argument} should have the shape {shape}, but got {tuple(values.shape)}")


def _dequantise(
    x: Tensor, weight: Tensor | None, token: Tensor | None, bias: Tensor | None, groups: Tensor, count: int
) -> Tensor:
    if x.dtype != torch.int32:
        if weight is not None or token is not None or bias is not None:
            raise NotImplementedError(f"the NPU simulator lacks {SWIGLU} of {x.dtype} with scales or a bias")
        return as_wide(x)
    if weight is None:
        raise RuntimeError(f"{SWIGLU}: an int32 x needs weight_scale")
    _check_rows_of_groups("weight_scale", weight, (count, x.shape[1]))
    values = (x if bias is None else x + bias).float() * of_rows(torch.atleast_2d(weight), groups, 1)
    return values if token is None else values * token.reshape(-1, 1)


def _apply_gate(values: Tensor, left: bool, mode: int, limit: float, alpha: float, bias: float) -> Tensor:
    if mode not in (0, 1, 2) or (mode == 1 and not left):
        raise RuntimeError(f"{SWIGLU}: swiglu_mode should be 0, 1 with activate_left, or 2, but got {mode}")
    first, second = (values[:, ::2], values[:, 1::2]) if mode == 1 else values.chunk(2, -1)
    gate, other = (first, second) if left else (second, first)
    if mode == 0:
        return functional.silu(gate) * other
    gate, other = gate.clamp(max=limit), other.clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (other + bias)


GROUPED = "npu_grouped_matmul_swiglu_quant_v2"
STORED = (torch.int8, torch.int32)
SCALES = (torch.float32, torch.float16, torch.bfloat16, torch.int64)
TYPES = {"x": STORED, "weight": STORED, "weight_scale": SCALES, "x_scale": (torch.float32,)}


def _choose_case(
    x: Tensor, weight: Tensor, scale: Tensor, x_scale: Tensor, assisted: bool, smooth: Tensor | None
) -> str:
    """Return the documented case: A8W8, A8W4 or A4W4, activations and weights with 8 or 4 bits."""
    if weight.dim() == 5:
        raise NotImplementedError(f"the NPU simulator lacks {GROUPED} with a weight in a private layout, not (E, K, N)")
    case = f"A{8 if x.dtype == torch.int8 else 4}W{8 if weight.dtype == torch.int8 else 4}"
    wrong = x.dim() != 2 or weight.dim() != 3 or case == "A4W8"
    refuse_if(wrong, f"x {x.dtype} {x.shape}, weight {weight.dtype}", GROUPED)
    dtypes = {"A8W8": SCALES[:3], "A8W4": (torch.int64,), "A4W4": (torch.float32, torch.int64)}[case]
    dimensions = (2, 3) if case == "A8W4" else (2,)
    fits = scale.shape[:1] == weight.shape[:1] and x_scale.shape == x.shape[:1]
    for good, text in (
        (scale.dtype in dtypes, f"weight_scale of {scale.dtype} for {case}"),
        (scale.dim() in dimensions, f"weight_scale {tuple(scale.shape)} for {case}"),
        (fits, "weight_scale or x_scale does not fit"),
        (assisted == (case == "A8W4"), f"weight_assist_matrix is for A8W4 alone, and needed there, not {case}"),
        (smooth is None or case == "A4W4", f"smooth_scale is for A4W4 alone, not {case}"),
    ):
        refuse_if(not good, text, GROUPED)
    return case


def _quantised_rows(
    call: Arguments, weight: Tensor, scale: Tensor, kind: int, assist: Tensor | None, smooth: Tensor | None
) -> tuple[Tensor, Tensor]:
    x, x_scale, group_list = call.x, call.x_scale, call.group_list
    case = _choose_case(x, weight, scale, x_scale, assist is not None, smooth)
    refuse_if(kind not in (0, 1), f"group_list_type {kind}", GROUPED)
    refuse_if(group_list.shape != weight.shape[:1], "group_list should have one entry per group of the weight", GROUPED)
    rows = unpack_int4(x) if case == "A4W4" else x.to(torch.int16) - 8 if case == "A8W4" else x
    values = torch.zeros(x.shape[0], scale.shape[-1] // 2, dtype=torch.float32)
    for index, start, end in spans_of(group_list, kind, GROUPED):
        refuse_if(end > x.shape[0], f"group_list ends beyond the {x.shape[0]} rows of x", GROUPED)
        if start == end:
            continue
        matrix = weight[index] if case == "A8W8" else unpacked_matrix(weight[index])
        total = scaled_by_groups(rows[start:end], matrix, scale_of(scale[index]))
        total = total if assist is None else total + assist[index]
        first, second = (total * x_scale[start:end, None]).chunk(2, -1)
        gated = functional.silu(first) * second
        values[start:end] = gated if smooth is None else gated * smooth[index]
    return by_largest(values, torch.int8)


@reference("npu::npu_grouped_matmul_swiglu_quant", dtypes={**TYPES, "bias": (torch.float32,)})
@takes("Tensor x, Tensor weight, Tensor group_list, Tensor weight_scale, Tensor x_scale, *, Tensor? bias=None")
def npu_grouped_matmul_swiglu_quant(call: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """(int8 rows, their scales, nothing); group_list is cumulative, the bias is what A8W4 adds."""
    result = _quantised_rows(call, call.weight, call.weight_scale, 0, call.bias, None)
    return (*result, torch.zeros((), dtype=torch.float32))


@reference(
    "npu::npu_grouped_matmul_swiglu_quant_v2",
    dtypes={**TYPES, "group_list": (torch.int64,), "smooth_scale": (torch.float32,)},
)
@takes(
    "Tensor x, Tensor[] weight, Tensor[] weight_scale, Tensor x_scale, Tensor group_list, *, "
    "Tensor? smooth_scale=None, Tensor[]? weight_assist_matrix=None, int? dequant_mode=0, int? dequant_dtype=6, "
    "int? quant_mode=0, int? quant_dtype=1, int? group_list_type=0, int[]? tuning_config=None"
)
def npu_grouped_matmul_swiglu_quant_v2(call: Arguments) -> tuple[Tensor, Tensor]:
    """(int8 rows, their scales) of silu(first half) * second half. `tuning_config` is about speed only."""
    single = len(call.weight) == len(call.weight_scale) == 1
    refuse_if(not single, "weight and weight_scale should have one tensor", GROUPED)
    by_rows = call.weight_scale[0].dim() == 3
    mode = call.dequant_mode or 0
    refuse_if(mode not in (0, 1) or bool(mode) != by_rows, f"dequant_mode {call.dequant_mode}", GROUPED)
    refuse_if(call.quant_mode not in (None, 0), f"quant_mode {call.quant_mode} on an Ascend A2", GROUPED)
    if call.dequant_dtype != 0:  # the page's default, which stands for float32
        asked_dtype(call.dequant_dtype, torch.float32, (torch.float32,), f"{GROUPED}: dequant_dtype")
    if call.quant_dtype != 0:
        asked_dtype(call.quant_dtype, torch.int8, (torch.int8,), f"{GROUPED}: quant_dtype")
    assist = call.weight_assist_matrix[0] if call.weight_assist_matrix else None
    smooth = call.smooth_scale
    smooth = smooth[:, None] if smooth is not None and smooth.dim() == 1 else smooth
    return _quantised_rows(call, call.weight[0], call.weight_scale[0], call.group_list_type or 0, assist, smooth)
