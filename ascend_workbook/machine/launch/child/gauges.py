"""Reads loss, gradient norm and learning rate without disturbing the run.

The torch functions used are taken before the script or a plugin can replace them (msprobe wraps torch's
functions to dump them, and must not dump ours). Nothing here draws random numbers, and the numbers of one
step leave the device together, once per step.

The loss of an update is the mean of the one-element tensors that `backward` started from since the last one. A loss
that a GradScaler scaled is counted unscaled. A backward inside a backward (activation checkpointing) is none of the
script's, nor is one that starts from a tensor of many elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import torch
import torch.nn.utils.clip_grad as clip_grad

from .replacing import replaces

if TYPE_CHECKING:
    from torch.autograd.graph import Node
    from torch.optim import Optimizer

#: A rehearsal lists what the program reads, by its line: these functions read for the launcher alone, and the others
#: of this file stand between the program and torch.
READS_FOR_ITSELF = ("read_numbers", "is_infinite", "learning_rate")
PASSES_THROUGH = True
#: How far up the graph a scaled loss is looked for: `scaler.scale(loss) / accumulate` is two nodes.
DEPTH = 4

_raw = torch._C._VariableFunctions
_base = torch.Tensor.__base__
_detach, _clone, _foreach_norm, _stack = _base.detach, _raw.clone, _raw._foreach_norm, _raw.stack
_norm, _to, _tolist = torch._C._linalg.linalg_vector_norm, _base.to, _base.tolist
_add, _divide, _no_grad = _raw.add, _raw.true_divide, torch.no_grad


def keep_scalar(value: torch.Tensor) -> torch.Tensor:
    """Copy a one-element tensor as a 0-d float tensor on its device; later changes in place do not reach it."""
    with _no_grad():
        # float32 on the device: float64 is not to be had on every NPU
        dtype = value.dtype if value.dtype == torch.float64 else torch.float32
        return _to(_clone(_detach(value)), dtype).reshape(())


def gradient_norm(optimizer: Optimizer) -> torch.Tensor | None:
    """Return the L2 norm over all gradients the optimiser holds, 0-d float32; None where there is none.

    Sharded gradients (DTensor) count with this rank's share. Called before the update.
    """
    grads = [
        _plain_gradient(parameter.grad)
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.grad is not None
    ]
    kinds: dict[tuple[torch.device, torch.dtype], list[torch.Tensor]] = {}
    for grad in grads:
        kinds.setdefault((grad.device, grad.dtype), []).append(grad)
    with _no_grad():
        norms = [_group_norm(group) for group in kinds.values()]
    return join_norms(norms) if norms else None


def join_norms(norms: list[torch.Tensor]) -> torch.Tensor:
    """Return the norm of several parts, 0-d."""
    with _no_grad():
        return _norm(_stack([_to(norm, norms[0].device) for norm in norms]))


def _group_norm(grads: list[torch.Tensor]) -> torch.Tensor:
    """Return one norm for gradients of one device and dtype. Half precision is summed in float32."""
    wide = torch.float64 if grads[0].dtype == torch.float64 else torch.float32
    if grads[0].dtype != wide:
        grads = [_to(grad, wide) for grad in grads]
    return _to(_norm(_stack(list(_foreach_norm(grads)))), torch.float32)


def _plain_gradient(grad: torch.Tensor) -> torch.Tensor:
    grad = grad.to_local() if hasattr(grad, "to_local") else grad
    if grad.layout != torch.strided:
        grad = grad.coalesce().values()
    grad = _detach(grad)
    return torch.view_as_real(grad) if grad.is_complex() else grad


def read_numbers(values: list[torch.Tensor | None]) -> list[float | None]:
    """Return the numbers of 0-d tensors; tensors of one device come over in one transfer."""
    by_device: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for place, value in enumerate(values):
        if value is not None:
            by_device.setdefault((value.device, value.dtype), []).append(place)
    numbers: list[float | None] = [None] * len(values)
    with _no_grad():
        for places in by_device.values():
            read_out = _tolist(_stack([values[place] for place in places]))
            for place, number in zip(places, read_out):
                numbers[place] = number
    return numbers


def is_infinite(found_inf: torch.Tensor) -> bool:
    """Return whether a GradScaler found a gradient that is infinite."""
    return float(found_inf) != 0.0


def learning_rate(optimizer: Optimizer) -> float | None:
    """Return the learning rate of the first parameter group."""
    rate = optimizer.param_groups[0].get("lr") if optimizer.param_groups else None
    return None if rate is None else float(rate)


class Losses:
    """What `backward` started from since the update before."""

    def __init__(self) -> None:
        self._pending: list[torch.Tensor] = []
        self._scaled: list[tuple[Node | None, torch.Tensor, torch.Tensor]] = []

    def note_scaled(self, result: torch.Tensor, original: torch.Tensor, scale: torch.Tensor) -> None:
        """Note that a GradScaler made `result` of `original`; both are one-element tensors."""
        self._scaled.append((result.grad_fn, keep_scalar(original), keep_scalar(scale)))

    def backward_from(self, tensors: torch.Tensor | Iterable[object]) -> None:
        """Note that a backward of the script's begins at these tensors."""
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        for root in roots:
            if isinstance(root, torch.Tensor) and root.numel() == 1:
                self._pending.append(self._find_original(root))

    def take_mean(self) -> tuple[torch.Tensor | None, int]:
        """Return the mean loss (0-d, on its device) and the number of micro-batches since the last call."""
        pending, self._pending = self._pending, []
        self._scaled = []
        if not pending:
            return None, 0
        if len(pending) == 1:
            return pending[0], 1
        with _no_grad():
            total = pending[0]
            for other in pending[1:]:
                total = _add(total, other)
            return _divide(total, len(pending)), len(pending)

    def _find_original(self, root: torch.Tensor) -> torch.Tensor:
        for node, original, _ in self._scaled:
            if node is not None and node is root.grad_fn:
                return original
        node, depth = root.grad_fn, 0
        while node is not None and depth < DEPTH:
            for made_by, _, scale in self._scaled:
                if node is made_by:
                    with _no_grad():
                        return _divide(keep_scalar(root), scale)
            following = node.next_functions
            node, depth = (following[0][0] if following else None), depth + 1
        return keep_scalar(root)


class Clipped:
    """What was clipped since the update before: `clip_grad_norm_` returns the norm before clipping.

    Read at the update, a clipped norm is the same number at every step and tells nothing.
    """

    def __init__(self) -> None:
        self._norms: list[torch.Tensor] = []
        self._parameters: set[int] = set()

    def add_norm(self, parameters: list[torch.Tensor], norm: torch.Tensor) -> None:
        self._norms.append(keep_scalar(norm.full_tensor() if hasattr(norm, "full_tensor") else norm))
        self._parameters |= {id(parameter) for parameter in parameters}

    def take_norm(self, optimizer: Optimizer) -> torch.Tensor | None:
        """Return the norm before clipping, if all the gradients of this optimiser were clipped, and forget it."""
        norms, covered = self._norms, self._parameters
        self._norms, self._parameters = [], set()
        own = {id(p) for group in optimizer.param_groups for p in group["params"] if p.grad is not None}
        if not norms or not own <= covered:
            return None
        return norms[0] if len(norms) == 1 else join_norms(norms)


def watch_clipping(clipped: Clipped) -> None:
    """Replaces `torch.nn.utils.clip_grad_norm_` by one that also tells its result."""

    @replaces(clip_grad, "clip_grad_norm_")
    def clip_grad_norm_(
        original: Callable[..., torch.Tensor],
        parameters: torch.Tensor | Iterable[torch.Tensor],
        max_norm: float,
        norm_type: float = 2.0,
        *args: object,
        **kwargs: object,
    ) -> torch.Tensor:
        # often a generator, which can be walked only once
        listed = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        norm = original(listed, max_norm, norm_type, *args, **kwargs)
        if float(norm_type) == 2.0 and isinstance(norm, torch.Tensor):
            clipped.add_norm(listed, norm)
        return norm

    torch.nn.utils.clip_grad_norm_ = clip_grad.clip_grad_norm_
