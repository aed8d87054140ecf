"""torch_npu.npu_top_k_top_p: logits outside of the k best, or of the probable ones, become -inf.

Formula: npu_top_k_top_p.md (registry.DOCUMENTS).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, reference


@reference("npu::npu_top_k_top_p", dtypes={"logits": FLOATS, "p": FLOATS, "k": (torch.int32,)})
def npu_top_k_top_p(logits: Tensor, p: Tensor | None = None, k: Tensor | None = None) -> Tensor:
    """logits (batch, vocabulary), p and k (batch). Probabilities are those after k; the best one always stays."""
    if p is None and k is None:
        raise RuntimeError("npu_top_k_top_p needs p or k")
    for name, limits in (("p", p), ("k", k)):
        if limits is not None and limits.shape != logits.shape[:1]:
            raise RuntimeError(f"npu_top_k_top_p: {name} {list(limits.shape)} for logits {list(logits.shape)}")
    values, order = logits.sort(dim=-1, stable=True)
    if k is not None:
        if bool((k < 1).any()) or bool((k > min(1024, logits.shape[1])).any()):
            raise RuntimeError(f"npu_top_k_top_p: k must be from 1 to {min(1024, logits.shape[1])}")
        smallest = values.gather(1, (logits.shape[1] - k.long())[:, None])
        values = values.masked_fill(values < smallest, -math.inf)
    if p is not None:
        small = as_wide(values).softmax(-1).cumsum(-1) <= 1 - as_wide(p)[:, None]
        small[:, -1] = False
        values = values.masked_fill(small, -math.inf)
    return torch.empty_like(values).scatter_(1, order, values)
