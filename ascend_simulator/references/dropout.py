"""Dropout masks as the NPU keeps them: a bit per element, low bit first, padded to 128 elements, in uint8.

The numbers are PyTorch's CPU generator's, seeded by (seed, offset): reproducible, not those of the NPU's Philox. Seed
and offset are mixed (splitmix64) as native/kernels/random.cpp mixes those of the NPU's generator for a call, so that
an operator that draws by itself, and a mask made from the same seed and offset, agree.

Signs of floats as bits, eight to a byte: npu_sign_bits_pack.md, npu_sign_bits_unpack.md (registry.DOCUMENTS).

Dropout and its masks: _npu_dropout.md and its neighbours (registry.DOCUMENTS).
"""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, Arguments, reference, takes

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
    """Return the seed that with offset 0 draws as this generator of a call does: the NPU's own in the first call."""
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


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _apply_keep_mask(x: Tensor, mask: Tensor, p: float) -> Tensor:
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return (as_wide(x) * mask.reshape(x.shape) * scale).to(x.dtype)


def _draw_mask(count: int, p: float, generator: torch.Generator | None) -> Tensor:
    _check_probability(p)
    return draw_keep_mask(count, p, seed_of(generator), 0)


@reference("npu::_npu_dropout", dtypes={"input": FLOATS}, random=True)
def npu_dropout(input: Tensor, p: float, *, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """(input with elements dropped and the rest times 1 / (1 - p), the mask in bits)."""
    mask = _draw_mask(input.numel(), p, generator).to(input.device)
    return _apply_keep_mask(input, mask, p), pack_bits(mask)


@reference("npu::npu_dropout_backward", dtypes={"grad_output": FLOATS})
def npu_dropout_backward(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    if mask.numel() == 0:
        return grad_output.new_empty(0)
    return _apply_keep_mask(grad_output, unpack_bits(mask, grad_output.numel()), p)


@reference("npu::npu_dropout_do_mask", dtypes={"input": FLOATS})
def npu_dropout_do_mask(input: Tensor, mask: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """(input with what the bits say dropped, the mask)."""
    return _apply_keep_mask(input, unpack_bits(mask, input.numel()), p), mask


@reference("npu::_npu_dropout_gen_mask.Tensor")
@takes("Tensor input, int[] size, float p, int seed, int offset, *, bool? parallel=True, bool? sync=None")
def npu_dropout_gen_mask_of(call: Arguments) -> Tensor:
    """The mask in bits of a tensor of this size; `p` is the probability to drop."""
    _check_probability(call.p)
    return pack_bits(draw_keep_mask(prod(call.size), call.p, call.seed, call.offset).to(call.input.device))


@reference("npu::npu_dropout_gen_mask", random=True)
@takes(
    "int[] size, float p, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "Generator? generator=None"
)
def npu_dropout_gen_mask(call: Arguments) -> Tensor:
    return pack_bits(_draw_mask(prod(call.size), call.p, call.generator).to(call.device or "cpu"))


@reference("npu::_dropout_with_byte_mask", random=True)
def dropout_with_byte_mask(
    input: Tensor, p: float, *, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """(input with elements dropped, the mask, a byte per element)."""
    if not input.is_floating_point():
        raise TypeError("dropout only supports floating-point dtypes")
    mask = _draw_mask(input.numel(), p, generator).to(input.device).reshape(input.shape)
    return _apply_keep_mask(input, mask, p), mask.to(torch.uint8)


@reference("npu::_dropout_with_byte_mask_backward")
def dropout_with_byte_mask_backward(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    if mask.dtype != torch.uint8:
        raise TypeError("mask should be torch.uint8 dtype")
    return _apply_keep_mask(grad_output, mask != 0, p)


@reference("npu::npu_dropout_with_add_softmax", dtypes={"input": FLOATS, "x1": FLOATS}, random=True)
def npu_dropout_with_add_softmax(
    input: Tensor, x1: Tensor, alpha: float, prob: float, dim: int, *, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(mask in bytes, s, s with elements dropped) of s = softmax(x1 + alpha * input)."""
    softmax = (as_wide(x1) + alpha * as_wide(input)).softmax(dim)
    kept_elements = _draw_mask(softmax.numel(), prob, generator).to(input.device)
    mask = torch.zeros(-(-kept_elements.numel() // 128) * 128, dtype=torch.uint8, device=input.device)
    mask[: kept_elements.numel()] = kept_elements
    dropped = _apply_keep_mask(softmax, kept_elements, prob)
    return mask, softmax.to(x1.dtype), dropped.to(input.dtype)


@reference("npu::npu_dropout_with_add_softmax_backward", dtypes={"grad": FLOATS, "softmax_out": FLOATS})
def npu_dropout_with_add_softmax_backward(
    grad: Tensor, mask: Tensor, softmax_out: Tensor, alpha: float, prob: float, dim: int
) -> tuple[Tensor, Tensor]:
    """(alpha times the gradient of the sum, grad itself): what torch_npu hands to its two inputs."""
    gradient = _apply_keep_mask(as_wide(grad), mask.flatten()[: grad.numel()] != 0, prob)
    y = as_wide(softmax_out)
    total = y * (gradient - (gradient * y).sum(dim, keepdim=True))
    return (alpha * total).to(softmax_out.dtype), grad
