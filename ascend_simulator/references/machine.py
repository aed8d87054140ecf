"""The overflow flag. An Atlas A2 raises it in saturation mode (INF_NAN_MODE_ENABLE=0), which is not the default.

Source: npu_get_float_status.md, npu_clear_float_status.md; torch_npu.npu.utils.is_support_inf_nan.

torch_npu.obfuscation_calculate and obfuscation_finalize: the engine that obfuscates tensors (PMCC).

It is a service of its own, of secret factors; where it is not deployed the operators end with the error code 507018
(torch_npu-npu-obfuscation_calculate.md and its neighbours, https://gitcode.com/Ascend/op-plugin). The simulated NPU is
a machine without it.
"""

from __future__ import annotations

import os
from typing import NoReturn

import torch
from torch import Tensor

from .registry import FLOATS, reference

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


CODE = 507018


def _without_engine(operator: str) -> NoReturn:
    raise RuntimeError(
        f"{operator}: error code is {CODE}: PMCC (Privacy and Model Confidential Computing) is not deployed; the "
        "simulated NPU has no such engine"
    )


@reference("npu::obfuscation_calculate", dtypes={"fd": (torch.int32,), "x": (*FLOATS, torch.int8)})
def obfuscation_calculate(fd: Tensor, x: Tensor, param: Tensor, *, obf_coefficient: float | None = 1.0) -> Tensor:
    _without_engine("obfuscation_calculate")


@reference("npu::obfuscation_finalize", dtypes={"fd_to_close": (torch.int32,)})
def obfuscation_finalize(fd_to_close: Tensor) -> Tensor:
    _without_engine("obfuscation_finalize")
