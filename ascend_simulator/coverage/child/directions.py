"""The ways to call an entry. Each takes the arguments on one device and returns what is compared with the other's.

forward   the function as it stands
strided   with every tensor argument made non-contiguous
expanded  with every tensor argument's first row in the place of all its rows, without a copy (stride 0)
backward  the gradients of all inputs
inplace   the in-place variant; the changed input counts too
out       out= of the right size, of size zero, and of another data type
errors    torch's own list of wrong calls; what is compared is the kind of error
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

import torch
from torch.utils._pytree import tree_flatten, tree_map

from .placing import Given, tensors_in

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

Call = Callable[["OpInfo", "SampleInput", Given], object]


class NothingToCompare(Exception):
    """The sample does not go this way: no gradient, an input too small for its result, ..."""


def run_forward(op: OpInfo, sample: SampleInput, inputs: Given) -> object:
    return op(inputs[0], *inputs[1], **inputs[2])


def run_backward(op: OpInfo, sample: SampleInput, inputs: Given) -> object:
    leaves = [tensor for tensor in tensors_in(inputs) if tensor.requires_grad]
    result = op(inputs[0], *inputs[1], **inputs[2])
    outputs = [tensor for tensor in tensors_in(sample.output_process_fn_grad(result)) if tensor.requires_grad]
    if not leaves or not outputs:
        raise NothingToCompare("no gradient")
    return torch.autograd.grad(outputs, leaves, [_make_weights(output) for output in outputs], allow_unused=True)


def _make_weights(output: torch.Tensor) -> torch.Tensor:
    """Return another weight for each element of the result, in every data type the same: no mistake cancels out."""
    weights = torch.linspace(0.5, 1.5, max(output.numel(), 1))[: output.numel()].bfloat16().to(output.dtype)
    return weights.reshape(output.shape).to(output.device)


def run_inplace(op: OpInfo, sample: SampleInput, inputs: Given) -> object:
    variant = op.inplace_variant
    if variant is None or sample.broadcasts_input or not isinstance(inputs[0], torch.Tensor):
        raise NothingToCompare("no in-place variant")
    changed = inputs[0].detach().clone(memory_format=torch.preserve_format)
    address = changed.data_ptr()
    result = variant(changed, *inputs[1], **inputs[2])
    return result, changed, changed.data_ptr() == address, result is changed


def run_out(op: OpInfo, sample: SampleInput, inputs: Given) -> object:
    expected = op(inputs[0], *inputs[1], **inputs[2])
    if not tensors_in(expected) or not all(isinstance(leaf, torch.Tensor) for leaf in tree_flatten(expected)[0]):
        raise NothingToCompare("no out= for this result")
    right = _write_into(op, inputs, tree_map(lambda t: torch.full_like(t, 1), expected))
    empty = _write_into(op, inputs, tree_map(lambda t: t.new_empty(0), expected))
    wrong = tree_map(lambda t: torch.empty(t.shape, dtype=_narrower_dtype(t.dtype), device=t.device), expected)
    return right, empty, outcome_of(lambda: _write_into(op, inputs, wrong))


def _narrower_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return a type that a result of `dtype` may not be cast to."""
    return torch.int32 if dtype.is_floating_point or dtype.is_complex else torch.bool


def _write_into(op: OpInfo, inputs: Given, outs: object) -> object:
    addresses = [tensor.data_ptr() if tensor.numel() else 0 for tensor in tensors_in(outs)]
    op(inputs[0], *inputs[1], **inputs[2], out=outs)
    same_memory = [tensor.data_ptr() == address or not address for tensor, address in zip(tensors_in(outs), addresses)]
    return outs, same_memory


def outcome_of(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001  the kind of error is the result
        # as torch's users catch it: NotImplementedError and the like are RuntimeErrors too
        return "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__
    return "no error"


CALLS: dict[str, Call] = {
    "forward": run_forward,
    "strided": run_forward,
    "expanded": run_forward,
    "backward": run_backward,
    "inplace": run_inplace,
    "out": run_out,
}
