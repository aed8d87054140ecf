"""Dropout masks as the NPU keeps them: a bit per element, low bit first, padded to 128 elements, in uint8.

The numbers are PyTorch's CPU generator's, seeded by (seed, offset): reproducible, not those of the NPU's Philox. Seed
and offset are mixed (splitmix64) as native/kernels/random.cpp mixes those of the NPU's generator for a call, so that
an operator that draws by itself, and a mask made from the same seed and offset, agree.
"""

from __future__ import annotations

import torch
from torch import Tensor

ALIGNMENT = 128
WEIGHTS = (1, 2, 4, 8, 16, 32, 64, 128)


MODULUS = 1 << 64
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
STEP = 0x9E3779B97F4A7C15


def mix_bits(x: int) -> int:
    x = (x + STEP) % MODULUS
    x = (x ^ (x >> 30)) * MULTIPLIERS[0] % MODULUS
    x = (x ^ (x >> 27)) * MULTIPLIERS[1] % MODULUS
    return x ^ (x >> 31)


def unmix_bits(x: int) -> int:
    x = (x ^ (x >> 31) ^ (x >> 62)) * pow(MULTIPLIERS[1], -1, MODULUS) % MODULUS
    x = (x ^ (x >> 27) ^ (x >> 54)) * pow(MULTIPLIERS[0], -1, MODULUS) % MODULUS
    return ((x ^ (x >> 30) ^ (x >> 60)) - STEP) % MODULUS


def seed_of(generator: torch.Generator | None) -> int:
    """Return the seed that with offset 0 draws as this generator, made for a call, does: the NPU's own in the first
    call.
    """
    drawn = generator.initial_seed() if generator is not None else torch.initial_seed()
    return as_signed(unmix_bits(drawn % MODULUS) ^ mix_bits(0))


def as_signed(seed: int) -> int:
    """Return a seed of 64 bits as an int64."""
    return seed - (1 << 64) if seed >= 1 << 63 else seed


def draw_keep_mask(count: int, p: float, seed: int, offset: int) -> Tensor:
    """Return a bool for each element: True with probability 1 - p."""
    generator = torch.Generator().manual_seed(as_signed(mix_bits(seed % MODULUS ^ mix_bits(offset))))
    return torch.rand(count, generator=generator, dtype=torch.float32) >= p


def pack_bits(mask: Tensor) -> Tensor:
    bits = torch.zeros(-(-mask.numel() // ALIGNMENT) * ALIGNMENT, dtype=torch.uint8, device=mask.device)
    bits[: mask.numel()] = mask.flatten()
    weights = torch.tensor(WEIGHTS, dtype=torch.uint8, device=mask.device)
    return (bits.reshape(-1, 8) * weights).sum(-1, dtype=torch.uint8)


def unpack_bits(packed: Tensor, count: int) -> Tensor:
    if packed.numel() * 8 < count:
        raise RuntimeError(f"a dropout mask of {packed.numel()} bytes holds less than {count} elements")
    weights = torch.tensor(WEIGHTS, dtype=torch.uint8, device=packed.device)
    return ((packed.flatten()[:, None] & weights) != 0).flatten()[:count]
