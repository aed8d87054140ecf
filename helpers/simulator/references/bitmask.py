"""Dropout masks as the NPU keeps them: a bit per element, low bit first, padded to 128 elements, in uint8.

The numbers are PyTorch's CPU generator's, seeded by (seed, offset): reproducible, not those of the NPU's Philox.
"""

from __future__ import annotations

import torch
from torch import Tensor

ALIGNMENT = 128
WEIGHTS = (1, 2, 4, 8, 16, 32, 64, 128)


def signed(seed: int) -> int:
    """A seed of 64 bits as an int64."""
    return seed - (1 << 64) if seed >= 1 << 63 else seed


def kept(count: int, p: float, seed: int, offset: int) -> Tensor:
    """A bool for each element: True with probability 1 - p."""
    generator = torch.Generator().manual_seed(signed((seed * 0x9E3779B97F4A7C15 + offset) % (1 << 64)))
    return torch.rand(count, generator=generator) >= p


def pack(mask: Tensor) -> Tensor:
    bits = torch.zeros(-(-mask.numel() // ALIGNMENT) * ALIGNMENT, dtype=torch.uint8, device=mask.device)
    bits[: mask.numel()] = mask.flatten()
    weights = torch.tensor(WEIGHTS, dtype=torch.uint8, device=mask.device)
    return (bits.reshape(-1, 8) * weights).sum(-1, dtype=torch.uint8)


def unpack(packed: Tensor, count: int) -> Tensor:
    if packed.numel() * 8 < count:
        raise RuntimeError(f"a dropout mask of {packed.numel()} bytes holds less than {count} elements")
    weights = torch.tensor(WEIGHTS, dtype=torch.uint8, device=packed.device)
    return ((packed.flatten()[:, None] & weights) != 0).flatten()[:count]
