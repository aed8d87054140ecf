"""The gradient norm before clipping, which `clip_grad_norm_` works out and returns anyway.

Read at the update, a clipped norm is the same number at every step and tells nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.utils.clip_grad as clip_grad

from . import gauges


class Clipped:
    """What was clipped since the update before."""

    def __init__(self) -> None:
        self._norms: list[torch.Tensor] = []
        self._parameters: set[int] = set()

    def add_norm(self, parameters: list[torch.Tensor], norm: torch.Tensor) -> None:
        self._norms.append(gauges.keep_scalar(norm.full_tensor() if hasattr(norm, "full_tensor") else norm))
        self._parameters |= {id(parameter) for parameter in parameters}

    def take_norm(self, optimizer: Any) -> torch.Tensor | None:
        """Return the norm before clipping, if all the gradients of this optimiser were clipped, and forget it."""
        norms, covered = self._norms, self._parameters
        self._norms, self._parameters = [], set()
        own = {id(p) for group in optimizer.param_groups for p in group["params"] if p.grad is not None}
        if not norms or not own <= covered:
            return None
        return norms[0] if len(norms) == 1 else gauges.join_norms(norms)


def watch_clipping(clipped: Clipped) -> None:
    """Replaces `torch.nn.utils.clip_grad_norm_` by one that also tells its result."""
    original = clip_grad.clip_grad_norm_

    @functools.wraps(original)
    def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, *args: Any, **kwargs: Any) -> Any:
        clipped_parameters = [parameters] if isinstance(parameters, torch.Tensor) else _list_parameters(parameters)
        norm = original(clipped_parameters, max_norm, norm_type, *args, **kwargs)
        if float(norm_type) == 2.0 and isinstance(norm, torch.Tensor):
            clipped.add_norm(clipped_parameters, norm)
        return norm

    clip_grad.clip_grad_norm_ = torch.nn.utils.clip_grad_norm_ = clip_grad_norm_


def _list_parameters(parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """List the parameters, often a generator, which can be walked only once."""
    return list(parameters)
