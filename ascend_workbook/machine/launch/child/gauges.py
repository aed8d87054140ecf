"""Reads loss, gradient norm and learning rate without disturbing the run.

The torch functions used are taken before the script or a plugin can replace them (msprobe wraps torch's
functions to dump them, and must not dump ours). Nothing here draws random numbers, and the numbers of one
step leave the device together, once per step.
"""

from __future__ import annotations

from typing import Any

import torch

_raw = torch._C._VariableFunctions
_base = torch._C.TensorBase
_detach, _clone, _foreach_norm, _stack = _base.detach, _raw.clone, _raw._foreach_norm, _raw.stack
_norm, _to, _tolist = torch._C._linalg.linalg_vector_norm, _base.to, _base.tolist
add, divide, _no_grad = _raw.add, _raw.true_divide, torch.no_grad


def keep_scalar(value: torch.Tensor) -> torch.Tensor:
    """Copy a one-element tensor as a 0-d float tensor on its device; later changes in place do not reach it."""
    with _no_grad():
        # float32 on the device: float64 is not to be had on every NPU
        dtype = value.dtype if value.dtype == torch.float64 else torch.float32
        return _to(_clone(_detach(value)), dtype).reshape(())


def gradient_norm(optimizer: Any) -> torch.Tensor | None:
    """Return the L2 norm over all gradients the optimiser holds, 0-d float32; None where there is none.

    Sharded gradients (DTensor) count with this rank's share. Called before the update.
    """
    grads = [
        _plain_gradient(parameter.grad)
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.grad is not None
    ]
    kinds: dict[tuple[Any, Any], list[torch.Tensor]] = {}
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


def _plain_gradient(grad: Any) -> torch.Tensor:
    grad = grad.to_local() if hasattr(grad, "to_local") else grad
    if grad.layout != torch.strided:
        grad = grad.coalesce().values()
    grad = _detach(grad)
    return torch.view_as_real(grad) if grad.is_complex() else grad


def read_numbers(values: list[torch.Tensor | None]) -> list[float | None]:
    """Return the numbers of 0-d tensors; tensors of one device come over in one transfer."""
    by_device: dict[Any, list[int]] = {}
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


def learning_rate(optimizer: Any) -> float | None:
    """Return the learning rate of the first parameter group."""
    rate = optimizer.param_groups[0].get("lr") if optimizer.param_groups else None
    return None if rate is None else float(rate)
