"""torch_npu.obfuscation_calculate and obfuscation_finalize: the engine that obfuscates tensors (PMCC).

It is a service of its own, of secret factors; where it is not deployed the operators end with the error code 507018
(torch_npu-npu-obfuscation_calculate.md and its neighbours, https://gitcode.com/Ascend/op-plugin). The simulated NPU is
a machine without it.
"""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor

from .registry import FLOATS, reference

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
