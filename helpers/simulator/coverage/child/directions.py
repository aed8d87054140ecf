"""The ways to call an entry. Each takes the arguments on one device and returns what is compared with the other's.

forward   the function as it stands
strided   with every tensor argument made non-contiguous
backward  the gradients of all inputs
inplace   the in-place variant; the changed input counts too
out       out= of the right size, of size zero, and of another data type
errors    torch's own list of wrong calls; what is compared is the kind of error
"""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch.utils._pytree import tree_flatten, tree_map

from .placing import Given, tensors

Call = Callable[[Any, Any, Given], Any]


class NothingToCompare(Exception):
    """The sample does not go this way: no gradient, an input too small for its result, ..."""


def forward(op: Any, sample: Any, given: Given) -> Any:
    return op(given[0], *given[1], **given[2])


def backward(op: Any, sample: Any, given: Given) -> Any:
    leaves = [tensor for tensor in tensors(given) if tensor.requires_grad]
    result = op(given[0], *given[1], **given[2])
    outputs = [tensor for tensor in tensors(sample.output_process_fn_grad(result)) if tensor.requires_grad]
    if not leaves or not outputs:
        raise NothingToCompare("no gradient")
    return torch.autograd.grad(outputs, leaves, [_weights(output) for output in outputs], allow_unused=True)


def _weights(output: torch.Tensor) -> torch.Tensor:
    """Another weight for each element of the result, so that no mistake cancels out; the same in every data type."""
    weights = torch.linspace(0.5, 1.5, max(output.numel(), 1))[: output.numel()].bfloat16().to(output.dtype)
    return weights.reshape(output.shape).to(output.device)


def inplace(op: Any, sample: Any, given: Given) -> Any:
    variant = op.inplace_variant
    if variant is None or sample.broadcasts_input or not isinstance(given[0], torch.Tensor):
        raise NothingToCompare("no in-place variant")
    changed = given[0].detach().clone(memory_format=torch.preserve_format)
    address = changed.data_ptr()
    result = variant(changed, *given[1], **given[2])
    return result, changed, changed.data_ptr() == address, result is changed


def out(op: Any, sample: Any, given: Given) -> Any:
    expected = op(given[0], *given[1], **given[2])
    if not tensors(expected) or not all(isinstance(leaf, torch.Tensor) for leaf in tree_flatten(expected)[0]):
        raise NothingToCompare("no out= for this result")
    right = _into(op, given, tree_map(lambda t: torch.full_like(t, 1), expected))
    empty = _into(op, given, tree_map(lambda t: t.new_empty(0), expected))
    wrong = tree_map(lambda t: torch.empty(t.shape, dtype=_narrower(t.dtype), device=t.device), expected)
    return right, empty, outcome(lambda: _into(op, given, wrong))


def _narrower(dtype: torch.dtype) -> torch.dtype:
    """A type that a result of `dtype` may not be cast to."""
    return torch.int32 if dtype.is_floating_point or dtype.is_complex else torch.bool


def _into(op: Any, given: Given, outs: Any) -> Any:
    addresses = [tensor.data_ptr() if tensor.numel() else 0 for tensor in tensors(outs)]
    op(given[0], *given[1], **given[2], out=outs)
    kept = [tensor.data_ptr() == address or not address for tensor, address in zip(tensors(outs), addresses)]
    return outs, kept


def outcome(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001  the kind of error is the result
        return kind(error)
    return "no error"


def kind(error: Exception) -> str:
    """Its class as torch's users catch it: NotImplementedError and the like are RuntimeErrors too."""
    return "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__


CALLS: dict[str, Call] = {
    "forward": forward, "strided": forward, "backward": backward, "inplace": inplace, "out": out,
}  # fmt: skip
