"""What makes an honest target differ from its baseline: other threads and kernels, reduced inputs, another dtype."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

#: HF32 keeps 11 bits of the fraction, the hidden one not counted.
HF32_BITS = 11
#: name -> the reduced formats that the target's manifest tells; None: a plain dump that tells nothing.
LEVELS: dict[str, dict[str, str] | None] = {
    "none": {},
    "threads": {},
    "hf32 told": {"conv": "hf32", "matmul": "hf32"},
    "hf32 untold": None,
    "bf16": {},
}
REDUCED = ("linear", "conv2d", "matmul")


@contextmanager
def setting(noise: str) -> Iterator[None]:
    """Other threads, and kernels other than oneDNN's: the order of the sums is another one."""
    threads = torch.get_num_threads()
    if noise == "none":
        yield
        return
    torch.set_num_threads(2)
    try:
        with torch.backends.mkldnn.flags(enabled=False):
            yield
    finally:
        torch.set_num_threads(threads)


def prepare(noise: str, model: nn.Module) -> nn.Module:
    return model.to(torch.bfloat16) if noise == "bf16" else model


def hf32(api: str, value: Tensor) -> Tensor:
    """Rounds the inputs of convolutions and matrix products to HF32's fraction, to nearest even."""
    if api not in REDUCED or value.dtype != torch.float32:
        return value
    lost = 23 - HF32_BITS
    bits = value.detach().contiguous().view(torch.int32)
    half = (1 << (lost - 1)) - 1 + ((bits >> lost) & 1)
    return ((bits + half) >> lost << lost).view(torch.float32).clone()
