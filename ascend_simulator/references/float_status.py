"""The overflow flag. An Atlas A2 raises it in saturation mode (INF_NAN_MODE_ENABLE=0), which is not the default.

Source: npu_get_float_status.md, npu_clear_float_status.md; torch_npu.npu.utils.is_support_inf_nan.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

from .registry import reference

WORDS = 8


def _not_saturating(operator: str) -> None:
    if os.environ.get("INF_NAN_MODE_ENABLE") == "0":
        raise NotImplementedError(f"the NPU simulator lacks {operator} in saturation mode (INF_NAN_MODE_ENABLE=0)")


@reference("npu::npu_alloc_float_status")
def npu_alloc_float_status(input: Tensor) -> Tensor:
    """Eight zeros."""
    return torch.zeros(WORDS, dtype=torch.float32, device=input.device)


@reference("npu::npu_get_float_status")
def npu_get_float_status(input: Tensor, mode: int = 0) -> Tensor:
    """The flags, never raised in this mode."""
    _not_saturating("npu_get_float_status")
    return torch.zeros(WORDS, dtype=torch.float32, device=input.device)


@reference("npu::npu_clear_float_status")
def npu_clear_float_status(input: Tensor, mode: int = 0) -> Tensor:
    _not_saturating("npu_clear_float_status")
    return torch.zeros(WORDS, dtype=torch.float32, device=input.device)
