"""Signs of floats as bits, eight to a byte: npu_sign_bits_pack.md, npu_sign_bits_unpack.md (registry.DOCUMENTS)."""

from __future__ import annotations

import torch
from torch import Tensor

from .bitmask import WEIGHTS
from .registry import reference


def _split_rows(values: Tensor, size: int, name: str) -> Tensor:
    if size <= 0 or values.numel() % size:
        raise RuntimeError(f"{name}: {values.numel()} elements cannot be reshaped into {size} rows")
    return values.reshape(size, -1)


@reference("npu::npu_sign_bits_pack", dtypes={"input": (torch.float32, torch.float16)})
def npu_sign_bits_pack(input: Tensor, size: int) -> Tensor:
    """(size, bytes / size) in uint8, low bit first: 1 for what is not negative, 0 for the rest and the padding."""
    if input.dim() != 1:
        raise RuntimeError("npu_sign_bits_pack: input must be one-dimensional")
    bits = torch.zeros(-(-input.numel() // 8) * 8, dtype=torch.uint8)
    bits[: input.numel()] = ~(input < 0)
    packed = (bits.reshape(-1, 8) * torch.tensor(WEIGHTS, dtype=torch.uint8)).sum(-1, dtype=torch.uint8)
    return _split_rows(packed, size, "npu_sign_bits_pack")


@reference("npu::npu_sign_bits_unpack", dtypes={"input": (torch.uint8,)})
def npu_sign_bits_unpack(input: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """(size, 8 * bytes / size) of 1 and -1."""
    if input.dim() != 1:
        raise RuntimeError("npu_sign_bits_unpack: input must be one-dimensional")
    if dtype not in (torch.float32, torch.float16):
        raise RuntimeError(f"npu_sign_bits_unpack: dtype must be torch.float32 or torch.float16, but got {dtype}")
    bits = (input[:, None] & torch.tensor(WEIGHTS, dtype=torch.uint8)) != 0
    return _split_rows(bits.flatten().to(dtype) * 2 - 1, size, "npu_sign_bits_unpack")
