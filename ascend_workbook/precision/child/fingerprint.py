"""Fingerprints of tensors: which one it is, how large it is, and each sample of a batch. Loaded by path."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import torch

#: Values of a tensor that are kept beside its norm: enough to tell a scaled tensor from another one.
KEPT = 8
#: Batches of more samples have no fingerprint per sample.
MOST_SAMPLES = 4096


def of(value: Any) -> str:
    """dtype, shape and the first 16 hex digits of the bytes' SHA-256."""
    if not isinstance(value, torch.Tensor):
        return repr(value)[:80]
    digest = hashlib.sha256(_bytes_of(value)).hexdigest()[:16]
    return f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}:{digest}"


def samples(value: torch.Tensor) -> list[str]:
    """12 hex digits for every row of dimension 0, in order; empty for a scalar and for very many rows."""
    if value.dim() == 0 or not 0 < value.shape[0] <= MOST_SAMPLES:
        return []
    raw, count = _bytes_of(value), value.shape[0]
    size = len(raw) // count
    return [hashlib.sha256(raw[at * size : (at + 1) * size]).hexdigest()[:12] for at in range(count)]


def numbers(value: torch.Tensor) -> list[float | None]:
    """The L2 norm and up to KEPT evenly spaced values, in float64; None for one that is not finite."""
    if not value.numel() or value.is_complex() or value.layout != torch.strided:
        return []
    flat = value.detach().to("cpu").reshape(-1)
    step = max(1, flat.numel() // KEPT)
    norm = (
        float(torch.linalg.vector_norm(flat, dtype=torch.float64))
        if flat.is_floating_point()
        else float(flat.double().norm())
    )
    values = [norm, *(float(number) for number in flat[::step][:KEPT])]
    return [number if math.isfinite(number) else None for number in values]


def leaves(value: Any) -> list[Any]:
    """What lists, tuples and dictionaries hold, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [value]


def _bytes_of(value: torch.Tensor) -> bytes:
    plain = value.detach().to("cpu").contiguous()
    raw = plain.reshape(-1).view(torch.uint8) if plain.numel() else torch.empty(0, dtype=torch.uint8)
    return bytes(raw.numpy().tobytes())
